//! Queue of pFabric (Alizadeh et al., SIGCOMM 2013, section 4.1): a small buffer. On overflow it drops the
//! packet with the most remaining bytes. It serves the flow of the packet with the fewest remaining bytes,
//! and of this flow the packet that arrived first, so that packets of a flow keep their order.
//!
//! Deviations: ties in remaining bytes are resolved by age (the latest is dropped, the earliest is served),
//! which the paper leaves open. With a limit in bytes, an arrival may be larger than the worst packet. Then as
//! many of the worst packets are dropped as the arrival needs. If all worse packets together do not make
//! enough room, only the arrival is dropped. Addresses and the hash of the five-tuple identify a flow.

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict};
use crate::packet::{Packet, PacketId};
use alloc::vec::Vec;
use tailcut_units::Time;

/// Parameters of a pFabric queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PFabric {
    /// Limit of the waiting packets (36 KB in the paper).
    pub limit: Limit,
}

/// pFabric queue. It holds a few dozen packets, so it searches them in order of arrival.
#[derive(Debug)]
pub struct PFabricQueue {
    config: PFabric,
    waiting: Vec<PacketId>,
    bytes: u64,
    /// Packets that the last arrival displaced and that the port has not fetched.
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

    /// Removes and returns the next packet.
    fn next(&mut self, packets: &[Packet]) -> Option<PacketId> {
        let header = |id: &PacketId| &packets[id.0 as usize];
        // The earliest of the smallest: `min_by_key` returns the first of equal elements.
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
            // A drop that does not save the arrival would be wasted.
            if limit.is_exceeded(count - worse, bytes - size) {
                return Fate::Dropped(DropReason::QueueFull).into();
            }
        }
        while limit.is_exceeded(count, bytes) {
            let rank = |at: &usize| packets[self.waiting[*at].0 as usize].rank;
            // The latest of the largest: `max_by_key` returns the last of equal elements.
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
