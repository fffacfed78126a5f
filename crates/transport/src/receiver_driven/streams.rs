//! Messages that contain requests or answers. A message can leave while the application still produces it.
//! The transport reports the arrival of a message's bytes, and either end may cancel the message.

use super::SessionKey;
use crate::{FlowStats, Message, Transport};
use alloc::collections::BTreeMap;
use tailcut_units::{FlowId, Time};

/// [`Transport`] that transfers requests and their answers as messages.
pub trait Streams: Transport {
    /// Turns on [`Event::Arrived`](crate::Event::Arrived) for every message.
    /// After the event `Arrived`, the application can cancel a message by the number of its flow.
    fn report_arrivals(&mut self);

    /// Sends `message`. So far, the application has the first `ready` bytes of the message.
    /// With `below`, the message has a class below all other classes.
    /// The class applies at this host, in switches, and in the pulls of its receiver.
    fn open(&mut self, now: Time, message: Message, ready: u64, below: bool);

    /// Extends a message that this host sends. The application now has the first `bytes` bytes of the message.
    fn extend(&mut self, now: Time, flow: FlowId, bytes: u64);

    /// Sets whether this host sends later segments of a message in the class below all other classes.
    fn set_below(&mut self, now: Time, flow: FlowId, below: bool);

    /// Stops sending a message. Returns its cost, and no event follows.
    fn give_up(&mut self, now: Time, flow: FlowId) -> Option<FlowStats>;

    /// Stops receiving a message. No more pulls are sent for it, and no event follows.
    fn refuse(&mut self, now: Time, flow: FlowId);

    /// Returns the cost so far of a message that this host sends.
    fn cost(&self, flow: FlowId) -> Option<FlowStats>;
}

/// Sessions of messages that can be extended or cancelled, by flow.
#[derive(Debug, Default)]
pub(crate) struct Register {
    /// Whether arrivals are reported.
    pub(crate) reports: bool,
    pub(crate) outgoing: BTreeMap<FlowId, SessionKey>,
    pub(crate) incoming: BTreeMap<FlowId, SessionKey>,
}
