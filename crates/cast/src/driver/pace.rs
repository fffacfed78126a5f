//! Rate limit of sent bytes: a token bucket.

use tailcut_units::{Duration, Time, TokenBucket};

/// Size of the bucket, as the time to send its bytes at the full rate.
/// After a pause, these bytes may be sent without a delay.
/// With a smaller bucket, a thread that wakes up late loses a part of the rate.
/// With a larger bucket, longer bursts fill the queues of the path.
const BURST: Duration = Duration::from_ms(10);

/// Rate limit of sent bytes. The limit is optional.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Bytes per second. `None`: no limit.
    rate: Option<f64>,
    /// Number of bytes that are counted for each datagram: the size of the largest datagram.
    datagram: f64,
    /// Size of the bucket: the number of bytes that may be sent together after a pause.
    burst: f64,
    bytes: TokenBucket,
}

impl Pace {
    /// Creates a limit of `rate` bytes per second, for datagrams of at most `datagram` bytes.
    pub(super) fn new(rate: Option<u64>, datagram: u32) -> Self {
        // With a rate of 0, no datagram could ever be sent. So the rate is at least 1.
        let rate = rate.map(|rate| rate.max(1) as f64);
        let datagram = f64::from(datagram.max(1));
        // The bucket must be large enough for one datagram. Otherwise no datagram could ever be sent.
        let burst = (rate.unwrap_or(0.0) * BURST.as_secs_f64()).max(datagram);
        Self {
            rate,
            datagram,
            burst,
            bytes: TokenBucket::new(burst),
        }
    }

    /// Returns the number of datagrams that may be sent now, at most `most`.
    pub(super) fn allowed(&mut self, now: Time, most: usize) -> usize {
        let Some(rate) = self.rate else { return most };
        self.bytes.fill(now, rate, self.burst);
        // The number of tokens may be negative.
        // One segment may go to several receivers, so more datagrams than allowed may be sent.
        ((self.bytes.tokens() / self.datagram).max(0.0) as usize).min(most)
    }

    /// Takes the bytes of sent datagrams from the bucket.
    pub(super) fn spend(&mut self, datagrams: u64) {
        if self.rate.is_some() {
            // Each datagram counts with the largest size. So the sent bytes never exceed the limit.
            self.bytes.spend(datagrams as f64 * self.datagram);
        }
    }

    /// Returns the time at which the next datagram may be sent, or `None` if it may be sent now.
    pub(super) fn opens_at(&self) -> Option<Time> {
        let rate = self.rate.filter(|_| self.bytes.tokens() < self.datagram)?;
        let opens_at = self.bytes.holds_at(self.datagram, rate);
        // The added microsecond covers rounding errors. So the datagram may be sent at the returned time.
        Some(opens_at.saturating_add(Duration::from_us(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_leaves_than_the_rate_allows_and_it_leaves_in_time() {
        let mut pace = Pace::new(Some(1_000_000), 1_000);
        let (mut now, mut left) = (Time::ZERO, 0);
        let end = Time::ZERO.saturating_add(Duration::from_ms(1_000));
        while now < end {
            let allowed = pace.allowed(now, 512);
            pace.spend(allowed as u64);
            left += allowed;
            now = pace.opens_at().expect("a limit");
        }
        assert!((990..=1_012).contains(&left), "{left}");
    }

    #[test]
    fn without_a_limit_everything_leaves() {
        let mut pace = Pace::new(None, 1_000);
        assert_eq!(pace.allowed(Time::ZERO, 512), 512);
        pace.spend(512);
        assert_eq!((pace.allowed(Time::ZERO, 9), pace.opens_at()), (9, None));
    }
}
