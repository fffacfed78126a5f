//! Strict priority among several FIFO classes, with one shared buffer or one buffer per class.
//! The ECN threshold is for the whole port.
//! Standard switches have priority queues with one threshold. PIAS uses them (Bai et al., NSDI 2015, section 4.2).
//! PIAS requires a threshold for the whole port.
//! With a threshold per class, low classes would build queues without marks.

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict};
use super::trimming::Sharing;
use crate::packet::{Ecn, Packet, PacketId};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use tailcut_units::Time;

/// Parameters of a strict-priority queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Priority {
    /// Number of classes. A packet with a larger `priority` is in the last class.
    pub classes: u8,
    /// Limit of the waiting packets, in packets or bytes.
    pub limit: Limit,
    /// Whether the limit is for all classes together or for each class separately.
    pub sharing: Sharing,
    /// ECN threshold for all classes together.
    /// An ECN-capable packet is marked if the waiting packets exceed the threshold when it arrives.
    pub mark_above: Option<Limit>,
}

/// Waiting packets of one class.
#[derive(Clone, Default, Debug)]
struct Class {
    ids: VecDeque<PacketId>,
    bytes: u64,
}

/// Queue with strict priority among several classes.
#[derive(Debug)]
pub struct PriorityQueue {
    config: Priority,
    classes: Box<[Class]>,
    packets: u32,
    bytes: u64,
}

impl PriorityQueue {
    /// Creates an empty queue.
    pub fn new(config: Priority) -> Self {
        let classes = usize::from(config.classes.max(1));
        Self {
            config,
            classes: alloc::vec![Class::default(); classes].into_boxed_slice(),
            packets: 0,
            bytes: 0,
        }
    }

    /// Removes and returns the next packet to send.
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
            // `LastApart` is treated like `PerClass`, because no design uses it with strict priority.
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
