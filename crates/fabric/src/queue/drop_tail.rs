//! FIFO, drop-tail, with an optional ECN threshold on the instantaneous queue (RFC 8257, section
//! 3.1: a packet is marked when the queue that it finds on arrival is above K).

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict, remove_from};
use crate::packet::{Ecn, Packet, PacketId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::Time;

/// Parameters of a drop-tail queue. The packet in service counts neither against the limit nor
/// towards the threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DropTail {
    /// What may wait.
    pub limit: Limit,
    /// An ECN-capable packet that finds more than this waiting is marked. `None`: no marking.
    pub mark_above: Option<Limit>,
}

impl DropTail {
    /// Whether `size` more bytes do not fit behind what waits.
    #[inline]
    pub(crate) const fn is_full(&self, packets: u32, bytes: u64, size: u32) -> bool {
        self.limit
            .is_exceeded(packets.saturating_add(1), bytes + size as u64)
    }

    /// Whether an ECN-capable packet that finds so much waiting is marked.
    #[inline]
    pub(crate) const fn marks(&self, packets: u32, bytes: u64) -> bool {
        match self.mark_above {
            None => false,
            Some(k) => k.is_exceeded(packets, bytes),
        }
    }
}

/// A drop-tail queue.
#[derive(Debug)]
pub struct DropTailQueue {
    config: DropTail,
    waiting: VecDeque<PacketId>,
    bytes: u64,
}

impl DropTailQueue {
    /// An empty queue.
    pub const fn new(config: DropTail) -> Self {
        Self {
            config,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    /// The packet that leaves next.
    fn next(&mut self, packets: &[Packet]) -> Option<PacketId> {
        let id = self.waiting.pop_front()?;
        self.bytes -= u64::from(packets[id.0 as usize].size);
        Some(id)
    }
}

impl QueueDiscipline for DropTailQueue {
    fn enqueue(&mut self, _now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        let packet = &mut packets[id.0 as usize];
        let waiting = self.waiting.len() as u32;
        if self.config.is_full(waiting, self.bytes, packet.size) {
            return Fate::Dropped(DropReason::QueueFull).into();
        }
        let over = self.config.marks(waiting, self.bytes);
        self.bytes += u64::from(packet.size);
        self.waiting.push_back(id);
        if over && packet.ecn.is_markable() {
            packet.ecn = Ecn::Marked;
            return Fate::Marked.into();
        }
        Fate::Queued.into()
    }

    fn dequeue(&mut self, _now: Time, packets: &mut [Packet]) -> Dequeued {
        self.next(packets).into()
    }

    fn remove(
        &mut self,
        packets: &[Packet],
        matches: &mut dyn FnMut(PacketId) -> bool,
        removed: &mut Vec<PacketId>,
    ) {
        self.bytes -= remove_from(&mut self.waiting, |id| *id, packets, matches, removed);
    }

    fn backlog_packets(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }
}
