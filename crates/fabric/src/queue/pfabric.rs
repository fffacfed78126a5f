//! Queue of pFabric (Alizadeh et al., SIGCOMM 2013, section 4.1): a small buffer.
//! If the buffer is full, the packet with the most remaining bytes is dropped.
//! The next flow to send is the flow of the packet with the fewest remaining bytes.
//! The earliest packet of this flow is sent, so that packets of a flow stay in order.
//!
//! Deviations:
//!
//! - Several packets may have the same number of remaining bytes.
//!   Of packets with equal remaining bytes, the latest is dropped first and the earliest is sent first.
//!   The paper defines no order of packets with equal remaining bytes.
//! - With a limit in bytes, one arrival may need the space of several packets.
//!   The worst packets are then dropped until the arrival fits.
//!   If all worse packets together are too small, only the arrival is dropped.
//! - Addresses and the hash of the five-tuple identify a flow.

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict};
use crate::packet::{Packet, PacketId};
use alloc::vec::Vec;
use tailcut_units::Time;

/// Parameters of a pFabric queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PFabric {
    /// Limit of the waiting packets. The paper has 36 KB.
    pub limit: Limit,
}

/// Queue of pFabric. It has only a few dozen packets, so it stores them in order of arrival and searches them.
#[derive(Debug)]
pub struct PFabricQueue {
    config: PFabric,
    waiting: Vec<PacketId>,
    bytes: u64,
    /// Packets that the last arrival displaced. The port has not taken them yet.
    displaced: Vec<PacketId>,
}

impl PFabricQueue {
    /// Creates an empty queue.
    pub const fn new(config: PFabric) -> Self {
        Self {
            config,
            waiting: Vec::new(),
            bytes: 0,
            displaced: Vec::new(),
        }
    }

    fn take(&mut self, at: usize, packets: &[Packet]) -> PacketId {
        let id = self.waiting.remove(at);
        self.bytes -= u64::from(packets[id.0 as usize].size);
        id
    }

    /// Removes and returns the next packet to send.
    fn next(&mut self, packets: &[Packet]) -> Option<PacketId> {
        let header = |id: &PacketId| &packets[id.0 as usize];
        // If several packets have the lowest rank, `min_by_key` returns the earliest of them.
        let best = self.waiting.iter().min_by_key(|id| header(id).rank)?;
        let best = *header(best);
        let earliest = self
            .waiting
            .iter()
            .position(|id| header(id).same_flow(&best))?;
        Some(self.take(earliest, packets))
    }
}

impl QueueDiscipline for PFabricQueue {
    fn enqueue(&mut self, _now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        let arrival = packets[id.0 as usize];
        let limit = self.config.limit;
        let mut count = self.waiting.len() as u32 + 1;
        let mut bytes = self.bytes + u64::from(arrival.size);
        if limit.is_exceeded(count, bytes) {
            let waiting = self.waiting.iter().map(|id| &packets[id.0 as usize]);
            let worse = waiting.filter(|other| other.rank > arrival.rank);
            let (worse, size) = worse.fold((0, 0), |(worse, size), other| {
                (worse + 1, size + u64::from(other.size))
            });
            // If the arrival does not fit even after all possible drops, these drops would be useless.
            if limit.is_exceeded(count - worse, bytes - size) {
                return Fate::Dropped(DropReason::QueueFull).into();
            }
        }
        while limit.is_exceeded(count, bytes) {
            let rank = |at: &usize| packets[self.waiting[*at].0 as usize].rank;
            // If several packets have the highest rank, `max_by_key` returns the latest of them.
            let Some(worst) = (0..self.waiting.len()).max_by_key(rank) else {
                break;
            };
            let victim = self.take(worst, packets);
            count -= 1;
            bytes -= u64::from(packets[victim.0 as usize].size);
            self.displaced.push(victim);
        }
        self.waiting.push(id);
        self.bytes += u64::from(arrival.size);
        Verdict {
            arrival: Fate::Queued,
            displaced: self.also_displaced(),
        }
    }

    fn also_displaced(&mut self) -> Option<(PacketId, Fate)> {
        let victim = self.displaced.pop()?;
        Some((victim, Fate::Dropped(DropReason::QueueFull)))
    }

    fn dequeue(&mut self, _now: Time, packets: &mut [Packet]) -> Dequeued {
        self.next(packets).into()
    }

    fn backlog_packets(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }
}
