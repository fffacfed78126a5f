//! Queue that sorts events by time. A port that settles departures at a packet's arrival reports
//! them before they happen.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use tailcut_units::Time;

/// Event with its time. Events at the same time keep the order of their reports.
struct Timed<T> {
    at: Time,
    told: u64,
    what: T,
}

impl<T> Timed<T> {
    const fn key(&self) -> (Time, u64) {
        (self.at, self.told)
    }
}

impl<T> PartialEq for Timed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Timed<T> {}

impl<T> PartialOrd for Timed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Timed<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Events that were reported and are not due yet.
pub(crate) struct InOrder<T> {
    waiting: BinaryHeap<Reverse<Timed<T>>>,
    told: u64,
}

impl<T> InOrder<T> {
    pub fn new() -> Self {
        Self {
            waiting: BinaryHeap::new(),
            told: 0,
        }
    }

    pub fn tell(&mut self, at: Time, what: T) {
        let told = self.told;
        self.told += 1;
        self.waiting.push(Reverse(Timed { at, told, what }));
    }

    /// Returns the next event up to the time `now`.
    pub fn next_until(&mut self, now: Time) -> Option<(Time, T)> {
        let Reverse(first) = self.waiting.peek()?;
        if first.at > now {
            return None;
        }
        let Reverse(first) = self.waiting.pop()?;
        Some((first.at, first.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_early_waits_and_one_time_keeps_the_order_of_telling() {
        let mut order = InOrder::new();
        let at = Time::from_ns;
        for (time, what) in [(7, 'd'), (3, 'a'), (5, 'b'), (5, 'c')] {
            order.tell(at(time), what);
        }
        let mut until = |time| {
            let mut come = Vec::new();
            while let Some((at, what)) = order.next_until(at(time)) {
                come.push((at.as_ns(), what));
            }
            come
        };
        assert_eq!(until(2), []);
        assert_eq!(until(5), [(3, 'a'), (5, 'b'), (5, 'c')]);
        assert_eq!(until(6), []);
        assert_eq!(until(9), [(7, 'd')]);
    }
}
