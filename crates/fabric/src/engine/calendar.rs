//! Calendar queue (Brown, CACM 1988): events are in buckets by time, and the width of the buckets adapts to the load.
//!
//! A bucket is a *day* of `2^shift` ps. A ring of days contains the near future, and a heap contains all later events.
//! The events of a day are an unordered list of chunks until the day begins.
//! When the day begins, its events are sorted once, and then removed from the end of the list.
//! The width of a day follows the load, so that a day has a few events.
//!
//! A day begins only when time has reached it.
//! A call of `peek` never begins a day, because each new event of a begun day needs a slower, sorted insertion.

use super::event::Event;
use super::heap::Heap;
use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::{Time, prefetch};

/// Number of days on the ring: a power of two, and a multiple of 64 for the bitmap.
/// With days of the initial width, the ring covers 268 us: enough for almost all events of a data centre.
const DAYS: usize = 4096;
/// Number of events per chunk. Seven events and the chunk's header fill two cache lines.
const CHUNK: usize = 7;
/// Upper and lower limit of the mean number of events per day. Outside these limits, the width of a day changes.
// The limits differ by a factor of 4, so one halving or doubling never causes the opposite change.
const CROWDED: u64 = 48;
const SPARSE: u64 = 12;
/// Largest number of events of a day that are sorted by insertion alone.
const FEW: usize = 6;
/// Number of equal parts of a day, a power of two. Events are first placed by the part in which they are.
const PARTS: usize = 64;
/// Largest number of events in one part of a day that are sorted by insertion.
const CROWDED_PART: u32 = 16;
/// Number of days with events between two checks of the width.
/// A change of the width moves all events, so checks must be rare.
const REVIEW: u64 = 4096;
const NONE: u32 = u32::MAX;
/// Value of `next_day` if no later day has events.
/// `NO_DAY` is larger than the number of any day: a day has at least 16 ps, so the numbers of days are below 2^60.
const NO_DAY: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    next: u32,
    len: u32,
    events: [Event; CHUNK],
}

/// Calendar queue. Each operation takes constant time (O(1)).
#[derive(Debug)]
pub struct Calendar {
    /// Length of a day, as a power of two: a day has `2^shift` picoseconds.
    shift: u32,
    /// Number of the current day, counted from time 0.
    day: u64,
    /// Remaining events of the current day, latest first.
    today: Vec<Event>,
    /// Number of events of the current day when it began.
    begun: usize,
    /// Memory for sorting the events of a day.
    sorted: Vec<Event>,
    /// Number of the next day that has events, or `NO_DAY` if no later day has events.
    next_day: u64,
    /// First event after the current day, if `peek` has searched for this event.
    next: Option<Event>,
    /// First chunk of each day's list of events.
    days: Box<[u32; DAYS]>,
    /// Bitmap of the days whose list has events.
    occupied: [u64; DAYS / 64],
    chunks: Vec<Chunk>,
    free_chunk: u32,
    /// Number of events on the ring, without events of the current day.
    on_ring: usize,
    /// Events that are later than all days on the ring.
    beyond: Heap,
    reviewed_days: u64,
    reviewed_events: u64,
    /// Number of events in `today` that were moved to insert other events.
    #[cfg(test)]
    moved: u64,
}

impl Default for Calendar {
    fn default() -> Self {
        Self::new()
    }
}

impl Calendar {
    /// Creates an empty calendar.
    pub fn new() -> Self {
        Self {
            // The initial day has 65 ns. The width follows the load later.
            shift: 16,
            day: 0,
            today: Vec::new(),
            begun: 0,
            sorted: Vec::new(),
            next_day: NO_DAY,
            next: None,
            days: Box::new([NONE; DAYS]),
            occupied: [0; DAYS / 64],
            chunks: Vec::new(),
            free_chunk: NONE,
            on_ring: 0,
            beyond: Heap::new(),
            reviewed_days: 0,
            reviewed_events: 0,
            #[cfg(test)]
            moved: 0,
        }
    }

