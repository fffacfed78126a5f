//! Trimming queues: a data packet that finds no room loses its payload, not its header, and the
//! header hurries to the receiver ahead of data.
//!
//! NDP (Handley et al., SIGCOMM 2017, section 3.1): two queues a port, one for data (8 packets) and
//! one of the same bytes for headers and control packets, served 10 to 1 while both wait; when the
//! data queue is full, a coin decides between the arrival and the *tail* of the queue (trimming one
//! and the same flow again and again is what the coin prevents); a header that finds no room goes
//! back to its sender, once.
//!
//! SCDP and NDP+ (SCDP paper, sections IV-B and V): the same, with several data queues in strict
//! priority below the header queue; the buffer is split among them, or shared.
//!
//! Deviations: with several classes that share the buffer and `Victim::Coin`, the tail is that of the lowest class that
//! waits, if that is not above the arrival's own (the SCDP paper says only "trim on overflow").

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict};
use super::lists::{Lists, MAX_LISTS};
use crate::packet::{Packet, PacketId};
use alloc::vec::Vec;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::Time;

/// Which packet is trimmed when a data packet finds no room.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Victim {
    /// With probability one half the arrival, else the tail of the queue (NDP).
    #[default]
    Coin,
    /// Always the arrival.
    Arrival,
}

/// What the limit on data holds for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// All classes together.
    #[default]
    Shared,
    /// Each class for itself: low classes cannot take the room of high ones.
    PerClass,
    /// All classes together but the last, which has as much for itself: that of duplicates of requests,
    /// which cannot take the room of the others, nor be trimmed in their place.
    LastApart,
}

/// Parameters of a trimming queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trimming {
    /// Data classes in strict priority, 1 to 9: 1 for NDP, 5 for SCDP and NDP+; one more where requests
    /// have duplicates.
    pub classes: u8,
    /// Data that may wait (8 packets in NDP).
    pub data_limit: Limit,
    /// Whether that is for all classes together or for each.
    pub sharing: Sharing,
    /// Bytes of headers and control packets that may wait.
    pub header_limit_bytes: u64,
    /// Headers served for each data packet while both wait (10 in NDP).
    pub headers_per_data: u32,
    /// Which packet is trimmed.
    pub victim: Victim,
    /// Whether a header that finds no room goes back to its sender.
    pub return_to_sender: bool,
}

/// Classes at most.
const MAX_CLASSES: usize = MAX_LISTS - 1;
/// The list of headers and control packets; data classes follow it.
const HEADERS: usize = 0;
const DATA: usize = 1;

/// A trimming queue. What every packet touches is in its first cache line.
#[derive(Debug)]
#[repr(C)]
pub struct TrimmingQueue {
    header_bytes: u64,
    data_bytes: u64,
    header_packets: u32,
    data_packets: u32,
    /// Headers sent since the last data packet.
    headers_in_a_row: u32,
    lists: Lists,
    config: Trimming,
    coin: Xoshiro256PlusPlus,
    /// What each class holds, where each has a limit of its own.
    held: [(u32, u64); MAX_CLASSES],
}

impl TrimmingQueue {
    /// An empty queue whose coin is drawn from `seed`.
    pub fn new(config: Trimming, seed: u64) -> Self {
        Self {
            header_bytes: 0,
            data_bytes: 0,
            header_packets: 0,
            data_packets: 0,
            headers_in_a_row: 0,
            lists: Lists::new(),
            config: Trimming {
                classes: config.classes.clamp(1, MAX_CLASSES as u8),
                ..config
            },
            coin: Xoshiro256PlusPlus::seed_from_u64(seed),
            held: [(0, 0); MAX_CLASSES],
        }
    }

    /// See [`super::Queue::passes`].
    #[inline]
    pub(super) fn passes(&mut self, packet: &Packet) -> bool {
        let size = u64::from(packet.size);
        let fits = if packet.is_trimmable() {
            !self.config.data_limit.is_exceeded(1, size)
        } else {
            size <= self.config.header_limit_bytes
        };
        if fits {
            self.headers_in_a_row = 0;
        }
        fits
    }

