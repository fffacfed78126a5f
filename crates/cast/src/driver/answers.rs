//! Rate limits of answers to packets that belong to no session, and the list of sessions that have
//! ended.

use std::collections::{HashSet, VecDeque};
use tailcut_units::{Duration, Time};

/// Answers per second, at most, to packets that belong to no session.
const ANSWERS: u64 = 10_000;
/// Answers per second, at most, to checks that came by a multicast group. The limit is low, because
/// all members of the group answer: a check with a forged source address sends many answers to the
/// victim.
const GROUP_ANSWERS: u64 = 100;
/// Answers that may be sent at once after a pause.
const BURST: u64 = 100;
/// Ended sessions whose identifiers are kept.
const REMEMBERED: usize = 4_096;

/// Token bucket for answers.
#[derive(Debug)]
pub(super) struct Bucket {
    /// Time between two answers at the full rate.
    each: Duration,
    /// Time at which all answers so far would have been sent at the full rate.
    until: Time,
}

impl Bucket {
    fn new(rate: u64) -> Self {
        Self {
            each: Duration::from_ps(1_000_000_000_000 / rate),
            until: Time::ZERO,
        }
    }

    /// Returns a bucket for answers to packets that belong to no session.
    pub(super) fn for_strangers() -> Self {
        Self::new(ANSWERS)
    }

    /// Returns a bucket for answers to checks that came by a multicast group.
    pub(super) fn for_groups() -> Self {
        Self::new(GROUP_ANSWERS)
    }

    /// Takes one answer from the bucket. Returns `false` if the rate does not allow an answer at
    /// `now`.
    pub(super) fn take(&mut self, now: Time) -> bool {
        let from = self.until.max(now);
        if from.since(now) >= self.each * BURST {
            return false;
        }
        self.until = from + self.each;
        true
    }
}

/// Identifiers of the last sessions that ended after the whole object arrived at this host.
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
