//! What a client knows of a replica.

use super::config::{Breaker, ResetBudget};
use std::time::Duration;
use tokio::time::Instant;

/// How much the latest latency counts in the average.
const WEIGHT: f64 = 0.2;
/// Of a replica that has not answered yet, in seconds.
const FIRST_LATENCY: f64 = 1e-3;

#[derive(Clone, Debug)]
pub(super) struct Standing {
    /// Copies on their way.
    pub in_flight: u32,
    /// Whether it purges; `None`: not known.
    pub purges: Option<bool>,
    /// Average latency in seconds.
    latency: Option<f64>,
    failures: u32,
    pause: Duration,
    paused_until: Option<Instant>,
    /// Resets that may still be sent at `counted`.
    resets: f64,
    counted: Instant,
}

impl Standing {
    pub fn new(now: Instant, purges: Option<bool>, budget: ResetBudget) -> Self {
        Self {
            in_flight: 0,
            purges,
            latency: None,
            failures: 0,
            pause: Duration::ZERO,
            paused_until: None,
            resets: budget.burst.into(),
            counted: now,
        }
    }

    /// Whether it may be asked. After a pause one request tries whether it is well again.
    pub fn is_open(&self, now: Instant) -> bool {
        match self.paused_until {
            Some(until) => now >= until && self.in_flight == 0,
            None => true,
        }
    }

    /// How long an answer would take, about: the less, the better.
    pub fn load(&self) -> f64 {
        f64::from(self.in_flight + 1) * self.latency.unwrap_or(FIRST_LATENCY)
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
            let pause = (self.pause * 2).clamp(breaker.pause, breaker.longest);
            (self.pause, self.paused_until) = (pause, Some(now + pause));
        }
    }

    /// Takes a reset from the budget, if there is one.
    pub fn may_reset(&mut self, now: Instant, budget: ResetBudget) -> bool {
        let earned = (now - self.counted).as_secs_f64() * budget.rate;
        self.resets = (self.resets + earned).min(budget.burst.into());
        self.counted = now;
        let may = self.resets >= 1.0;
        self.resets -= f64::from(u8::from(may));
        may
    }
}
