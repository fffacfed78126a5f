//! Strict priority: n classes, each FIFO, over one shared buffer, with an ECN threshold on the whole
//! port, as commodity switches offer it and PIAS (Bai et al., NSDI 2015, section 4.2) sets it up.
//!
//! Marking by the whole port and not by class is what PIAS asks for: with a threshold a class, low
//! classes would build queues unmarked.

use super::{DropReason, Fate, Limit, QueueDiscipline, Verdict};
use crate::packet::{Ecn, Packet, PacketId};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use tailcut_units::Time;

/// Parameters of a strict-priority queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Priority {
    /// Number of classes; a packet's `priority` beyond the last counts as the last.
    pub classes: u8,
    /// What may wait, all classes together.
    pub limit: Limit,
    /// An ECN-capable packet that finds more than this waiting, in all classes together, is marked.
    pub mark_above: Option<Limit>,
}

/// A strict-priority queue.
#[derive(Debug)]
pub struct PriorityQueue {
    config: Priority,
    classes: Box<[VecDeque<PacketId>]>,
    packets: u32,
    bytes: u64,
}

impl PriorityQueue {
    /// An empty queue.
    pub fn new(config: Priority) -> Self {
        let classes = usize::from(config.classes.max(1));
        Self {
            config,
            classes: alloc::vec![VecDeque::new(); classes].into_boxed_slice(),
            packets: 0,
            bytes: 0,
        }
    }
}

impl QueueDiscipline for PriorityQueue {
    fn enqueue(&mut self, _now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        let packet = &mut packets[id.0 as usize];
        if self
            .config
            .limit
            .is_exceeded(self.packets + 1, self.bytes + u64::from(packet.size))
        {
            return Fate::Dropped(DropReason::QueueFull).into();
        }
        let over = self.config.mark_above;
        let over = over.is_some_and(|k| k.is_exceeded(self.packets, self.bytes));
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        let class = usize::from(packet.priority).min(self.classes.len() - 1);
        self.classes[class].push_back(id);
        if over && packet.ecn == Ecn::Capable {
            packet.ecn = Ecn::Marked;
            return Fate::Marked.into();
        }
        Fate::Queued.into()
    }

    fn dequeue(&mut self, _now: Time, packets: &mut [Packet]) -> Option<PacketId> {
        let id = self.classes.iter_mut().find_map(VecDeque::pop_front)?;
        self.packets -= 1;
        self.bytes -= u64::from(packets[id.0 as usize].size);
        Some(id)
    }

    fn backlog_packets(&self) -> u32 {
        self.packets
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }
}
