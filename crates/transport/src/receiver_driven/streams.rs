//! Messages that are sent while they become ready, that tell how much of them has arrived, and that either
//! end may give up: what requests ask of a transport.

use super::SessionKey;
use crate::{FlowStats, Message, Transport};
use alloc::collections::BTreeMap;
use tailcut_units::{FlowId, Time};

/// A [`Transport`] that carries requests and their answers as messages.
pub trait Streams: Transport {
    /// From now on [`Event::Arrived`](crate::Event::Arrived) tells what arrives of every message, and
    /// messages can be given up by their flow.
    fn report_arrivals(&mut self);

    /// The application sends `message`, of which it has the first `ready` bytes so far. One that is `below`
    /// goes in a class below all others, at this host, in switches, and in its receiver's pulls.
    fn open(&mut self, now: Time, message: Message, ready: u64, below: bool);

    /// The application has the first `bytes` bytes of a message that this host sends.
    fn extend(&mut self, now: Time, flow: FlowId, bytes: u64);

    /// What this host sends of a message from now on goes below all other classes, or not.
    fn set_below(&mut self, now: Time, flow: FlowId, below: bool);

    /// This host sends no more of a message. Gives what it has cost; no event follows.
    fn give_up(&mut self, now: Time, flow: FlowId) -> Option<FlowStats>;

    /// This host wants no more of a message and asks for none; no event follows.
    fn refuse(&mut self, now: Time, flow: FlowId);

    /// What a message that this host sends has cost so far.
    fn cost(&self, flow: FlowId) -> Option<FlowStats>;
}

/// The sessions of messages that may be extended or given up, by flow.
#[derive(Debug, Default)]
pub(crate) struct Register {
    /// Whether arrivals are reported.
    pub(crate) reports: bool,
    pub(crate) outgoing: BTreeMap<FlowId, SessionKey>,
    pub(crate) incoming: BTreeMap<FlowId, SessionKey>,
}