    /// Adds an event. Its time must not be before the last removed event.
    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        let day = event.time().as_ps() >> self.shift;
        // If the day has begun, the subtraction wraps to a large number, so one comparison is enough.
        // The current day uses no slot of the ring, so the ring covers the `DAYS - 1` days after it.
        if day.wrapping_sub(self.day + 1) < DAYS as u64 - 1 {
            self.push_on_ring(day, event);
            if day <= self.next_day {
                self.note_next(day, event);
            }
        } else {
            self.push_off_ring(day, event);
        }
    }

    /// Updates `next_day` and `next` for a new event on the next day with events, or on an earlier day.
    #[cold]
    #[inline(never)]
    fn note_next(&mut self, day: u64, event: Event) {
        self.next_day = day;
        if self.next.is_some_and(|next| event < next) {
            self.next = Some(event);
        }
    }

    /// Adds an event of the current day, or an event of a day after the ring.
    /// The rare cases have a separate function, so that the usual path of `push` need not save registers.
    #[inline(never)]
    fn push_off_ring(&mut self, day: u64, event: Event) {
        if day <= self.day {
            // `today` is in descending order, because events are removed from its end.
            let at = self.today.partition_point(|other| *other > event);
            #[cfg(test)]
            {
                self.moved += (self.today.len() - at) as u64;
            }
            self.today.insert(at, event);
        } else {
            self.beyond.push(event);
            if day <= self.next_day {
                self.note_next(day, event);
            }
        }
    }

    #[inline]
    fn push_on_ring(&mut self, day: u64, event: Event) {
        let slot = day as usize % DAYS;
        self.on_ring += 1;
        let head = self.days[slot];
        if head != NONE {
            let chunk = &mut self.chunks[head as usize];
            // Only the first chunk of a list may have free space, so later chunks are not searched.
            if (chunk.len as usize) < CHUNK {
                chunk.events[chunk.len as usize] = event;
                chunk.len += 1;
                return;
            }
        } else {
            self.occupied[slot / 64] |= 1 << (slot % 64);
        }
        self.days[slot] = self.new_chunk(head, event);
    }

    fn new_chunk(&mut self, next: u32, event: Event) -> u32 {
        let index = self.free_chunk;
        match self.chunks.get_mut(index as usize) {
            Some(chunk) => {
                self.free_chunk = chunk.next;
                chunk.next = next;
                chunk.len = 1;
                chunk.events[0] = event;
                index
            }
            None => self.grow(next, event),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, next: u32, event: Event) -> u32 {
        self.chunks.push(Chunk {
            next,
            len: 1,
            events: [event; CHUNK],
        });
        (self.chunks.len() - 1) as u32
    }

    /// Returns the earliest event, and does not begin a new day.
    #[inline]
    pub fn peek(&mut self) -> Option<Event> {
        if let Some(event) = self.today.last() {
            return Some(*event);
        }
        if self.next.is_none() && self.next_day != NO_DAY {
            self.next = self.first_of_next_day();
        }
        self.next
    }

    #[cold]
    #[inline(never)]
    fn first_of_next_day(&self) -> Option<Event> {
        let mut first = self.beyond.peek();
        // The ring has no list for days after the ring. The heap contains all their events.
        if self.next_day - self.day < DAYS as u64 {
            let mut index = self.days[self.next_day as usize % DAYS];
            while index != NONE {
                let chunk = &self.chunks[index as usize];
                for &event in &chunk.events[..chunk.len as usize] {
                    first = Some(first.map_or(event, |first| first.min(event)));
                }
                index = chunk.next;
            }
        }
        first
    }

    /// Removes and returns the earliest event, if it is at or before `until`.
    #[inline]
    pub fn pop_until(&mut self, until: Time) -> Option<Event> {
        if self.today.is_empty() {
            self.bring_day(until);
        }
        // The current day may begin before `until` and have only events after `until`.
        if self.today.last()?.time() > until {
            return None;
        }
        self.today.pop()
    }

    /// Begins the next day that has events, if `until` is on this day or later.
    /// If `next` contains the first event of that day, the day begins only if `until` has reached that event.
    #[cold]
    #[inline(never)]
    fn bring_day(&mut self, until: Time) {
        if until.as_ps() >> self.shift >= self.next_day
            && self.next.is_none_or(|next| next.time() <= until)
        {
            self.turn_the_page();
        }
    }

    /// Returns the event that is `ahead` positions after the earliest event.
    /// Returns `None` if the event is not in the current day.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<Event> {
        let at = self.today.len().checked_sub(ahead + 1)?;
        self.today.get(at).copied()
    }

    /// Returns whether the last removed event was the first event of its day.
    /// The result can be wrong if an event was added to the day after the last event was removed.
    #[inline]
    pub fn has_begun_day(&self) -> bool {
        self.today.len() + 1 == self.begun
    }

    /// Passes every event to `show`, in any order.
    pub fn for_each(&self, mut show: impl FnMut(Event)) {
        self.today.iter().copied().for_each(&mut show);
        self.beyond.for_each(&mut show);
        for &first in self.days.iter() {
            let mut index = first;
            while index != NONE {
                let chunk = &self.chunks[index as usize];
                let events = &chunk.events[..chunk.len as usize];
                events.iter().copied().for_each(&mut show);
                index = chunk.next;
            }
        }
    }

    /// Begins the next day that has events. At least one later day must have events.
    #[cold]
    #[inline(never)]
    fn turn_the_page(&mut self) {
        let day = self.next_day;
        self.day = day;
        self.next = None;
        // The ring now covers later days. Some events of the heap are now on the ring, or in the current day.
        while let Some(event) = self.beyond.peek() {
            let its_day = event.time().as_ps() >> self.shift;
            if its_day >= day + DAYS as u64 {
                break;
            }
            self.beyond.pop_until(Time::MAX);
            if its_day == day {
                self.today.push(event);
            } else {
                self.push_on_ring(its_day, event);
            }
        }
        self.collect(day as usize % DAYS);
        self.find_next_day();
        self.sort_today();
        self.begun = self.today.len();
        self.reviewed_days += 1;
        self.reviewed_events += self.today.len() as u64;
        if self.reviewed_days == REVIEW {
            self.review_width();
        }
    }

    /// Sorts the events of the current day, latest first.
    ///
    /// The events of a day are spread over the day. They are first counted and placed by the part of the day.
    /// After this first sort, almost every event is near its final position, and insertion is the fastest sort.
    fn sort_today(&mut self) {
        if self.today.len() > FEW {
            let low = self.shift.saturating_sub(PARTS.ilog2());
            // The latest part of the day has index 0.
            let part = |event: &Event| PARTS - 1 - (event.time().as_ps() >> low) as usize % PARTS;
            let mut starts = [0u32; PARTS];
            for event in &self.today {
                starts[part(event)] += 1;
            }
            let mut sum = 0;
            let mut most = 0;
            for start in &mut starts {
                most = most.max(*start);
                sum += core::mem::replace(start, sum);
            }
            // Events of one instant, such as a burst from all hosts, would make insertion slow.
            if most > CROWDED_PART {
                // All events are different, so even an unstable sort has only one possible result.
                self.today.sort_unstable_by(|a, b| b.cmp(a));
                return;
            }
            self.sorted.clear();
            self.sorted.extend_from_slice(&self.today);
            for event in &self.today {
                let place = &mut starts[part(event)];
                self.sorted[*place as usize] = *event;
                *place += 1;
            }
            core::mem::swap(&mut self.today, &mut self.sorted);
        }
        let today = &mut self.today[..];
        for at in 1..today.len() {
            // Most events are in order, and need only this comparison.
            if today[at - 1] < today[at] {
                let event = today[at];
                let mut to = at;
                while to > 0 && today[to - 1] < event {
                    today[to] = today[to - 1];
                    to -= 1;
                }
                today[to] = event;
            }
        }
    }

    /// Finds the next day with events, and prefetches the first events of that day.
    fn find_next_day(&mut self) {
        let on_ring = self.next_occupied_day();
        if let Some(day) = on_ring {
            prefetch(&self.chunks, self.days[day as usize % DAYS] as usize);
        }
        // Every day on the ring is earlier than every day in the heap.
        self.next_day = on_ring
            .or_else(|| self.beyond.peek().map(|e| e.time().as_ps() >> self.shift))
            .unwrap_or(NO_DAY);
    }

    /// Moves the events of one day's list into `today`.
    fn collect(&mut self, slot: usize) {
        let mut index = self.days[slot];
        if index == NONE {
            return;
        }
        self.days[slot] = NONE;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        while index != NONE {
            let chunk = &mut self.chunks[index as usize];
            let next = chunk.next;
            self.today
                .extend_from_slice(&chunk.events[..chunk.len as usize]);
            self.on_ring -= chunk.len as usize;
            chunk.next = self.free_chunk;
            self.free_chunk = index;
            index = next;
        }
    }

    fn next_occupied_day(&self) -> Option<u64> {
        if self.on_ring == 0 {
            return None;
        }
        let from = (self.day as usize + 1) % DAYS;
        let words = DAYS / 64;
        let (first_word, first_bit) = (from / 64, from % 64);
        // The search of the bitmap begins and ends in the same word: first with its high bits, last with its low bits.
        for step in 0..=words {
            let word = (first_word + step) % words;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= u64::MAX << first_bit;
            } else if step == words {
                bits &= !(u64::MAX << first_bit);
            }
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                let distance = (slot + DAYS - from) % DAYS;
                return Some(self.day + 1 + distance as u64);
            }
        }
        None
    }

    /// Halves the width of a day if the last days had too many events, or doubles it if they had too few.
    fn review_width(&mut self) {
        let mean = self.reviewed_events / self.reviewed_days;
        self.reviewed_days = 0;
        self.reviewed_events = 0;
        // The limits of `shift`, 4 and 40, give a day 16 ps to 1.1 s.
        let shift = if mean > CROWDED && self.shift > 4 {
            self.shift - 1
        } else if mean < SPARSE && self.shift < 40 {
            self.shift + 1
        } else {
            return;
        };
        for slot in 0..DAYS {
            self.collect(slot);
        }
        while let Some(event) = self.beyond.pop_until(Time::MAX) {
            self.today.push(event);
        }
        let mut all = core::mem::take(&mut self.today);
        // `today` had events when this function was called, so there is an earliest event.
        let earliest = all.iter().min().map_or(0, |e| e.time().as_ps());
        self.shift = shift;
        self.day = earliest >> shift;
        self.next_day = NO_DAY;
        all.sort_unstable_by(|a, b| b.cmp(a));
        for event in all {
            let day = event.time().as_ps() >> shift;
            if day == self.day {
                self.today.push(event);
            } else {
                self.push(event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::{Duration, mix64};

    const PACKETS: u64 = 40;
    const ROUNDS: u64 = 5_000;

    /// Runs rounds of packets for 10 ms. Each round ends before the next one begins.
    /// Returns the number of events that were moved to insert other events.
    fn moved_beside(far: &[Time], look: bool) -> u64 {
        let mut calendar = Calendar::new();
        for (number, &time) in far.iter().enumerate() {
            calendar.push(Event::new(time, u32::MAX, number as u32));
        }
        let peek = |calendar: &mut Calendar| {
            if look {
                calendar.peek();
            }
        };
        let mut start = Time::ZERO;
        for round in 0..ROUNDS {
            let end = start.saturating_add(Duration::from_us(2));
            for packet in 0..PACKETS {
                peek(&mut calendar);
                let delay = mix64(round * PACKETS + packet) % 2_000_000;
                let at = Time::from_ps(start.as_ps() + delay);
                calendar.push(Event::new(at, packet as u32, round as u32));
            }
            for _ in 0..PACKETS {
                peek(&mut calendar);
                calendar.pop_until(end).expect("a packet");
            }
            assert_eq!(calendar.pop_until(end), None);
            start = end;
        }
        calendar.moved
    }

    #[test]
    fn a_distant_event_costs_the_near_ones_nothing_even_when_looked_at() {
        let alone = moved_beside(&[], false);
        let soon = Time::from_ns(11_000_000);
        let never = Time::from_ns(3_600_000_000_000);
        for far in [&[][..], &[soon], &[never], &[soon, never]] {
            for look in [false, true] {
                assert_eq!(moved_beside(far, look), alone, "{far:?}, looked at: {look}");
            }
        }
    }
}
