//! Receiving half of one flow.

use super::header::{PFabricHeader, PFabricKind};
use crate::ndp::Window as Packets;
use crate::receiver_driven::Receiving;
use crate::{Condition, Ecn, Header, PathPin, Segment};
use tailcut_units::{FiveTuple, FlowId, Time};

#[derive(Debug)]
pub(crate) struct Receiver {
    /// Addresses of the ACKs that this receiver sends. This host is the source.
    tuple: FiveTuple,
    flow: FlowId,
    /// Number of the session at the sender.
    session: FlowId,
    path: PathPin,
    packets: u64,
    arrived: Packets,
    /// Arrival time of the latest packet.
    pub(crate) heard_at: Time,
}

impl Receiver {
    /// Returns the session that `segment` opens.
    pub(crate) fn new(now: Time, flow: FlowId, segment: &Segment, header: &PFabricHeader) -> Self {
        Self {
            tuple: segment.tuple.reversed(),
            flow,
            session: segment.flow,
            path: segment.path,
            packets: header.packets,
            arrived: Packets::default(),
            heard_at: now,
        }
    }

    pub(crate) fn session(&self) -> FlowId {
        self.session
    }

    /// Processes a data packet or a probe. Returns the answer, or `None` if the packet is invalid.
    pub(crate) fn on_packet(&mut self, now: Time, header: &PFabricHeader) -> Option<Segment> {
        let index = header.index;
        if index >= self.packets || header.packets != self.packets || !self.arrived.in_reach(index)
        {
            return None;
        }
        self.heard_at = now;
        // A complete flow still answers, because the ACK of its last packet may be lost.
        let kind = match header.kind {
            PFabricKind::Probe => PFabricKind::ProbeAck,
            _ => {
                self.arrived.set_done(index);
                PFabricKind::Ack
            }
        };
        Some(Segment {
            tuple: self.tuple,
            flow: self.session,
            payload: 0,
            ecn: Ecn::NotCapable,
            priority: 0,
            path: self.path,
            rank: 0,
            trimmable: false,
            condition: Condition::Whole,
            header: Header::PFabric(PFabricHeader {
                kind,
                index,
                packets: self.packets,
                cumulative: self.arrived.base(),
            }),
        })
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
        self.arrived.base() >= self.packets
    }

    fn heard_at(&self) -> Time {
        self.heard_at
    }
}
