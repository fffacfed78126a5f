//! Queue that sorts events by time.
//! Some ports compute the departure of a packet when the packet arrives, and report the departure before it happens.
//! Events therefore do not arrive in order of time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use tailcut_units::Time;

/// Event with its time. Events at the same time stay in the order in which they were reported.
struct Timed<T> {
    at: Time,
    number: u64,
    what: T,
}

impl<T> Timed<T> {
    const fn key(&self) -> (Time, u64) {
        (self.at, self.number)
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

/// Events that were reported in advance. They wait until the capture reaches their time.
pub(crate) struct InOrder<T> {
    waiting: BinaryHeap<Reverse<Timed<T>>>,
    number: u64,
}

impl<T> InOrder<T> {
    pub fn new() -> Self {
        Self {
            waiting: BinaryHeap::new(),
            number: 0,
        }
    }

    pub fn push(&mut self, at: Time, what: T) {
        let number = self.number;
        self.number += 1;
        self.waiting.push(Reverse(Timed { at, number, what }));
    }

    /// Returns the earliest event, or `None` if it is later than `now`.
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
    fn what_was_reported_early_waits_and_one_time_keeps_the_order_of_reports() {
        let mut order = InOrder::new();
        let at = Time::from_ns;
        for (time, what) in [(7, 'd'), (3, 'a'), (5, 'b'), (5, 'c')] {
            order.push(at(time), what);
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
