//! The host's timer queue: at most one live entry a connection.
//!
//! A deadline that moves later leaves its entry where it is: the entry fires early, finds that
//! nothing is due and is entered again at the true time. So an ACK, which moves the retransmission
//! timer, costs no heap operation.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use tailcut_units::Time;

/// Names one use of one slot of the connection slab.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TimerKey {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl TimerKey {
    /// Names nothing.
    pub(crate) const NONE: Self = Self {
        slot: u32::MAX,
        generation: u32::MAX,
    };
}

/// Entries by time, ties by slot.
#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Time, TimerKey)>>);

impl Timers {
    pub(crate) fn insert(&mut self, at: Time, key: TimerKey) {
        self.0.push(Reverse((at, key)));
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the earliest entry if it is due at `now`.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(Time, TimerKey)> {
        if self.next()? > now {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }
}
