//! Strict priority where no group of classes knows of those below it: what waits in lower classes gives way to what
//! arrives above, and is not counted when that is admitted or marked. What RANS asks of switches, so that
//! duplicates take only what primaries leave, in buffers as on links.

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict, remove_from};
use crate::packet::{Ecn, Packet, PacketId};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::Time;

/// Parameters of a strict-priority queue whose classes push out those below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PushOut {
    /// Number of classes; a packet's `priority` beyond the last counts as the last.
    pub classes: u8,
    /// How many of the first classes are one group, at least 1: they share their room, and their packets
    /// are marked, as in a queue of these classes alone. Each class after them is a group of its own.
    pub group: u8,
    /// What may wait in a group and those above it. Where all classes together hold more, the last packet
    /// of the lowest one goes, one an arrival: in bytes the queue may stay above the limit while small
    /// packets give way to large ones.
    pub limit: Limit,
    /// An ECN-capable packet that finds more than this waiting, in its own group and those above, is
    /// marked.
    pub mark_above: Option<Limit>,
}

/// One class.
#[derive(Clone, Debug, Default)]
struct Class {
    waiting: VecDeque<PacketId>,
    bytes: u64,
}

/// A strict-priority queue whose classes push out those below.
#[derive(Debug)]
pub struct PushOutQueue {
    config: PushOut,
    classes: Box<[Class]>,
}

impl PushOutQueue {
    /// An empty queue.
    pub fn new(config: PushOut) -> Self {
        let classes = usize::from(config.classes.max(1));
        Self {
            config,
            classes: alloc::vec![Class::default(); classes].into_boxed_slice(),
        }
    }

    /// Packets and bytes of the classes `0..below`.
    fn down_to(&self, below: usize) -> (u32, u64) {
        let classes = self.classes[..below].iter();
        classes.fold((0, 0), |(packets, bytes), class| {
            (packets + class.waiting.len() as u32, bytes + class.bytes)
        })
    }

    /// The packet that leaves next.
    fn next(&mut self, packets: &[Packet]) -> Option<PacketId> {
        self.classes.iter_mut().find_map(|class| {
            let id = class.waiting.pop_front()?;
            class.bytes -= u64::from(packets[id.0 as usize].size);
            Some(id)
        })
    }
}

impl QueueDiscipline for PushOutQueue {
    fn enqueue(&mut self, _now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        let packet = &mut packets[id.0 as usize];
        let number = usize::from(packet.priority).min(self.classes.len() - 1);
        let group = usize::from(self.config.group).clamp(1, self.classes.len());
        let (before, bytes_before) = self.down_to(group.max(number + 1));
        let limit = self.config.limit;
        if limit.is_exceeded(before + 1, bytes_before + u64::from(packet.size)) {
            return Fate::Dropped(DropReason::QueueFull).into();
        }
        let class = &mut self.classes[number];
        class.waiting.push_back(id);
        class.bytes += u64::from(packet.size);
        let over = self.config.mark_above;
        let over = over.is_some_and(|k| k.is_exceeded(before, bytes_before));
        let arrival = match over && packet.ecn.is_markable() {
            true => {
                packet.ecn = Ecn::Marked;
                Fate::Marked
            }
            false => Fate::Queued,
        };
        let (all, all_bytes) = self.down_to(self.classes.len());
        let lowest = self.classes.iter_mut().rev();
        let displaced = match limit.is_exceeded(all, all_bytes) {
            true => lowest.into_iter().find_map(|class| {
                let last = class.waiting.pop_back()?;
                class.bytes -= u64::from(packets[last.0 as usize].size);
                Some((last, Fate::Dropped(DropReason::QueueFull)))
            }),
            false => None,
        };
        Verdict { arrival, displaced }
    }

    fn dequeue(&mut self, _now: Time, packets: &mut [Packet]) -> Dequeued {
        self.next(packets).into()
    }

    fn backlog_packets(&self) -> u32 {
        self.down_to(self.classes.len()).0
    }

    fn backlog_bytes(&self) -> u64 {
        self.down_to(self.classes.len()).1
    }

    fn remove(
        &mut self,
        packets: &[Packet],
        matches: &mut dyn FnMut(PacketId) -> bool,
        removed: &mut Vec<PacketId>,
    ) {
        for class in &mut self.classes {
            let waiting = &mut class.waiting;
            class.bytes -= remove_from(waiting, |id| *id, packets, matches, removed);
        }
    }
}
