//! Trimming queues. If a data packet finds no room, the queue cuts off its payload and keeps its header,
//! which reaches the receiver before waiting data.
//!
//! NDP (Handley et al., SIGCOMM 2017, section 3.1) has two queues per port: one for data (8 packets), and one
//! of the same bytes for headers and control packets. While both wait, 10 headers are served for each data
//! packet. If the data queue is full, a random draw decides whether the arrival or the *tail* of the queue is
//! trimmed. The draw prevents that the same flow is trimmed again and again. A header that finds no room
//! returns to its sender, once.
//!
//! SCDP and NDP+ (SCDP paper, sections IV-B and V) do the same, with several data queues in strict priority
//! below the header queue. The data queues share a buffer or have one each.
//!
//! Deviations: with several classes in a shared buffer and `Victim::Coin`, the tail is the tail of the lowest
//! waiting class, if that is not above the arrival's own class (the SCDP paper only says "trim on overflow").
//! With a limit in bytes, as many tails are trimmed as the arrival needs; if they do not make enough room, the
//! arrival is trimmed.

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict};
use super::lists::{Lists, MAX_LISTS};
use crate::packet::{Packet, PacketId};
use alloc::vec::Vec;
use core::ops::Range;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::Time;

/// Packet that is trimmed when a data packet finds no room.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Victim {
    /// The arrival with probability one half, otherwise the tail of the queue (NDP).
    #[default]
    Coin,
    /// Always the arrival.
    Arrival,
}

/// Scope of the limit on data.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// All classes together.
    #[default]
    Shared,
    /// Each class separately: low classes cannot use the room of high classes.
    PerClass,
    /// All classes together except the last, which has a limit of the same size. The last class is for
    /// duplicates of requests. They cannot use the room of other classes, and are not trimmed in their place.
    LastApart,
}

/// Parameters of a trimming queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trimming {
    /// Number of data classes in strict priority, 1 to 9: 1 for NDP, 5 for SCDP and NDP+, and one more if
    /// requests have duplicates.
    pub classes: u8,
    /// Limit of the waiting data (8 packets in NDP).
    pub data_limit: Limit,
    /// Scope of `data_limit`.
    pub sharing: Sharing,
    /// Limit of the waiting headers and control packets, in bytes.
    pub header_limit_bytes: u64,
    /// Number of headers served for each data packet while both wait (10 in NDP).
    pub headers_per_data: u32,
    /// Packet that is trimmed.
    pub victim: Victim,
    /// Whether a header that finds no room returns to its sender.
    pub return_to_sender: bool,
}

/// Largest number of classes.
const MAX_CLASSES: usize = MAX_LISTS - 1;
/// List of headers and control packets. The lists of data classes follow it.
const HEADERS: usize = 0;
const DATA: usize = 1;

/// Trimming queue. Its first cache line holds the fields that every packet uses.
#[derive(Debug)]
#[repr(C)]
pub struct TrimmingQueue {
    header_bytes: u64,
    data_bytes: u64,
    header_packets: u32,
    data_packets: u32,
    /// Number of headers sent since the last data packet.
    headers_in_a_row: u32,
    lists: Lists,
    config: Trimming,
    coin: Xoshiro256PlusPlus,
    /// Packets and bytes of each class, if each class has a limit.
    held: [(u32, u64); MAX_CLASSES],
    /// Packets that the last arrival displaced and that the port has not fetched.
    displaced: Vec<(PacketId, Fate)>,
}

impl TrimmingQueue {
    /// Creates an empty queue. `seed` is the seed of its random draws.
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
            displaced: Vec::new(),
        }
    }

    /// Returns whether a packet may bypass the empty queue ([`super::Queue::passes`]).
    #[inline]
    pub(super) fn passes(&mut self, packet: &Packet) -> bool {
        let size = u64::from(packet.size);
        let fits = if packet.is_trimmable() {
            !self.config.data_limit.is_exceeded(1, size)
        } else {
            size <= self.config.header_limit_bytes
        };
        if fits {
            // Data resets the count, and so does a header that leaves while no data waits.
            self.headers_in_a_row = 0;
        }
        fits
    }

    fn classes(&self) -> usize {
        usize::from(self.config.classes)
    }

    /// Returns the list of a data packet with this priority.
    fn list_of(&self, priority: u8) -> usize {
        DATA + usize::from(priority.min(self.config.classes - 1))
    }

    /// Adds a header or control packet of `size` bytes to its queue. Returns `false` if there is no room.
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

    /// Trims a data packet, and adds its header to the queue of headers if there is room.
    fn trim(&mut self, id: PacketId, packets: &mut [Packet]) -> Fate {
        let packet = &mut packets[id.0 as usize];
        let cut = packet.trim();
        if self.admit_header(id, packet.size) {
            return Fate::Trimmed { cut };
        }
        self.refuse_header(packet, cut)
    }

    /// Returns or drops a header that finds no room. `cut` is the number of bytes that were cut off here: a
    /// dropped packet gets them back, because it is counted with its payload.
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
        // With a shared buffer the totals are enough.
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

    /// Returns the packets and bytes that count towards the limit for a packet of this list.
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

    /// Returns the lists whose tails may be trimmed instead of a packet of `list`.
    fn lists_to_trim(&self, list: usize) -> Range<usize> {
        let last = DATA + self.classes() - 1;
        match self.config.sharing {
            Sharing::Shared => list..last + 1,
            Sharing::LastApart if list < last => list..last,
            Sharing::PerClass | Sharing::LastApart => list..list + 1,
        }
    }

    /// Trims tails of waiting data, the lowest class first, until a packet of `list` with `size` bytes fits.
    /// Returns `false` and changes nothing if it cannot fit.
    fn tails_make_room(&mut self, list: usize, size: u32, packets: &mut [Packet]) -> bool {
        let limit = self.config.data_limit;
        let (waiting, bytes) = self.counted(list);
        let (mut waiting, mut bytes) = (waiting + 1, bytes + u64::from(size));
        for other in self.lists_to_trim(list).rev() {
            while limit.is_exceeded(waiting, bytes)
                && let Some(tail) = self.lists.pop_back(other)
            {
                let size = packets[tail.0 as usize].size;
                self.data_left(other, size);
                waiting -= 1;
                bytes -= u64::from(size);
                // The result of the trimming replaces this fate below, once it is certain that the arrival fits.
                self.displaced.push((tail, Fate::Queued));
            }
        }
        if limit.is_exceeded(waiting, bytes) {
            // The last tail taken is added first, so every list gets its former order.
            while let Some((tail, _)) = self.displaced.pop() {
                let packet = &packets[tail.0 as usize];
                self.admit_data(tail, self.list_of(packet.priority), packet.size);
            }
            return false;
        }
        for at in 0..self.displaced.len() {
            let tail = self.displaced[at].0;
            self.displaced[at].1 = self.trim(tail, packets);
        }
        true
    }

    /// Removes and returns the next packet.
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
        // Headers that leave while no data waits do not delay data, so they do not count.
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
        if take_tail && self.tails_make_room(list, size, packets) {
            self.admit_data(id, list, size);
            return Verdict {
                arrival: Fate::Queued,
                displaced: self.displaced.pop(),
            };
        }
        self.trim(id, packets).into()
    }

    fn also_displaced(&mut self) -> Option<(PacketId, Fate)> {
        self.displaced.pop()
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

        /// Packets of 64 to 319 bytes, including control packets. Some exceed the queue of headers, and may
        /// bypass it only if they could be queued.
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
