//! Statistics of a replica.

use super::config::{Breaker, ResetBudget};
use crate::via::names_guard;
use http::Response;
use std::time::Duration;
use tailcut_units::TokenBucket;
use tokio::time::Instant;

/// Weight of the latest latency in the average, 0 to 1.
/// With a smaller weight, the client notices later that a replica has become slow.
/// With a larger weight, a single slow request moves many requests to other replicas.
const WEIGHT: f64 = 0.2;

#[derive(Clone, Debug)]
pub(super) struct ReplicaStats {
    /// Copies in flight.
    pub in_flight: u32,
    /// Whether the replica purges. `None`: unknown.
    pub purges: Option<bool>,
    /// Whether the user considers the replica healthy.
    pub is_healthy: bool,
    /// Average latency in seconds.
    latency: Option<f64>,
    failures: u32,
    pause: Duration,
    paused_until: Option<Instant>,
    /// Budget of resets, as it was at the time `counted`.
    resets: TokenBucket,
    counted: Instant,
}

impl ReplicaStats {
    pub fn new(now: Instant, purges: Option<bool>, budget: ResetBudget) -> Self {
        Self {
            in_flight: 0,
            purges,
            is_healthy: true,
            latency: None,
            failures: 0,
            pause: Duration::ZERO,
            paused_until: None,
            resets: TokenBucket::new(budget.burst.into()),
            counted: now,
        }
    }

    /// Returns a copy of the statistics that counts no requests in flight.
    pub fn without_requests(&self) -> Self {
        Self {
            in_flight: 0,
            ..self.clone()
        }
    }

    /// Returns whether the replica accepts requests. After a pause, one request tests whether the replica works again.
    pub fn is_open(&self, now: Instant) -> bool {
        self.is_healthy
            && match self.paused_until {
                Some(until) => now >= until && self.in_flight == 0,
                None => true,
            }
    }

    /// Returns the average latency, or `None` before the first answer.
    pub fn latency(&self) -> Option<Duration> {
        self.latency.map(Duration::from_secs_f64)
    }

    /// Returns whether this replica will probably answer earlier than `other`.
    /// A replica that has not answered yet counts as equally fast.
    /// Such a replica is tried, but it never has more requests in flight than the other replica.
    pub fn is_lighter_than(&self, other: &Self) -> bool {
        let load = |one: &Self, two: &Self| {
            // If neither latency is known, only the numbers of copies in flight count.
            let latency = one.latency.or(two.latency).unwrap_or(1.0);
            // The new request counts, too, because it also has to be answered.
            // Otherwise all idle replicas would have a load of 0.
            f64::from(one.in_flight + 1) * latency
        };
        load(self, other) < load(other, self)
    }

    pub fn answered(&mut self, latency: Duration) {
        let latest = latency.as_secs_f64();
        let average = self.latency.unwrap_or(latest);
        self.latency = Some(average + WEIGHT * (latest - average));
        (self.failures, self.pause, self.paused_until) = (0, Duration::ZERO, None);
    }

    pub fn failed(&mut self, now: Instant, breaker: Breaker) {
        self.failures += 1;
        if self.failures >= breaker.failures {
            // `pause` is 0 before the first failure. The lower bound makes the first pause `breaker.pause`.
            let pause = (self.pause * 2).clamp(breaker.pause, breaker.longest);
            (self.pause, self.paused_until) = (pause, Some(now + pause));
        }
    }

    /// Updates the statistics from an answer or an error. An error counts as a failure.
    /// If `learns` is true, the answer also shows whether a guard is in front of the replica.
    pub fn note<R, E>(
        &mut self,
        (began, now): (Instant, Instant),
        learns: bool,
        breaker: Breaker,
        answer: &Result<Response<R>, E>,
    ) {
        match answer {
            // A 4xx answer shows that the replica works.
            Ok(answer) if !answer.status().is_server_error() => self.answered(now - began),
            _ => self.failed(now, breaker),
        }
        if let (Ok(answer), true) = (answer, learns) {
            self.purges = Some(names_guard(answer.headers()));
        }
    }

    /// Takes one reset from the budget. Returns `false` if the budget is used up.
    pub fn may_reset(&mut self, now: Instant, budget: ResetBudget) -> bool {
        let earned = (now - self.counted).as_secs_f64() * budget.rate;
        self.resets.earn(earned, budget.burst.into());
        self.counted = now;
        self.resets.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BREAKER: Breaker = Breaker {
        failures: 3,
        pause: Duration::from_secs(1),
        longest: Duration::from_secs(3),
    };
    const BUDGET: ResetBudget = ResetBudget {
        rate: 2.0,
        burst: 3,
    };

    #[test]
    fn a_replica_that_fails_again_and_again_is_left_alone_longer_each_time() {
        let mut now = Instant::now();
        let mut stats = ReplicaStats::new(now, None, BUDGET);
        for _ in 0..2 {
            stats.failed(now, BREAKER);
            assert!(stats.is_open(now));
        }
        for seconds in [1, 2, 3, 3] {
            stats.failed(now, BREAKER);
            let pause = Duration::from_secs(seconds);
            assert!(!stats.is_open(now + pause - Duration::from_millis(1)));
            now += pause;
            assert!(stats.is_open(now));
            // One request at a time tests the replica.
            stats.in_flight = 1;
            assert!(!stats.is_open(now));
            stats.in_flight = 0;
        }
        stats.answered(Duration::from_millis(5));
        stats.failed(now, BREAKER);
        assert!(stats.is_open(now));
    }

    #[test]
    fn resets_come_back_at_their_rate_up_to_a_burst() {
        let mut now = Instant::now();
        let mut stats = ReplicaStats::new(now, None, BUDGET);
        let spend = |stats: &mut ReplicaStats, now| {
            (0..10).filter(|_| stats.may_reset(now, BUDGET)).count()
        };
        assert_eq!(spend(&mut stats, now), 3);
        now += Duration::from_secs(1);
        assert_eq!(spend(&mut stats, now), 2);
        now += Duration::from_secs(60);
        assert_eq!(spend(&mut stats, now), 3);
    }

    #[test]
    fn the_replica_with_the_longer_queue_or_the_slower_answers_has_the_higher_load() {
        let now = Instant::now();
        let mut fast = ReplicaStats::new(now, None, BUDGET);
        let mut slow = fast.clone();
        fast.answered(Duration::from_millis(10));
        slow.answered(Duration::from_millis(30));
        assert!(fast.is_lighter_than(&slow) && !slow.is_lighter_than(&fast));
        fast.in_flight = 5;
        assert!(slow.is_lighter_than(&fast) && !fast.is_lighter_than(&slow));
    }

    #[test]
    fn a_replica_that_has_not_answered_is_tried_beside_one_that_answers_at_once() {
        let now = Instant::now();
        let mut known = ReplicaStats::new(now, None, BUDGET);
        let mut fresh = known.clone();
        known.answered(Duration::from_micros(1));
        assert!(!known.is_lighter_than(&fresh) && !fresh.is_lighter_than(&known));
        known.in_flight = 1;
        assert!(fresh.is_lighter_than(&known));
        // A replica that has not answered yet may never answer.
        fresh.in_flight = 2;
        assert!(known.is_lighter_than(&fresh));
    }
}
