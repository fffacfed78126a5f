//! One flow at its receiver.

use super::header::{PFabricHeader, PFabricKind};
use crate::ndp::Window as Packets;
use crate::{Condition, Ecn, Header, PathPin, Segment};
use tailcut_units::{FiveTuple, FlowId, Time};

#[derive(Debug)]
pub(crate) struct Receiver {
    /// Addresses as this host sends.
    tuple: FiveTuple,
    flow: FlowId,
    /// The sender's name of the session.
    session: FlowId,
    path: PathPin,
    packets: u64,
    arrived: Packets,
    /// When a packet last arrived.
    pub(crate) heard_at: Time,
}

impl Receiver {
    /// The session that `segment` opens.
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

    pub(crate) fn tuple(&self) -> &FiveTuple {
        &self.tuple
    }

    pub(crate) fn flow(&self) -> FlowId {
        self.flow
    }

    pub(crate) fn session(&self) -> FlowId {
        self.session
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.arrived.base() >= self.packets
    }

    /// Data or a probe arrives. Gives the answer; `None` for what cannot be.
    pub(crate) fn on_packet(&mut self, now: Time, header: &PFabricHeader) -> Option<Segment> {
        let index = header.index;
        if index >= self.packets || header.packets != self.packets || !self.arrived.in_reach(index)
        {
            return None;
        }
        self.heard_at = now;
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