    fn classes(&self) -> usize {
        usize::from(self.config.classes)
    }

    /// The list that a data packet of a priority belongs to.
    fn list_of(&self, priority: u8) -> usize {
        DATA + usize::from(priority.min(self.config.classes - 1))
    }

    /// A header or control packet of `size` bytes joins its queue, if it finds room there.
    #[inline]
    fn admit_header(&mut self, id: PacketId, size: u32) -> bool {
        let would_be = self.header_bytes + u64::from(size);
        let fits = would_be <= self.config.header_limit_bytes;
        if fits {
            self.header_bytes = would_be;
            self.header_packets += 1;
            self.lists.push_back(HEADERS, id);
        }
        fits
    }

    /// A data packet loses its payload and joins the queue of headers, or does not.
    fn trim(&mut self, id: PacketId, packets: &mut [Packet]) -> Fate {
        let packet = &mut packets[id.0 as usize];
        let cut = packet.trim();
        if self.admit_header(id, packet.size) {
            return Fate::Trimmed { cut };
        }
        self.refuse_header(packet, cut)
    }

    /// A header that finds no room goes back or is dropped; one of which `cut` bytes were cut off here is
    /// dropped with its payload.
    #[cold]
    fn refuse_header(&self, packet: &mut Packet, cut: u32) -> Fate {
        if self.config.return_to_sender && packet.trimmed && !packet.returned {
            return Fate::Returned { cut };
        }
        if cut > 0 {
            packet.size += cut;
            packet.trimmed = false;
        }
        Fate::Dropped(DropReason::HeaderQueueFull)
    }

    fn admit_data(&mut self, id: PacketId, list: usize, size: u32) {
        self.lists.push_back(list, id);
        self.data_packets += 1;
        self.data_bytes += u64::from(size);
        if self.config.sharing != Sharing::Shared {
            let (packets, bytes) = &mut self.held[list - DATA];
            *packets += 1;
            *bytes += u64::from(size);
        }
    }

    fn data_left(&mut self, list: usize, size: u32) {
        self.data_packets -= 1;
        self.data_bytes -= u64::from(size);
        if self.config.sharing != Sharing::Shared {
            let (packets, bytes) = &mut self.held[list - DATA];
            *packets -= 1;
            *bytes -= u64::from(size);
        }
    }

    /// Packets and bytes that count towards the limit for a packet of this list.
    fn counted(&self, list: usize) -> (u32, u64) {
        match self.config.sharing {
            Sharing::Shared => (self.data_packets, self.data_bytes),
            Sharing::PerClass => self.held[list - DATA],
            Sharing::LastApart => {
                let last = self.classes() - 1;
                let (packets, bytes) = self.held[last];
                match list - DATA == last {
                    true => (packets, bytes),
                    false => (self.data_packets - packets, self.data_bytes - bytes),
                }
            }
        }
    }

    /// The list whose tail may be trimmed in place of a packet of `list`.
    fn lowest_beside(&self, list: usize) -> Option<usize> {
        match self.config.sharing {
            Sharing::Shared => self.lists.last_occupied().filter(|&last| last >= list),
            Sharing::PerClass => Some(list),
            Sharing::LastApart => {
                let last = DATA + self.classes() - 1;
                match list == last {
                    true => Some(list),
                    false => (list..last)
                        .rev()
                        .find(|&other| self.lists.back(other).is_some()),
                }
            }
        }
    }

