//! The retransmission timer's value: RFC 6298, section 2.
//!
//! Deviation: the clock granularity G is one picosecond, so `max(G, 4 RTTVAR)` is `4 RTTVAR`.

use tailcut_units::Duration;

/// Smoothed round-trip time, its variation and the retransmission timeout that follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    smoothed: Duration,
    variation: Duration,
    rto: Duration,
}

impl RttEstimator {
    /// No sample yet (2.1): the timeout is `initial`.
    pub(crate) fn new(initial: Duration) -> Self {
        Self {
            smoothed: Duration::ZERO,
            variation: Duration::ZERO,
            rto: initial,
        }
    }

    /// A round trip of a segment that was sent once (2.2, 2.3; Karn's rule is the caller's).
    /// Ends a back-off.
    pub(crate) fn on_sample(&mut self, sample: Duration, min: Duration, max: Duration) {
        if self.smoothed == Duration::ZERO {
            self.smoothed = sample;
            self.variation = sample / 2;
        } else {
            let (s, r) = (self.smoothed.as_ps(), sample.as_ps());
            let v = self.variation.as_ps();
            self.variation = Duration::from_ps(v - v / 4 + s.abs_diff(r) / 4);
            self.smoothed = Duration::from_ps(s - s / 8 + r / 8);
        }
        let rto = self.smoothed + self.variation.saturating_mul(4);
        self.rto = rto.max(min).min(max);
    }

    /// The timer expired (5.5): twice as long next time, up to `max`.
    pub(crate) fn back_off(&mut self, max: Duration) {
        self.rto = self.rto.saturating_mul(2).min(max);
    }

    /// The retransmission timeout in force.
    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    /// The smoothed round-trip time; zero before the first sample.
    pub(crate) fn smoothed(&self) -> Duration {
        self.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Duration = Duration::from_ms(1);
    const MAX: Duration = Duration::from_ms(60_000);

    #[test]
    fn first_sample_sets_srtt_to_it_and_variation_to_half_of_it() {
        let mut rtt = RttEstimator::new(Duration::from_ms(1_000));
        assert_eq!(rtt.rto(), Duration::from_ms(1_000));
        rtt.on_sample(Duration::from_ms(8), MIN, MAX);
        assert_eq!(rtt.smoothed(), Duration::from_ms(8));
        assert_eq!(rtt.rto(), Duration::from_ms(8 + 4 * 4));
    }

    #[test]
    fn later_samples_move_by_an_eighth_and_a_quarter() {
        let mut rtt = RttEstimator::new(Duration::from_ms(1_000));
        rtt.on_sample(Duration::from_ms(8), MIN, MAX);
        rtt.on_sample(Duration::from_ms(16), MIN, MAX);
        // RTTVAR = 3/4 * 4 + 1/4 * |8 - 16| = 5; SRTT = 7/8 * 8 + 1/8 * 16 = 9.
        assert_eq!(rtt.smoothed(), Duration::from_ms(9));
        assert_eq!(rtt.rto(), Duration::from_ms(9 + 20));
    }

    #[test]
    fn timeout_is_kept_between_its_bounds() {
        let mut rtt = RttEstimator::new(Duration::from_ms(1_000));
        for _ in 0..100 {
            rtt.on_sample(Duration::from_us(10), MIN, MAX);
        }
        assert_eq!(rtt.rto(), MIN);
        for _ in 0..20 {
            rtt.back_off(MAX);
        }
        assert_eq!(rtt.rto(), MAX);
    }

    #[test]
    fn back_off_doubles_until_a_sample_ends_it() {
        let mut rtt = RttEstimator::new(Duration::from_ms(1_000));
        rtt.back_off(MAX);
        rtt.back_off(MAX);
        assert_eq!(rtt.rto(), Duration::from_ms(4_000));
        rtt.on_sample(Duration::from_ms(8), MIN, MAX);
        assert_eq!(rtt.rto(), Duration::from_ms(24));
    }
}
