//! Limit of a rate, by the clock of the program.

use tailcut_units::TokenBucket;
use tokio::time::Instant;

/// Token bucket that time fills.
///
/// The bucket has the time of its latest use, and no time since a common start.
/// Times of [`tailcut_units`] end after 213 days, and a program can run for longer.
#[derive(Clone, Debug)]
pub(crate) struct RateLimit {
    tokens: TokenBucket,
    used: Instant,
}

impl RateLimit {
    /// Returns a full bucket.
    pub fn new(now: Instant, burst: f64) -> Self {
        Self {
            tokens: TokenBucket::new(burst),
            used: now,
        }
    }

    /// Takes one token. Returns `false` if the bucket has none.
    /// The bucket gains `rate` tokens per second, and contains at most `burst` tokens.
    pub fn take(&mut self, now: Instant, rate: f64, burst: f64) -> bool {
        let since = now.saturating_duration_since(self.used).as_secs_f64();
        self.tokens.earn(since * rate, burst);
        self.used = now;
        self.tokens.take()
    }
}