    /// The packet that leaves next.
    fn next(&mut self, packets: &[Packet]) -> Option<PacketId> {
        let data_turn = self.headers_in_a_row >= self.config.headers_per_data;
        let data_first = self.header_packets == 0 || (data_turn && self.data_packets > 0);
        if data_first {
            let highest = self.lists.first_occupied(DATA)?;
            let id = self.lists.pop_front(highest)?;
            self.data_left(highest, packets[id.0 as usize].size);
            self.headers_in_a_row = 0;
            return Some(id);
        }
        let id = self.lists.pop_front(HEADERS)?;
        self.header_packets -= 1;
        self.header_bytes -= u64::from(packets[id.0 as usize].size);
        // Headers sent while no data waits take nobody's turn.
        self.headers_in_a_row = if self.data_packets > 0 {
            self.headers_in_a_row + 1
        } else {
            0
        };
        Some(id)
    }
}

impl QueueDiscipline for TrimmingQueue {
    fn enqueue(&mut self, _now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        let packet = &mut packets[id.0 as usize];
        if !packet.is_trimmable() {
            let fate = match self.admit_header(id, packet.size) {
                true => Fate::Queued,
                false => self.refuse_header(packet, 0),
            };
            return fate.into();
        }
        let (list, size) = (self.list_of(packet.priority), packet.size);
        let (waiting, bytes) = self.counted(list);
        let limit = self.config.data_limit;
        if !limit.is_exceeded(waiting + 1, bytes + u64::from(size)) {
            self.admit_data(id, list, size);
            return Fate::Queued.into();
        }
        let take_tail = match self.config.victim {
            Victim::Coin => self.coin.next_u32() & 1 == 1,
            Victim::Arrival => false,
        };
        if let (true, Some(lowest)) = (take_tail, self.lowest_beside(list))
            && let Some(tail) = self.lists.back(lowest)
        {
            let tail_size = packets[tail.0 as usize].size;
            let after = bytes - u64::from(tail_size) + u64::from(size);
            if !limit.is_exceeded(waiting, after) {
                self.lists.pop_back(lowest);
                self.data_left(lowest, tail_size);
                self.admit_data(id, list, size);
                return Verdict {
                    arrival: Fate::Queued,
                    displaced: Some((tail, self.trim(tail, packets))),
                };
            }
        }
        self.trim(id, packets).into()
    }

    fn dequeue(&mut self, _now: Time, packets: &mut [Packet]) -> Dequeued {
        self.next(packets).into()
    }

    fn backlog_packets(&self) -> u32 {
        self.data_packets + self.header_packets
    }

    fn backlog_bytes(&self) -> u64 {
        self.data_bytes + self.header_bytes
    }

