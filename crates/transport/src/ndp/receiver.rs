//! Receiving half of one flow.

use super::header::{NdpHeader, NdpKind};
use super::window::Window;
use crate::receiver_driven::Receiving;
use crate::{Condition, Ecn, Header, PathPin, Segment};
use tailcut_units::{FiveTuple, FlowId, Time};

#[derive(Debug)]
pub(crate) struct Receiver {
    /// Addresses of the answers that this receiver sends. This host is the source.
    tuple: FiveTuple,
    flow: FlowId,
    /// Number of the session at the sender.
    session: FlowId,
    /// Path that the flow must use, if any.
    pin: PathPin,
    window: Window,
    /// Number of packets of the flow, after a packet or header with the flag `last` has arrived.
    packets: Option<u64>,
    pulls: u64,
    /// Number of data packets that have arrived, whole or trimmed.
    arrivals: u64,
    /// Number of pulls that wait in the pull queue.
    pub(crate) pending: u64,
    /// Whether the session is in the pull queue.
    pub(crate) in_pull_queue: bool,
    /// Whether the arriving packets have the class below all other classes.
    pub(crate) below: bool,
    /// Number of packets in order that were reported to the application.
    told: u64,
    pub(crate) complete: bool,
    /// Arrival time of the latest packet.
    pub(crate) heard_at: Time,
}

impl Receiver {
    /// Returns the session that the data packet or trimmed header `segment` opens.
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

    pub(crate) fn session(&self) -> FlowId {
        self.session
    }

    pub(crate) fn pin(&self) -> PathPin {
        self.pin
    }

    /// Processes a data packet, or only its header if `trimmed`. Adds a pull if packets are missing.
    /// Returns the kind of the answer, or `None` if the packet is invalid.
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
        // The sender resends its packet if the last ACK was lost, so a complete flow still answers.
        if self.complete {
            return Some(NdpKind::Ack);
        }
        if header.last && self.packets.is_none() {
            self.packets = Some(index + 1);
        }
        // A trimmed header may belong to a packet that has already arrived.
        // No further copy is needed, so the answer is an ACK.
        let arrived = if trimmed {
            self.window.is_done(index)
        } else {
            self.window.set_done(index);
            true
        };
        self.arrivals += 1;
        self.pending += 1;
        if let Some(packets) = self.packets {
            // With more pulls than missing packets, the receiver would request packets that do not exist.
            self.pending = self.pending.min(packets.saturating_sub(self.window.done()));
            if self.window.base() >= packets {
                self.complete = true;
                self.pending = 0;
                self.window.release();
            }
        }
        Some(if arrived { NdpKind::Ack } else { NdpKind::Nack })
    }

    /// Returns the number of packets that have arrived in order, if this number has grown since the last call.
    /// Returns `None` for a complete flow, because its last packet may be short.
    pub(crate) fn news(&mut self) -> Option<u64> {
        let arrived = self.window.base();
        let before = core::mem::replace(&mut self.told, arrived);
        (arrived > before && !self.complete).then_some(arrived)
    }

    /// Ends the session. Later packets are acknowledged, but no more packets are requested.
    pub(crate) fn refuse(&mut self) {
        self.complete = true;
        self.pending = 0;
        self.window.release();
    }

    /// Returns whether the latest packet was pulled: more than `most` packets (the first window) have arrived.
    pub(crate) fn last_was_pulled(&self, most: u32) -> bool {
        let pushed = self.packets.unwrap_or(u64::MAX).min(u64::from(most));
        self.arrivals > pushed
    }

    /// Adds one waiting pull to the count in the next answer.
    pub(crate) fn count_pull(&mut self) {
        self.pending -= 1;
        self.pulls += 1;
    }

    /// Returns an ACK or NACK for the packet with the header and path `to`. Without `to`, returns a pull.
    /// The answer is sent over `own_path`.
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
            // Answers have the highest class, so that data in the queues does not delay them.
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

impl Receiving for Receiver {
    fn flow(&self) -> FlowId {
        self.flow
    }

    fn tuples(&self) -> impl Iterator<Item = FiveTuple> {
        core::iter::once(self.tuple)
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    fn heard_at(&self) -> Time {
        self.heard_at
    }
}
