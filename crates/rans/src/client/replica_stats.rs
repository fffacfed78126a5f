//! Statistics of a replica.

use super::config::{Breaker, ResetBudget};
use crate::rate_limit::RateLimit;
use std::time::Duration;
use tokio::time::Instant;

/// Weight of the latest latency in the average, 0 to 1.
/// With a smaller weight, the client notices later that a replica has become slow.
/// With a larger weight, a single slow request moves many requests to other replicas.
const WEIGHT: f64 = 0.2;

/// Requests of the client for each replica after which an old value counts half. Chosen, not measured.
/// The number counts requests and not seconds, so the share of requests that test a slow replica is the same at each
/// rate. With two replicas, one of which is 16 times slower, it is one request in 256.
const HALVING: f64 = 32.0;

/// Smallest share of good answers that counts. A replica without good answers looks this number of times slower.
const LEAST_GOODNESS: f64 = 1.0 / 64.0;

/// Clock of the statistics: the number of requests that the client has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub requests: u64,
    pub replicas: usize,
}

impl Clock {
    /// Returns the remaining weight of a value since `then`: 1 at first, and half after each time of [`HALVING`].
    fn fading(self, then: u64) -> f64 {
        let since = self.requests.saturating_sub(then) as f64;
        (-since / (HALVING * self.replicas.max(1) as f64)).exp2()
    }
}

#[derive(Clone, Debug)]
pub(super) struct ReplicaStats {
    /// Copies in flight.
    pub in_flight: u32,
    /// Whether the replica purges. `None`: unknown.
    pub purges: Option<bool>,
    /// Whether the latest answer came through a guard. A guard runs low-priority work after high-priority work.
    /// `None`: the replica has not answered yet.
    pub has_guard: Option<bool>,
    /// Whether the user considers the replica healthy.
    pub is_healthy: bool,
    /// Average latency of good answers in seconds.
    latency: Option<f64>,
    /// Average share of good answers, 0 to 1.
    goodness: f64,
    /// Number of requests that the client had begun at the latest answer.
    answered_at: u64,
    /// Number of requests that the client had begun when it sent the latest request to this replica.
    sent_at: u64,
    failures: u32,
    pause: Duration,
    paused_until: Option<Instant>,
    resets: RateLimit,
}

