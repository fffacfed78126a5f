//! Strict priority: n classes, each FIFO, over one buffer that they share or one each, with an ECN
//! threshold on the whole port, as commodity switches offer it and PIAS (Bai et al., NSDI 2015, section
//! 4.2) sets it up.
//!
//! Marking by the whole port and not by class is what PIAS asks for: with a threshold a class, low
//! classes would build queues unmarked.

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict};
use super::trimming::Sharing;
use crate::packet::{Ecn, Packet, PacketId};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use tailcut_units::Time;

/// Parameters of a strict-priority queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Priority {
    /// Number of classes; a packet's `priority` beyond the last counts as the last.
    pub classes: u8,
    /// What may wait.
    pub limit: Limit,
    /// Whether that is for all classes together or for each.
    pub sharing: Sharing,
    /// An ECN-capable packet that finds more than this waiting, in all classes together, is marked.
    pub mark_above: Option<Limit>,
}

/// What waits of one class.
#[derive(Clone, Default, Debug)]
struct Class {
    ids: VecDeque<PacketId>,
    bytes: u64,
}

/// A strict-priority queue.
#[derive(Debug)]
pub struct PriorityQueue {
    config: Priority,
    classes: Box<[Class]>,
    packets: u32,
    bytes: u64,
}

impl PriorityQueue {
    /// An empty queue.
    pub fn new(config: Priority) -> Self {
        let classes = usize::from(config.classes.max(1));
        Self {
            config,
            classes: alloc::vec![Class::default(); classes].into_boxed_slice(),
            packets: 0,
            bytes: 0,
        }
    }

    /// The packet that leaves next.
    fn next(&mut self, packets: &[Packet]) -> Option<PacketId> {
        let mut classes = self.classes.iter_mut();
        let class = classes.find(|class| !class.ids.is_empty())?;
        let id = class.ids.pop_front()?;
        let size = u64::from(packets[id.0 as usize].size);
        class.bytes -= size;
        self.packets -= 1;
        self.bytes -= size;
        Some(id)
    }
}

impl QueueDiscipline for PriorityQueue {
    fn enqueue(&mut self, _now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        let packet = &mut packets[id.0 as usize];
        let class = usize::from(packet.priority).min(self.classes.len() - 1);
        let class = &mut self.classes[class];
        let size = u64::from(packet.size);
        let (waiting, bytes) = match self.config.sharing {
            Sharing::Shared => (self.packets, self.bytes),
            // No design asks for a strict-priority queue whose last class is apart.
            Sharing::PerClass | Sharing::LastApart => (class.ids.len() as u32, class.bytes),
        };
        if self.config.limit.is_exceeded(waiting + 1, bytes + size) {
            return Fate::Dropped(DropReason::QueueFull).into();
        }
        let over = self.config.mark_above;
        let over = over.is_some_and(|k| k.is_exceeded(self.packets, self.bytes));
        self.packets += 1;
        self.bytes += size;
        class.bytes += size;
        class.ids.push_back(id);
        if over && packet.ecn.is_markable() {
            packet.ecn = Ecn::Marked;
            return Fate::Marked.into();
        }
        Fate::Queued.into()
    }

    fn dequeue(&mut self, _now: Time, packets: &mut [Packet]) -> Dequeued {
        self.next(packets).into()
    }

    fn backlog_packets(&self) -> u32 {
        self.packets
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }
}
