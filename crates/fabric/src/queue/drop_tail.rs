//! FIFO queue that drops arriving packets when it is full (drop-tail).
//! The queue can have an ECN threshold K (RFC 8257, section 3.1).
//! A packet is marked if the current queue length exceeds K when the packet arrives.

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict, remove_from};
use crate::packet::{Ecn, Packet, PacketId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::Time;

/// Parameters of a drop-tail queue. The packet in service is not counted for the limit and for the threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DropTail {
    /// Limit of the waiting packets, in packets or bytes.
    pub limit: Limit,
    /// ECN threshold. An ECN-capable packet is marked if the queue exceeds the threshold when the packet arrives.
    /// With `None`, no packet is marked.
    pub mark_above: Option<Limit>,
}

impl DropTail {
    /// Returns whether a packet of `size` bytes would exceed the limit of a queue.
    /// `packets` packets and `bytes` bytes already wait in the queue.
    #[inline]
    pub(crate) const fn is_full(&self, packets: u32, bytes: u64, size: u32) -> bool {
        // A limit of `u32::MAX` means no limit, so the sum must not overflow.
        self.limit
            .is_exceeded(packets.saturating_add(1), bytes + size as u64)
    }

    /// Returns whether an ECN-capable packet is marked if `packets` packets and `bytes` bytes wait when it arrives.
    #[inline]
    pub(crate) const fn marks(&self, packets: u32, bytes: u64) -> bool {
        match self.mark_above {
            None => false,
            Some(k) => k.is_exceeded(packets, bytes),
        }
    }
}

/// FIFO queue that drops arriving packets when it is full.
#[derive(Debug)]
pub struct DropTailQueue {
    config: DropTail,
    waiting: VecDeque<PacketId>,
    bytes: u64,
}

impl DropTailQueue {
    /// Creates an empty queue.
    pub const fn new(config: DropTail) -> Self {
        Self {
            config,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Returns the waiting packets in the order in which they will leave.
    pub(super) fn waiting(&self) -> impl Iterator<Item = PacketId> {
        self.waiting.iter().copied()
    }

    /// Removes and returns the next packet to send.
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
        // The packet itself must not be counted (RFC 8257, section 3.1), so the length is read before it is added.
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
