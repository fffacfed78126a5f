//! Strict priority in which higher classes push out lower classes.
//! If a packet of a higher class arrives at a full queue, packets of lower classes are dropped.
//! Packets of lower classes are also ignored when a packet of a higher class is admitted or marked.
//! RANS needs this kind of switch, so that duplicates only use buffers and bandwidth that first copies leave free.

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict, remove_from};
use crate::packet::{Ecn, Packet, PacketId};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::Time;

/// Parameters of a strict-priority queue in which higher classes push out lower classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PushOut {
    /// Number of classes. A packet with a larger `priority` is in the last class.
    pub classes: u8,
    /// Number of highest classes that form one group, at least 1. The classes of this group share their buffer.
    /// The ECN marking of the highest group ignores packets of lower classes. Each lower class forms its own group.
    pub group: u8,
    /// Limit for the packets of a group and all higher groups together.
    /// While all classes together exceed the limit, the last packet of the lowest class is dropped.
    pub limit: Limit,
    /// ECN threshold for a group and all higher groups together.
    /// An ECN-capable packet is marked if its group and all higher groups together exceed the threshold at its arrival.
    pub mark_above: Option<Limit>,
}

/// Waiting packets of one class.
#[derive(Clone, Debug, Default)]
struct Class {
    waiting: VecDeque<PacketId>,
    bytes: u64,
}

/// Strict-priority queue in which higher classes push out lower classes.
#[derive(Debug)]
pub struct PushOutQueue {
    config: PushOut,
    classes: Box<[Class]>,
    /// Packets that the last arrival displaced. The port has not taken them yet.
    displaced: Vec<PacketId>,
}

impl PushOutQueue {
    /// Creates an empty queue.
    pub fn new(config: PushOut) -> Self {
        let classes = usize::from(config.classes.max(1));
        Self {
            config,
            classes: alloc::vec![Class::default(); classes].into_boxed_slice(),
            displaced: Vec::new(),
        }
    }

    /// Returns the numbers of packets and bytes in the classes `0..below`.
    fn down_to(&self, below: usize) -> (u32, u64) {
        let classes = self.classes[..below].iter();
        classes.fold((0, 0), |(packets, bytes), class| {
            (packets + class.waiting.len() as u32, bytes + class.bytes)
        })
    }

    /// Removes and returns the next packet to send.
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
        // Only classes that this packet cannot push out are counted.
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
        let (mut all, mut all_bytes) = self.down_to(self.classes.len());
        // The counted classes have space for the arrival, so this loop only drops packets of lower groups.
        for class in self.classes.iter_mut().rev() {
            while limit.is_exceeded(all, all_bytes)
                && let Some(last) = class.waiting.pop_back()
            {
                let size = u64::from(packets[last.0 as usize].size);
                class.bytes -= size;
                all -= 1;
                all_bytes -= size;
                self.displaced.push(last);
            }
        }
        Verdict {
            arrival,
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
