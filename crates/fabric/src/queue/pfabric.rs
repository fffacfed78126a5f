//! pFabric's queue (Alizadeh et al., SIGCOMM 2013, section 4.1): a small buffer; on overflow the
//! packet with the most remaining bytes is dropped; the flow of the packet with the fewest is served,
//! and of that flow the packet that came first, so that a flow's packets are not reordered.
//!
//! Deviations: ties in remaining bytes are broken by age (drop the latest, serve the earliest), which
//! the paper leaves open. A flow is known by its addresses and the hash of its five-tuple.

use super::{DropReason, Fate, Limit, QueueDiscipline, Verdict};
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
}

impl QueueDiscipline for PFabricQueue {
    fn enqueue(&mut self, _now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        let arrival = packets[id.0 as usize];
        let would_be = self.bytes + u64::from(arrival.size);
        let mut displaced = None;
        if self
            .config
            .limit
            .is_exceeded(self.waiting.len() as u32 + 1, would_be)
        {
            let rank = |id: &PacketId| packets[id.0 as usize].rank;
            // The latest of the largest: `max_by_key` gives the last of equal ones.
            let worst = (0..self.waiting.len()).max_by_key(|&at| rank(&self.waiting[at]));
            let Some(worst) = worst.filter(|&at| rank(&self.waiting[at]) > arrival.rank) else {
                return Fate::Dropped(DropReason::QueueFull).into();
            };
            let victim = self.take(worst, packets);
            displaced = Some((victim, Fate::Dropped(DropReason::QueueFull)));
            let fits = self.bytes + u64::from(arrival.size);
            if self
                .config
                .limit
                .is_exceeded(self.waiting.len() as u32 + 1, fits)
            {
                // A small victim made too little room: the arrival goes too.
                return Verdict {
                    arrival: Fate::Dropped(DropReason::QueueFull),
                    displaced,
                };
            }
        }
        self.waiting.push(id);
        self.bytes += u64::from(arrival.size);
        Verdict {
            arrival: Fate::Queued,
            displaced,
        }
    }

    fn dequeue(&mut self, _now: Time, packets: &mut [Packet]) -> Option<PacketId> {
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

    fn backlog_packets(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }
}
