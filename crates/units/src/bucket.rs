//! A token bucket: a limit of what happens in a span, with a burst after a pause.

use crate::{Duration, Time};

/// Tokens that come with time or with events, and are kept up to a limit.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    tokens: f64,
    filled_at: Time,
}

impl TokenBucket {
    /// Returns a bucket that has `tokens` at time 0.
    pub const fn new(tokens: f64) -> Self {
        Self {
            tokens,
            filled_at: Time::ZERO,
        }
    }

    /// Tokens in the bucket. Below 0 after more was spent than was there.
    pub const fn tokens(&self) -> f64 {
        self.tokens
    }

    /// Adds `tokens`; the bucket then has at most `limit`.
    pub fn earn(&mut self, tokens: f64, limit: f64) {
        self.tokens = (self.tokens + tokens).min(limit);
    }

    /// Adds the tokens since the last call, at `rate` tokens a second; the bucket then has at most `limit`.
    pub fn fill(&mut self, now: Time, rate: f64, limit: f64) {
        self.earn(rate * now.since(self.filled_at).as_secs_f64(), limit);
        self.filled_at = self.filled_at.max(now);
    }

    /// Takes `tokens` out, even if fewer are there.
    pub fn spend(&mut self, tokens: f64) {
        self.tokens -= tokens;
    }

    /// Takes one token out if there is one. Returns whether there was.
    pub fn take(&mut self) -> bool {
        let holds = self.tokens >= 1.0;
        if holds {
            self.spend(1.0);
        }
        holds
    }

    /// Returns when the bucket has `tokens`, at `rate` tokens a second, rounded up to a picosecond.
    pub fn holds_at(&self, tokens: f64, rate: f64) -> Time {
        let wait = (tokens - self.tokens).max(0.0) / rate * 1e12;
        let whole = wait as u64;
        let wait = whole.saturating_add(u64::from((whole as f64) < wait));
        self.filled_at.saturating_add(Duration::from_ps(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_at_the_rate_and_no_more_than_the_limit_is_kept() {
        let mut bucket = TokenBucket::new(2.0);
        assert!(bucket.take() && bucket.take() && !bucket.take());
        let next = bucket.holds_at(1.0, 3.0);
        assert_eq!(next, Time::from_ps(333_333_333_334));
        bucket.fill(next, 3.0, 2.0);
        assert!(bucket.take() && !bucket.take());
        bucket.fill(next + Duration::from_ms(60_000), 3.0, 2.0);
        assert_eq!(bucket.tokens(), 2.0);
    }
}