impl ReplicaStats {
    pub fn new(now: Instant, purges: Option<bool>, budget: ResetBudget) -> Self {
        Self {
            in_flight: 0,
            purges,
            has_guard: None,
            is_healthy: true,
            latency: None,
            goodness: 1.0,
            answered_at: 0,
            sent_at: 0,
            failures: 0,
            pause: Duration::ZERO,
            paused_until: None,
            resets: RateLimit::new(now, budget.burst.into()),
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

    /// Returns whether this replica will probably give a good answer earlier than `other`.
    /// A replica that has not answered yet counts as equally fast.
    /// Such a replica is tried, but it never has more requests in flight than the other replica.
    ///
    /// The load of a replica that gets no requests falls, so that the replica is tried again.
    /// It falls from the latest request to the replica, and not from its latest answer.
    /// Otherwise a silent replica would get more and more requests.
    pub fn is_lighter_than(&self, other: &Self, clock: Clock) -> bool {
        let load = |one: &Self, two: &Self| {
            // If neither latency is known, only the numbers of copies in flight count.
            let latency = one.latency.or(two.latency).unwrap_or(1.0);
            let goodness = one.goodness.max(LEAST_GOODNESS);
            // The new request counts, too, because it also has to be answered.
            // Otherwise all idle replicas would have a load of 0.
            f64::from(one.in_flight + 1) * latency / goodness * clock.fading(one.sent_at)
        };
        load(self, other) < load(other, self)
    }

    /// Counts a request or copy that is sent to the replica.
    pub fn on_sent(&mut self, requests: u64) {
        self.in_flight += 1;
        self.sent_at = requests;
    }

    /// Records a good answer.
    pub fn answered(&mut self, latency: Duration, clock: Clock) {
        let latest = latency.as_secs_f64();
        let average = self.latency.unwrap_or(latest);
        let weight = self.weight(clock);
        self.latency = Some(average + weight * (latest - average));
        self.goodness += weight * (1.0 - self.goodness);
        self.answered_at = clock.requests;
        (self.failures, self.pause, self.paused_until) = (0, Duration::ZERO, None);
    }

    /// Records an answer that is not good, from a replica that works.
    /// Its latency does not count, because a refusal is often quicker than a good answer.
    pub fn answered_badly(&mut self, clock: Clock) {
        self.goodness -= self.weight(clock) * self.goodness;
        self.answered_at = clock.requests;
        (self.failures, self.pause, self.paused_until) = (0, Duration::ZERO, None);
    }

    /// Returns the weight of the latest answer. The older the average, the more the latest answer counts.
    fn weight(&self, clock: Clock) -> f64 {
        1.0 - (1.0 - WEIGHT) * clock.fading(self.answered_at)
    }

    /// Records a failure of the replica.
    pub fn failed(&mut self, now: Instant, breaker: Breaker, clock: Clock) {
        self.goodness -= self.weight(clock) * self.goodness;
        self.answered_at = clock.requests;
        self.failures += 1;
        if self.failures >= breaker.failures {
            // `pause` is 0 before the first failure. The lower bound makes the first pause `breaker.pause`.
            let pause = (self.pause * 2).clamp(breaker.pause, breaker.longest);
            (self.pause, self.paused_until) = (pause, Some(now + pause));
        }
    }

    /// Takes one reset from the budget. Returns `false` if the budget is used up.
    pub fn may_reset(&mut self, now: Instant, budget: ResetBudget) -> bool {
        self.resets.take(now, budget.rate, budget.burst.into())
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
    const CLOCK: Clock = Clock {
        requests: 0,
        replicas: 2,
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
            stats.failed(now, BREAKER, CLOCK);
            assert!(stats.is_open(now));
        }
        for seconds in [1, 2, 3, 3] {
            stats.failed(now, BREAKER, CLOCK);
            let pause = Duration::from_secs(seconds);
            assert!(!stats.is_open(now + pause - Duration::from_millis(1)));
            now += pause;
            assert!(stats.is_open(now));
            // One request at a time tests the replica.
            stats.in_flight = 1;
            assert!(!stats.is_open(now));
            stats.in_flight = 0;
        }
        stats.answered(Duration::from_millis(5), CLOCK);
        stats.failed(now, BREAKER, CLOCK);
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
        fast.answered(Duration::from_millis(10), CLOCK);
        slow.answered(Duration::from_millis(30), CLOCK);
        assert!(fast.is_lighter_than(&slow, CLOCK) && !slow.is_lighter_than(&fast, CLOCK));
        fast.in_flight = 5;
        assert!(slow.is_lighter_than(&fast, CLOCK) && !fast.is_lighter_than(&slow, CLOCK));
    }

    #[test]
    fn a_replica_that_has_not_answered_is_tried_beside_one_that_answers_at_once() {
        let now = Instant::now();
        let mut known = ReplicaStats::new(now, None, BUDGET);
        let mut fresh = known.clone();
        known.answered(Duration::from_micros(1), CLOCK);
        assert!(!known.is_lighter_than(&fresh, CLOCK) && !fresh.is_lighter_than(&known, CLOCK));
        known.in_flight = 1;
        assert!(fresh.is_lighter_than(&known, CLOCK));
        // A replica that has not answered yet may never answer.
        fresh.in_flight = 2;
        assert!(known.is_lighter_than(&fresh, CLOCK));
    }

    /// Sends requests to the lighter of two replicas, one after the other. Returns the numbers of both.
    fn run(replicas: &mut [ReplicaStats; 2], requests: u64, latencies: [Duration; 2]) -> [u64; 2] {
        let mut sent = [0; 2];
        let first = replicas.iter().map(|stats| stats.sent_at).max();
        for number in 1..=requests {
            let clock = Clock {
                requests: first.unwrap_or(0) + number,
                replicas: 2,
            };
            let [one, other] = &*replicas;
            let index = usize::from(other.is_lighter_than(one, clock));
            replicas[index].on_sent(clock.requests);
            replicas[index].in_flight -= 1;
            replicas[index].answered(latencies[index], clock);
            sent[index] += 1;
        }
        sent
    }

    #[test]
    fn a_replica_that_was_slow_is_tried_again_and_one_that_stays_slow_rarely() {
        let now = Instant::now();
        let mut replicas = [(); 2].map(|()| ReplicaStats::new(now, None, BUDGET));
        let [fast, slow] = [20, 300].map(Duration::from_millis);
        let [_, to_slow] = run(&mut replicas, 10_000, [fast, slow]);
        assert!((20..=60).contains(&to_slow), "{to_slow}");
        // The slow replica becomes the faster one.
        let [_, to_other] = run(&mut replicas, 600, [fast, Duration::from_millis(1)]);
        assert!(to_other > 300, "{to_other}");
    }

    #[test]
    fn a_replica_that_refuses_quickly_looks_slower_and_not_faster() {
        let mut clock = CLOCK;
        let now = Instant::now();
        let [mut good, mut quick] = [(); 2].map(|()| ReplicaStats::new(now, None, BUDGET));
        for stats in [&mut good, &mut quick] {
            stats.answered(Duration::from_millis(20), clock);
        }
        for _ in 0..10 {
            clock.requests += 1;
            quick.answered_badly(clock);
        }
        (good.sent_at, quick.sent_at) = (clock.requests, clock.requests);
        good.in_flight = 5;
        assert!(good.is_lighter_than(&quick, clock));
    }

    #[test]
    fn a_silent_replica_gets_no_more_requests_while_it_is_silent() {
        let now = Instant::now();
        let [mut silent, mut busy] = [(); 2].map(|()| ReplicaStats::new(now, None, BUDGET));
        for stats in [&mut silent, &mut busy] {
            stats.answered(Duration::from_millis(20), CLOCK);
        }
        let mut sent = 0;
        for requests in 1..=10_000 {
            let clock = Clock {
                requests,
                replicas: 2,
            };
            match silent.is_lighter_than(&busy, clock) {
                true => {
                    silent.on_sent(requests);
                    sent += 1;
                }
                false => {
                    busy.on_sent(requests);
                    busy.in_flight = 0;
                    busy.answered(Duration::from_millis(20), clock);
                }
            }
        }
        assert!(sent < 60, "{sent}");
    }
}
