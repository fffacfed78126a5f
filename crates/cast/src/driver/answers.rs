//! Rate limits of answers to packets that belong to no session. Also the list of sessions that have ended.

use std::collections::{HashSet, VecDeque};
use tailcut_units::{Time, TokenBucket};

/// Largest number of answers per second to packets that belong to no session.
/// Any host can cause answers, so their cost must be limited.
/// With a smaller number, senders of ended sessions wait longer for an answer.
const ANSWERS: f64 = 10_000.0;
/// Largest number of answers per second to checks that arrived by a multicast group.
/// All members of the group answer a check. If its source address is forged, all answers go to a victim.
/// So the limit is low.
const GROUP_ANSWERS: f64 = 100.0;
/// Largest number of answers that are sent without a delay after a pause.
/// With a smaller number, some hosts that ask at the same moment get no answer.
const BURST: f64 = 100.0;
/// Largest number of ended sessions that are remembered. The message that an object has arrived may get lost.
/// If the session is forgotten then, the sender sends the object again.
const REMEMBERED: usize = 4_096;

/// Rate limit of answers.
#[derive(Debug)]
pub(super) struct Limit {
    /// Largest number of answers per second on average.
    rate: f64,
    bucket: TokenBucket,
}

impl Limit {
    const fn new(rate: f64) -> Self {
        Self {
            rate,
            bucket: TokenBucket::new(BURST),
        }
    }

    /// Creates the limit for packets that belong to no session.
    pub(super) const fn for_strangers() -> Self {
        Self::new(ANSWERS)
    }

    /// Creates the limit for checks that arrived by a multicast group.
    pub(super) const fn for_groups() -> Self {
        Self::new(GROUP_ANSWERS)
    }

    /// Returns whether one more answer may be sent now. If so, counts the answer.
    pub(super) fn take(&mut self, now: Time) -> bool {
        self.bucket.fill(now, self.rate, BURST);
        self.bucket.take()
    }
}

/// Identifiers of the most recent sessions that ended with a complete object at this host.
#[derive(Debug, Default)]
pub(super) struct Ended {
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Ended {
    pub(super) fn insert(&mut self, session: u64) {
        // Each session must occur only once in `order`.
        // Otherwise the removal of an old entry would remove a new entry too.
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
        let mut limit = Limit::for_strangers();
        let mut given = 0u32;
        for step in 0..1_000_000u64 {
            given += u32::from(limit.take(Time::from_ns(2_000 * step)));
        }
        assert!(
            (2.0 * ANSWERS..=2.0 * ANSWERS + BURST).contains(&f64::from(given)),
            "{given} in 2 s"
        );
    }

    #[test]
    fn the_last_sessions_are_remembered() {
        let mut ended = Ended::default();
        for session in 0..2 * REMEMBERED as u64 {
            // A second insertion of the same session must change nothing.
            ended.insert(session);
            ended.insert(session);
        }
        assert!(!ended.contains(REMEMBERED as u64 - 1));
        assert!(ended.contains(REMEMBERED as u64));
        assert_eq!(ended.known.len(), REMEMBERED);
    }
}
