//! Token bucket: it limits the rate of an event, and allows a burst after a pause.

use crate::{Duration, Time};

/// Token bucket. Time or events add tokens, up to a limit that the caller passes with each addition.
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

    /// Returns the tokens in the bucket. The number is negative if more tokens were spent than the bucket had.
    pub const fn tokens(&self) -> f64 {
        self.tokens
    }

    /// Adds `tokens`. Tokens above `limit` are lost.
    pub fn earn(&mut self, tokens: f64, limit: f64) {
        self.tokens = (self.tokens + tokens).min(limit);
    }

    /// Adds the tokens for the time since the last call, at `rate` tokens per second. Tokens above `limit` are lost.
    pub fn fill(&mut self, now: Time, rate: f64, limit: f64) {
        self.earn(rate * now.since(self.filled_at).as_secs_f64(), limit);
        self.filled_at = self.filled_at.max(now);
    }

    /// Removes `tokens`, even if the bucket has fewer.
    pub fn spend(&mut self, tokens: f64) {
        self.tokens -= tokens;
    }

    /// Removes one token if the bucket has one. Returns whether it had one.
    pub fn take(&mut self) -> bool {
        let holds = self.tokens >= 1.0;
        if holds {
            self.spend(1.0);
        }
        holds
    }

    /// Returns the time at which the bucket will have `tokens` tokens, if it gains `rate` tokens per second.
    /// The time is rounded up to a picosecond.
    pub fn holds_at(&self, tokens: f64, rate: f64) -> Time {
        let wait = (tokens - self.tokens).max(0.0) / rate * 1e12;
        // `f64::ceil` is not available without the standard library.
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
