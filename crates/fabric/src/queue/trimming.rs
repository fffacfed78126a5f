//! Trimming queues. A queue without space for a data packet cuts off the payload and keeps the header.
//! The header reaches the receiver before waiting data.
//!
//! NDP (Handley et al., SIGCOMM 2017, section 3.1) has two queues per port. One queue is for data (8 packets).
//! The queue for headers and control packets has the same size in bytes as the queue for data.
//! While both queues have packets, 10 headers are sent for each data packet.
//! If the data queue is full, a random draw decides whether the arrival or the *tail* of the queue is trimmed.
//! Without the draw, the same flow could be trimmed again and again.
//! If the header queue has no space for a header, the header returns to its sender. A header can return only once.
//!
//! SCDP and NDP+ (SCDP paper, sections IV-B and V) trim in the same way, but they have several data queues.
//! The data queues have strict priority among each other, and the header queue has priority over all of them.
//! The data queues share one buffer, or each data queue has its own buffer.
//!
//! Deviations:
//!
//! - With several classes in a shared buffer and `Victim::Coin`, the tail is the last packet of one class.
//!   The class of the tail is the lowest class with waiting packets. It must not be above the arrival's class.
//!   The SCDP paper only says "trim on overflow".
//! - With a limit in bytes, one arrival may need the space of several packets.
//!   Tails are then trimmed until the arrival fits.
//!   If all possible tails together are too small, the arrival is trimmed.

use super::discipline::{Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict};
use super::lists::{Lists, MAX_LISTS};
use crate::packet::{Packet, PacketId};
use alloc::vec::Vec;
use core::ops::Range;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::Time;

/// Packet that is trimmed if the queue has no space for a data packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Victim {
    /// The arriving packet with probability one half, otherwise the tail of the queue (NDP).
    #[default]
    Coin,
    /// Always the arriving packet.
    Arrival,
}

/// Classes to which the limit for data applies.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// One limit for all classes together.
    #[default]
    Shared,
    /// One limit for each class. Low classes cannot use the buffer of high classes.
    PerClass,
    /// One limit for all classes except the last, and a limit of the same size for the last class.
    /// The last class is for duplicates of requests.
    /// Duplicates cannot use the buffer of other classes.
    /// Duplicates are not trimmed when a packet of another class needs space.
    LastApart,
}

/// Parameters of a trimming queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trimming {
    /// Number of data classes in strict priority, 1 to 9. NDP has 1 class, SCDP and NDP+ have 5.
    /// Designs with duplicates of requests have one more class.
    pub classes: u8,
    /// Limit of the waiting data. NDP has 8 packets.
    pub data_limit: Limit,
    /// Classes to which `data_limit` applies.
    pub sharing: Sharing,
    /// Limit of waiting headers and control packets, in bytes.
    pub header_limit_bytes: u64,
    /// Number of headers that are sent for each data packet while both wait. NDP has 10.
    pub headers_per_data: u32,
    /// Packet that is trimmed if the queue has no space for a data packet.
    pub victim: Victim,
    /// Whether a header returns to its sender if the header queue has no space.
    pub return_to_sender: bool,
}

/// Largest number of data classes.
const MAX_CLASSES: usize = MAX_LISTS - 1;
/// Number of the list with headers and control packets. The lists of data classes come after it.
const HEADERS: usize = 0;
const DATA: usize = 1;

/// Trimming queue. Its first cache line contains the fields that every packet uses.
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
    /// Number of waiting packets and bytes of each class. Used only if classes have separate limits.
    held: [(u32, u64); MAX_CLASSES],
    /// Packets that the last arrival displaced. The port has not taken them yet.
    displaced: Vec<(PacketId, Fate)>,
}

impl TrimmingQueue {
    /// Creates an empty queue. `seed` is the seed of the queue's random draws.
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

    /// Returns whether a packet may bypass the empty queue (see [`super::Queue::passes`]).
    #[inline]
    pub(super) fn passes(&mut self, packet: &Packet) -> bool {
        let size = u64::from(packet.size);
        let fits = if packet.is_trimmable() {
            !self.config.data_limit.is_exceeded(1, size)
        } else {
            size <= self.config.header_limit_bytes
        };
        if fits {
            // A data packet sets the count of headers to zero.
            // A header that leaves while no data waits also sets the count to zero.
            self.headers_in_a_row = 0;
        }
        fits
    }

    fn classes(&self) -> usize {
        usize::from(self.config.classes)
    }

    /// Returns the number of the list for data packets of this priority.
    fn list_of(&self, priority: u8) -> usize {
        DATA + usize::from(priority.min(self.config.classes - 1))
    }

    /// Adds a header or control packet of `size` bytes to the header queue. Returns `false` if the queue has no space.
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

    /// Trims a data packet. Adds its header to the header queue if this queue has space.
    fn trim(&mut self, id: PacketId, packets: &mut [Packet]) -> Fate {
        let packet = &mut packets[id.0 as usize];
        let cut = packet.trim();
        if self.admit_header(id, packet.size) {
            return Fate::Trimmed { cut };
        }
        self.refuse_header(packet, cut)
    }

    /// Returns a header to its sender or drops it, because the header queue has no space.
    /// `cut` is the number of bytes that this queue has cut off.
    /// If the header is dropped, `cut` is added to its size again, because drops are counted with their payload.
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
        // With a shared buffer, the total of all classes is enough.
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

    /// Returns the packets and bytes that are compared with the limit when a packet joins the list `list`.
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

    /// Returns the lists whose tails may be trimmed in place of a packet of the list `list`.
    fn lists_to_trim(&self, list: usize) -> Range<usize> {
        let last = DATA + self.classes() - 1;
        match self.config.sharing {
            Sharing::Shared => list..last + 1,
            Sharing::LastApart if list < last => list..last,
            Sharing::PerClass | Sharing::LastApart => list..list + 1,
        }
    }

    /// Trims tails of waiting data, from the lowest class, until a packet of `size` bytes in the list `list` fits.
    /// If the packet cannot fit, returns `false` and changes nothing.
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
                // `Fate::Queued` is temporary. The loop below replaces it when it is certain that the arrival fits.
                self.displaced.push((tail, Fate::Queued));
            }
        }
        if limit.is_exceeded(waiting, bytes) {
            // The tails are put back in reverse order, so that every list has its former order.
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

    /// Removes and returns the next packet to send.
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
        // A header that leaves while no data waits does not delay data, so it is not counted.
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
            // The port requests all further tails by `also_displaced`.
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

        /// The packets have 64 to 319 bytes, and some are control packets. Some are too large for the header queue.
        /// A packet may bypass the queue only if the queue could accept the packet.
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
