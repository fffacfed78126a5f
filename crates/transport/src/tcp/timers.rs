//! Timer queue of a host, with at most one valid entry per connection.
//!
//! A deadline that moves to a later time leaves its entry unchanged, so the entry fires early.
//! When an entry fires early, the connection finds that nothing is due and adds an entry with the new time.
//! An ACK, which moves the retransmission timer, therefore costs no heap operation.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use tailcut_units::Time;

/// Key of a timer entry: a slot of the connection table and the generation of the slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TimerKey {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl TimerKey {
    /// Key that belongs to no connection.
    pub(crate) const NONE: Self = Self {
        slot: u32::MAX,
        generation: u32::MAX,
    };
}

/// Entries by time, then by slot.
#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Time, TimerKey)>>);

impl Timers {
    pub(crate) fn insert(&mut self, at: Time, key: TimerKey) {
        self.0.push(Reverse((at, key)));
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Removes and returns the earliest entry, if it is due at `now`.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(Time, TimerKey)> {
        if self.next()? > now {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }
}
