//! pFabric's queue (Alizadeh et al., SIGCOMM 2013, section 4.1): a small buffer; on overflow the
//! packet with the most remaining bytes is dropped; the flow of the packet with the fewest is served,
//! and of that flow the packet that came first, so that a flow's packets are not reordered.
//!
//! Deviations: ties in remaining bytes are broken by age (drop the latest, serve the earliest), which
//! the paper leaves open. A limit in bytes drops the worst of those packets that make room enough on
//! their own: a worse one that is too small, such as a probe, would go for nothing. A flow is known by
//! its addresses and the hash of its five-tuple.

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict};
use crate::packet::{Packet, PacketId};
use alloc::vec::Vec;
use tailcut_units::Time;

/// Parameters of a pFabric queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PFabric {
    /// What may wait (36 KB in the paper).
    pub limit: Limit,
}

/// A pFabric queue. Holds a few dozen packets, so it searches them in order of arrival.
#[derive(Debug)]
pub struct PFabricQueue {
    config: PFabric,
    waiting: Vec<PacketId>,
    bytes: u64,
}

impl PFabricQueue {
    /// An empty queue.
    pub const fn new(config: PFabric) -> Self {
        Self {
            config,
            waiting: Vec::new(),
            bytes: 0,
        }
    }

    fn take(&mut self, at: usize, packets: &[Packet]) -> PacketId {
        let id = self.waiting.remove(at);
        self.bytes -= u64::from(packets[id.0 as usize].size);
        id
    }

    /// The packet that leaves next.
    fn next(&mut self, packets: &[Packet]) -> Option<PacketId> {
        let header = |id: &PacketId| &packets[id.0 as usize];
        // The earliest of the smallest: `min_by_key` gives the first of equal ones.
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
        let (count, bytes) = (
            self.waiting.len() as u32,
            self.bytes + u64::from(arrival.size),
        );
        let limit = self.config.limit;
        let mut displaced = None;
        if limit.is_exceeded(count + 1, bytes) {
            let header = |at: usize| &packets[self.waiting[at].0 as usize];
            let makes_room = |at: &usize| {
                let other = header(*at);
                other.rank > arrival.rank
                    && !limit.is_exceeded(count, bytes - u64::from(other.size))
            };
            // The latest of the largest: `max_by_key` gives the last of equal ones.
            let candidates = (0..self.waiting.len()).filter(makes_room);
            let Some(worst) = candidates.max_by_key(|&at| header(at).rank) else {
                return Fate::Dropped(DropReason::QueueFull).into();
            };
            let victim = self.take(worst, packets);
            displaced = Some((victim, Fate::Dropped(DropReason::QueueFull)));
        }
        self.waiting.push(id);
        self.bytes += u64::from(arrival.size);
        Verdict {
            arrival: Fate::Queued,
            displaced,
        }
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
