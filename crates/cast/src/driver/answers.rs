//! What a host answers to those that it knows nothing of, and how often.

use std::collections::{HashSet, VecDeque};
use tailcut_units::{Duration, Time};

/// Answers a second at most, to packets of no session.
const ANSWERS: u64 = 10_000;
/// Answers a second at most to checks that came by a group: all its members answer, so that somebody
/// who forges an address gets many answers sent there for one check.
const GROUP_ANSWERS: u64 = 100;
/// Answers at once, after a pause.
const BURST: u64 = 100;
/// Sessions that have ended and are remembered by their identifiers.
const REMEMBERED: usize = 4_096;

/// Lets some answers a second through.
#[derive(Debug)]
pub(super) struct Bucket {
    /// The time that each answer takes.
    each: Duration,
    /// When the answers that were given would have been due.
    until: Time,
}

impl Bucket {
    fn new(rate: u64) -> Self {
        Self {
            each: Duration::from_ps(1_000_000_000_000 / rate),
            until: Time::ZERO,
        }
    }

    /// For packets of no session.
    pub(super) fn for_strangers() -> Self {
        Self::new(ANSWERS)
    }

    /// For checks that came by a group.
    pub(super) fn for_groups() -> Self {
        Self::new(GROUP_ANSWERS)
    }

    /// Whether one more may be given now.
    pub(super) fn take(&mut self, now: Time) -> bool {
        let from = self.until.max(now);
        if from.since(now) >= self.each * BURST {
            return false;
        }
        self.until = from + self.each;
        true
    }
}

/// The last sessions that have ended with the whole object here.
#[derive(Debug, Default)]
pub(super) struct Ended {
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Ended {
    pub(super) fn insert(&mut self, session: u64) {
        if !self.known.insert(session) {
            return;
        }
        self.order.push_back(session);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, session: u64) -> bool {
        self.known.contains(&session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_answers_a_second_are_given() {
        let mut bucket = Bucket::for_strangers();
        let mut given = 0;
        for step in 0..1_000_000u64 {
            given += u64::from(bucket.take(Time::from_ns(2_000 * step)));
        }
        assert!(
            (2 * ANSWERS..=2 * ANSWERS + BURST).contains(&given),
            "{given} in 2 s"
        );
    }

    #[test]
    fn the_last_sessions_are_remembered() {
        let mut ended = Ended::default();
        for session in 0..2 * REMEMBERED as u64 {
            ended.insert(session);
            ended.insert(session);
        }
        assert!(!ended.contains(REMEMBERED as u64 - 1));
        assert!(ended.contains(REMEMBERED as u64));
        assert_eq!(ended.known.len(), REMEMBERED);
    }
}