    fn remove(
        &mut self,
        packets: &[Packet],
        matches: &mut dyn FnMut(PacketId) -> bool,
        removed: &mut Vec<PacketId>,
    ) {
        for list in HEADERS..DATA + self.classes() {
            let before = removed.len();
            self.lists.remove(list, matches, removed);
            for id in &removed[before..] {
                let size = packets[id.0 as usize].size;
                if list == HEADERS {
                    self.header_packets -= 1;
                    self.header_bytes -= u64::from(size);
                } else {
                    self.data_left(list, size);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONFIG: Trimming = Trimming {
        data_limit: Limit::Packets(3),
        header_limit_bytes: 200,
        headers_per_data: 2,
        victim: Victim::Coin,
        return_to_sender: false,
        classes: 1,
        sharing: Sharing::Shared,
    };

    proptest! {
        #[test]
        fn the_class_of_duplicates_never_has_a_packet_above_it_trimmed(
            steps in proptest::collection::vec(proptest::option::of(0u8..3), 1..200)
        ) {
            let config = Trimming { classes: 3, sharing: Sharing::LastApart, ..CONFIG };
            let mut queue = TrimmingQueue::new(config, 7);
            let mut packets = Vec::new();
            let mut above = 0;
            for step in steps {
                match step {
                    Some(priority) => {
                        let id = PacketId(packets.len() as u32);
                        packets.push(Packet { priority, size: 100, trimmed_size: 10, ..Packet::default() });
                        let verdict = queue.enqueue(Time::ZERO, id, &mut packets);
                        let trims = verdict.arrival != Fate::Queued || verdict.displaced.is_some();
                        if priority < 2 {
                            prop_assert_eq!(trims, above == 3);
                            above += u32::from(!trims);
                        }
                        let displaced = verdict.displaced.map(|(id, _)| packets[id.0 as usize].priority);
                        prop_assert!(displaced.is_none_or(|other| (other < 2) == (priority < 2)));
                    }
                    None => {
                        if let Some(id) = queue.next(&packets) {
                            let packet = packets[id.0 as usize];
                            above -= u32::from(!packet.trimmed && packet.priority < 2);
                        }
                    }
                }
            }
        }

        #[test]
        fn what_is_taken_out_leaves_the_rest_in_its_order_and_the_books_right(
            priorities in proptest::collection::vec(0u8..3, 1..12)
        ) {
            let config = Trimming { classes: 3, sharing: Sharing::PerClass, ..CONFIG };
            let mut queue = TrimmingQueue::new(config, 7);
            let mut packets = Vec::new();
            let mut dropped = 0;
            for (number, priority) in priorities.into_iter().enumerate() {
                packets.push(Packet { priority, size: 100, trimmed_size: 10, ..Packet::default() });
                let verdict = queue.enqueue(Time::ZERO, PacketId(number as u32), &mut packets);
                let fates = [Some(verdict.arrival), verdict.displaced.map(|(_, fate)| fate)];
                let is_drop = |fate: &Fate| matches!(fate, Fate::Dropped(_));
                dropped += fates.iter().flatten().filter(|fate| is_drop(fate)).count();
            }
            let mut removed = Vec::new();
            queue.remove(&packets, &mut |id| id.0.is_multiple_of(2), &mut removed);
            let left = packets.len() - dropped - removed.len();
            prop_assert_eq!(queue.backlog_packets() as usize, left);
            let served: Vec<PacketId> = core::iter::from_fn(|| queue.next(&packets)).collect();
            prop_assert_eq!(served.len(), left);
            prop_assert!(served.iter().all(|id| !id.0.is_multiple_of(2)));
            prop_assert_eq!(queue.backlog_bytes(), 0);
        }

        /// Packets of 64 to 319 bytes, control packets among them: some are too large for the queue of
        /// headers, and pass no more than they would be queued.
        #[test]
        fn what_passes_an_empty_queue_leaves_it_as_if_it_had_come_and_gone(
            operations in proptest::collection::vec((any::<bool>(), any::<bool>(), any::<u8>()), 1..200)
        ) {
            let (mut ours, mut plain) = (TrimmingQueue::new(CONFIG, 7), TrimmingQueue::new(CONFIG, 7));
            let mut headers = [alloc::vec![Packet::default(); 200], alloc::vec![Packet::default(); 200]];
            for (number, (arrives, data, size)) in operations.into_iter().enumerate() {
                let id = PacketId(number as u32);
                if !arrives {
                    let left = ours.dequeue(Time::ZERO, &mut headers[0]);
                    prop_assert_eq!(left, plain.dequeue(Time::ZERO, &mut headers[1]));
                    continue;
                }
                for packets in &mut headers {
                    packets[number].size = 64 + u32::from(size);
                    packets[number].trimmed_size = if data { 64 } else { 0 };
                }
                if ours.backlog_packets() == 0 {
                    let packet = headers[0][number];
                    let waited = plain.enqueue(Time::ZERO, id, &mut headers[1]).arrival == Fate::Queued;
                    prop_assert_eq!(ours.passes(&packet), waited);
                    if waited {
                        prop_assert_eq!(plain.next(&headers[1]), Some(id));
                    } else {
                        ours.enqueue(Time::ZERO, id, &mut headers[0]);
                    }
                } else {
                    let verdict = ours.enqueue(Time::ZERO, id, &mut headers[0]);
                    prop_assert_eq!(verdict, plain.enqueue(Time::ZERO, id, &mut headers[1]));
                }
                prop_assert_eq!(ours.backlog_bytes(), plain.backlog_bytes());
            }
        }
    }
}
