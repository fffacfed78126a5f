//! A calendar queue (Brown, CACM 1988) with an adaptive bucket width.
//!
//! Time is cut into days of `2^shift` ps; a ring of days covers the near future, a heap what lies
//! beyond. A day's events are an unordered list of pooled chunks until the day comes; then they are
//! sorted once and popped from the end. The width follows the load so that a day holds a handful.

use super::{Event, Heap};
use crate::packet::prefetch;
use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::Time;

/// Days on the ring; a power of two, and a multiple of 64 for the bitmap.
const DAYS: usize = 4096;
/// Events a chunk: 7 and the header fill two cache lines.
const CHUNK: usize = 7;
/// Where the mean number of events a day should stay.
const CROWDED: u64 = 64;
const SPARSE: u64 = 16;
/// Days with events between two looks at the width.
const REVIEW: u64 = 4096;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    next: u32,
    len: u32,
    events: [Event; CHUNK],
}

/// A calendar queue: O(1) an operation.
#[derive(Debug)]
pub struct Calendar {
    /// Bits of a picosecond time below a day.
    shift: u32,
    /// The absolute number of the day that `today` holds.
    day: u64,
    /// What is left of the current day, latest first.
    today: Vec<Event>,
    /// The first chunk of each day's list.
    days: Box<[u32; DAYS]>,
    /// A bit a day: whether its list has events.
    occupied: [u64; DAYS / 64],
    chunks: Vec<Chunk>,
    free_chunk: u32,
    /// Events on the ring, today's not counted.
    on_ring: usize,
    /// Events beyond the ring.
    beyond: Heap,
    reviewed_days: u64,
    reviewed_events: u64,
}

impl Default for Calendar {
    fn default() -> Self {
        Self::new()
    }
}

impl Calendar {
    /// An empty calendar.
    pub fn new() -> Self {
        Self {
            shift: 16,
            day: 0,
            today: Vec::new(),
            days: Box::new([NONE; DAYS]),
            occupied: [0; DAYS / 64],
            chunks: Vec::new(),
            free_chunk: NONE,
            on_ring: 0,
            beyond: Heap::new(),
            reviewed_days: 0,
            reviewed_events: 0,
        }
    }

    /// Adds an event, not before the last one popped.
    #[inline]
    pub fn push(&mut self, event: Event) {
        let day = event.time().as_ps() >> self.shift;
        // One comparison: a day that has come wraps around.
        if day.wrapping_sub(self.day + 1) < DAYS as u64 - 1 {
            self.push_on_ring(day, event);
        } else {
            self.push_off_ring(day, event);
        }
    }

    /// Apart from `push`, whose usual way needs no registers saved.
    #[inline(never)]
    fn push_off_ring(&mut self, day: u64, event: Event) {
        if day <= self.day {
            let at = self.today.partition_point(|other| *other > event);
            self.today.insert(at, event);
        } else {
            self.beyond.push(event);
        }
    }

    #[inline]
    fn push_on_ring(&mut self, day: u64, event: Event) {
        let slot = day as usize % DAYS;
        self.on_ring += 1;
        let head = self.days[slot];
        if head != NONE {
            let chunk = &mut self.chunks[head as usize];
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

    /// The earliest event.
    #[inline]
    pub fn peek(&mut self) -> Option<Event> {
        if self.today.is_empty() {
            self.turn_the_page();
        }
        self.today.last().copied()
    }

    /// Takes the earliest event out if it is at or before `until`.
    #[inline]
    pub fn pop_until(&mut self, until: Time) -> Option<Event> {
        if self.peek()?.time() > until {
            return None;
        }
        self.today.pop()
    }

    /// The event `ahead` places behind the earliest, if it is today's.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<Event> {
        let at = self.today.len().checked_sub(ahead + 1)?;
        self.today.get(at).copied()
    }

    /// Moves to the next day that has events, if there is one.
    #[cold]
    #[inline(never)]
    fn turn_the_page(&mut self) {
        let next_on_ring = self.next_occupied_day();
        let next_beyond = self.beyond.peek().map(|e| e.time().as_ps() >> self.shift);
        let day = match (next_on_ring, next_beyond) {
            (None, None) => return,
            (Some(day), None) | (None, Some(day)) => day,
            (Some(a), Some(b)) => a.min(b),
        };
        self.day = day;
        // The ring's horizon has moved: what was beyond it may be on it, or be today's.
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
        if let Some(next) = self.next_occupied_day() {
            prefetch(&self.chunks, self.days[next as usize % DAYS] as usize);
        }
        self.today.sort_unstable_by(|a, b| b.cmp(a));
        self.reviewed_days += 1;
        self.reviewed_events += self.today.len() as u64;
        if self.reviewed_days == REVIEW {
            self.review_width();
        }
    }

    /// Empties a day's list into `today`.
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

    /// Doubles or halves the day when the last days held too few or too many events.
    fn review_width(&mut self) {
        let mean = self.reviewed_events / self.reviewed_days;
        self.reviewed_days = 0;
        self.reviewed_events = 0;
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
        // `today` was not empty when the width was reviewed, so there is an earliest event.
        let earliest = all.iter().min().map_or(0, |e| e.time().as_ps());
        self.shift = shift;
        self.day = earliest >> shift;
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
