//! Packets at the edge of the network, on no link and in no queue: those that were dropped and have not come
//! out, and those that were injected ahead of time and have not come in.

use crate::packet::PacketId;
use crate::queue::DropReason;
use alloc::collections::{BTreeMap, VecDeque};
use tailcut_units::HostId;

/// A packet that was dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waste {
    pub id: PacketId,
    pub port: Option<u32>,
    pub ended_at: Option<u32>,
    pub reason: DropReason,
}

/// The packets at the edge.
#[derive(Debug, Default)]
pub(crate) struct Edge {
    /// In the order in which they were dropped.
    dropped: VecDeque<Waste>,
    /// The host of each packet that comes in later.
    ahead: BTreeMap<PacketId, HostId>,
}

impl Edge {
    pub fn drop(&mut self, waste: Waste) {
        self.dropped.push_back(waste);
    }

    /// The packet that was dropped first.
    pub fn next_dropped(&mut self) -> Option<Waste> {
        self.dropped.pop_front()
    }

    /// How many were dropped and have not come out.
    #[inline]
    pub fn dropped(&self) -> usize {
        self.dropped.len()
    }

    /// Why a packet was dropped, if it was among those after the first `before`.
    pub fn reason_after(&self, before: usize, id: PacketId) -> Option<DropReason> {
        let mut later = self.dropped.iter().skip(before);
        later.find(|waste| waste.id == id).map(|waste| waste.reason)
    }

    /// A packet of a host comes in later.
    pub fn hold(&mut self, id: PacketId, from: HostId) {
        self.ahead.insert(id, from);
    }

    /// Its time has come.
    pub fn release(&mut self, id: PacketId) -> Option<HostId> {
        self.ahead.remove(&id)
    }
}
