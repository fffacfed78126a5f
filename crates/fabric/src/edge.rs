//! Packets at the edge of the network, which are on no link and in no queue.
//! Dropped packets have not left the network yet. Early packets have not entered the network yet.

use crate::packet::PacketId;
use crate::queue::DropReason;
use alloc::collections::{BTreeMap, VecDeque};
use tailcut_units::{HostId, Time};

/// Dropped packet that has not left the network yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waste {
    pub id: PacketId,
    pub port: Option<u32>,
    pub ended_at: Option<u32>,
    pub reason: DropReason,
}

/// Packets at the edge of the network: dropped packets before they leave, and early packets before they enter.
#[derive(Debug, Default)]
pub(crate) struct Edge {
    /// Dropped packets, in the order of the drops.
    dropped: VecDeque<Waste>,
    /// Early packets and the hosts that sent them, by time of entry and then by order of injection.
    ahead: BTreeMap<(Time, u64), (PacketId, HostId)>,
    /// Number of early packets stored so far, including early packets that have already entered the network.
    held: u64,
}

impl Edge {
    pub fn drop(&mut self, waste: Waste) {
        self.dropped.push_back(waste);
    }

    /// Removes and returns the packet that was dropped first.
    pub fn next_dropped(&mut self) -> Option<Waste> {
        self.dropped.pop_front()
    }

    /// Returns the number of dropped packets that have not left yet.
    #[inline]
    pub fn dropped(&self) -> usize {
        self.dropped.len()
    }

    /// Returns the reason why a packet was dropped. The search skips the first `before` dropped packets.
    pub fn reason_after(&self, before: usize, id: PacketId) -> Option<DropReason> {
        let mut later = self.dropped.iter().skip(before);
        later.find(|waste| waste.id == id).map(|waste| waste.reason)
    }

    /// Stores an early packet of a host.
    pub fn hold(&mut self, at: Time, id: PacketId, from: HostId) {
        self.ahead.insert((at, self.held), (id, from));
        self.held += 1;
    }

    /// Returns all early packets.
    pub fn ahead(&self) -> impl Iterator<Item = PacketId> {
        self.ahead.values().map(|(id, _)| *id)
    }

    /// Removes the first early packet if its time of entry is not after `now`. Returns the packet and its host.
    pub fn release(&mut self, now: Time) -> Option<(PacketId, HostId)> {
        let first = self.ahead.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
