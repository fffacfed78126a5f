//! One flow at its receiver.

use super::header::{NdpHeader, NdpKind};
use super::window::Window;
use crate::{Condition, Ecn, Header, PathPin, Segment};
use tailcut_units::{FiveTuple, FlowId, Time};

#[derive(Debug)]
pub(crate) struct Receiver {
    /// Addresses as this host sends.
    tuple: FiveTuple,
    flow: FlowId,
    /// The sender's name of the session.
    session: FlowId,
    /// The path that the flow is pinned to.
    pin: PathPin,
    window: Window,
    /// Packets of the flow, once a packet or header with the flag of the last one has arrived.
    packets: Option<u64>,
    pulls: u64,
    /// Packets that have arrived in any form.
    arrivals: u64,
    /// Pulls that wait for their turn.
    pub(crate) pending: u64,
    /// Whether the session is in the pull queue.
    pub(crate) in_pull_queue: bool,
    /// Whether what arrives is below all classes.
    pub(crate) below: bool,
    /// Packets in order that the application has been told of.
    told: u64,
    pub(crate) complete: bool,
    /// When a packet last arrived.
    pub(crate) heard_at: Time,
}

impl Receiver {
    /// The session that the data packet or header `segment` opens.
    pub(crate) fn new(now: Time, flow: FlowId, segment: &Segment, header: &NdpHeader) -> Self {
        Self {
            tuple: segment.tuple.reversed(),
            flow,
            session: segment.flow,
            pin: if header.pinned {
                segment.path
            } else {
                PathPin::NONE
            },
            window: Window::default(),
            packets: None,
            pulls: 0,
            arrivals: 0,
            pending: 0,
            in_pull_queue: false,
            below: false,
            told: 0,
            complete: false,
            heard_at: now,
        }
    }

    pub(crate) fn tuple(&self) -> &FiveTuple {
        &self.tuple
    }

    pub(crate) fn flow(&self) -> FlowId {
        self.flow
    }

    pub(crate) fn session(&self) -> FlowId {
        self.session
    }

    pub(crate) fn pin(&self) -> PathPin {
        self.pin
    }

    /// A data packet, or its header if `trimmed`, arrives and adds a pull while packets are missing.
    /// Gives the kind of the answer; `None` for what cannot be.
    pub(crate) fn on_data(
        &mut self,
        now: Time,
        header: &NdpHeader,
        trimmed: bool,
    ) -> Option<NdpKind> {
        let index = header.index;
        let beyond = self.packets.is_some_and(|packets| index >= packets);
        if beyond || !self.window.in_reach(index) {
            return None;
        }
        self.heard_at = now;
        if self.complete {
            return Some(NdpKind::Ack);
        }
        if header.last && self.packets.is_none() {
            self.packets = Some(index + 1);
        }
        let arrived = if trimmed {
            self.window.is_done(index)
        } else {
            self.window.set_done(index);
            true
        };
        self.arrivals += 1;
        self.pending += 1;
        if let Some(packets) = self.packets {
            self.pending = self.pending.min(packets.saturating_sub(self.window.done()));
            if self.window.base() >= packets {
                self.complete = true;
                self.pending = 0;
                self.window.release();
            }
        }
        Some(if arrived { NdpKind::Ack } else { NdpKind::Nack })
    }

    /// Packets that have arrived in order, if they are more than at the last call, and not all: the last one
    /// may be short.
    pub(crate) fn news(&mut self) -> Option<u64> {
        let arrived = self.window.base();
        let before = core::mem::replace(&mut self.told, arrived);
        (arrived > before && !self.complete).then_some(arrived)
    }

    /// The application wants no more: what still comes is acknowledged, and nothing is asked for.
    pub(crate) fn refuse(&mut self) {
        self.complete = true;
        self.pending = 0;
        self.window.release();
    }

    /// Whether more packets have arrived than a first window of `most` has, so that the last one was pulled.
    pub(crate) fn last_was_pulled(&self, most: u32) -> bool {
        let pushed = self.packets.unwrap_or(u64::MAX).min(u64::from(most));
        self.arrivals > pushed
    }

    /// One of the pulls that wait is sent with the next answer.
    pub(crate) fn count_pull(&mut self) {
        self.pending -= 1;
        self.pulls += 1;
    }

    /// An ACK or NACK of `header`, which came over `path`, or without them a mere pull; it leaves over
    /// `own_path`.
    #[inline]
    pub(crate) fn answer(
        &self,
        kind: NdpKind,
        to: Option<(&NdpHeader, PathPin)>,
        own_path: PathPin,
    ) -> Segment {
        let (index, path, sent) = to.map_or((0, PathPin::NONE, Time::ZERO), |(header, path)| {
            (header.index, path, header.sent)
        });
        Segment {
            tuple: self.tuple,
            flow: self.session,
            payload: 0,
            ecn: Ecn::NotCapable,
            priority: 0,
            path: own_path,
            rank: 0,
            trimmable: false,
            condition: Condition::Whole,
            header: Header::Ndp(NdpHeader {
                kind,
                path,
                index,
                cumulative: self.window.base(),
                pull: self.pulls,
                sent,
                ..NdpHeader::default()
            }),
        }
    }
}
