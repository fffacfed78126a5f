//! Retransmission timeout: RFC 6298, section 2.

use super::config::TcpConfig;
use tailcut_units::Duration;

/// Smoothed round-trip time, its variation, and the retransmission timeout that is computed from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    smoothed: Duration,
    variation: Duration,
    rto: Duration,
}

impl RttEstimator {
    /// Creates an estimator without a sample (2.1): the timeout is `initial`.
    pub(crate) fn new(initial: Duration) -> Self {
        Self {
            smoothed: Duration::ZERO,
            variation: Duration::ZERO,
            rto: initial,
        }
    }

    /// Adds the round-trip time of a segment that was sent once, and ends a back-off (2.2 and 2.3).
    /// The caller applies Karn's algorithm.
    pub(crate) fn on_sample(&mut self, sample: Duration, config: &TcpConfig) {
        let bounds = config.min_rto..=config.max_rto;
        let granularity = if config.min_rto_above_srtt {
            config.min_rto
        } else {
            config.clock_granularity
        };
        self.on_sample_within(sample, granularity, bounds);
    }

    /// Adds a sample like `on_sample`, with the clock granularity and the bounds of the timeout as arguments.
    pub(crate) fn on_sample_within(
        &mut self,
        sample: Duration,
        granularity: Duration,
        bounds: core::ops::RangeInclusive<Duration>,
    ) {
        if self.smoothed == Duration::ZERO {
            self.smoothed = sample;
            self.variation = sample / 2;
        } else {
            let (s, r) = (self.smoothed.as_ps(), sample.as_ps());
            // The variation is updated first, because it needs the old smoothed value (2.3).
            let v = self.variation.as_ps();
            self.variation = Duration::from_ps(v - v / 4 + s.abs_diff(r) / 4);
            self.smoothed = Duration::from_ps(s - s / 8 + r / 8);
        }
        let margin = self.variation.saturating_mul(4).max(granularity);
        let rto = self.smoothed + margin;
        self.rto = rto.max(*bounds.start()).min(*bounds.end());
    }

    /// Doubles the timeout up to `max`, after the timer expired (5.5).
    pub(crate) fn back_off(&mut self, max: Duration) {
        self.rto = self.rto.saturating_mul(2).min(max);
    }

    /// Returns the current retransmission timeout.
    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    /// Returns the time from an ACK to the probe of TLP while more than one segment is in flight (RFC 8985, 7.2).
    /// The margin of two ticks corresponds to the rounding of Linux.
    pub(crate) fn probe_timeout(&self, config: &TcpConfig) -> Duration {
        self.probe_timeout_with(config.tick.saturating_mul(2))
    }

    /// Returns the probe timeout with this margin above two round-trip times.
    pub(crate) fn probe_timeout_with(&self, margin: Duration) -> Duration {
        if self.smoothed == Duration::ZERO {
            return self.rto;
        }
        (self.smoothed.saturating_mul(2) + margin).min(self.rto)
    }

    /// Returns the smoothed round-trip time; zero before the first sample.
    pub(crate) fn smoothed(&self) -> Duration {
        self.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> TcpConfig {
        TcpConfig {
            min_rto: Duration::from_ms(1),
            clock_granularity: Duration::from_us(100),
            ..TcpConfig::default()
        }
    }

    #[test]
    fn first_sample_sets_srtt_to_it_and_variation_to_half_of_it() {
        let mut rtt = RttEstimator::new(Duration::from_ms(1_000));
        assert_eq!(rtt.rto(), Duration::from_ms(1_000));
        rtt.on_sample(Duration::from_ms(8), &config());
        assert_eq!(rtt.smoothed(), Duration::from_ms(8));
        assert_eq!(rtt.rto(), Duration::from_ms(8 + 4 * 4));
    }

    #[test]
    fn later_samples_move_by_an_eighth_and_a_quarter() {
        let mut rtt = RttEstimator::new(Duration::from_ms(1_000));
        rtt.on_sample(Duration::from_ms(8), &config());
        rtt.on_sample(Duration::from_ms(16), &config());
        // RTTVAR = 3/4 * 4 + 1/4 * |8 - 16| = 5; SRTT = 7/8 * 8 + 1/8 * 16 = 9.
        assert_eq!(rtt.smoothed(), Duration::from_ms(9));
        assert_eq!(rtt.rto(), Duration::from_ms(9 + 20));
    }

    #[test]
    fn timeout_is_kept_between_its_bounds() {
        let mut rtt = RttEstimator::new(Duration::from_ms(1_000));
        for _ in 0..100 {
            rtt.on_sample(Duration::from_us(10), &config());
        }
        assert_eq!(rtt.rto(), config().min_rto);
        for _ in 0..20 {
            rtt.back_off(config().max_rto);
        }
        assert_eq!(rtt.rto(), config().max_rto);
    }

    #[test]
    fn back_off_doubles_until_a_sample_ends_it() {
        let mut rtt = RttEstimator::new(Duration::from_ms(1_000));
        rtt.back_off(config().max_rto);
        rtt.back_off(config().max_rto);
        assert_eq!(rtt.rto(), Duration::from_ms(4_000));
        rtt.on_sample(Duration::from_ms(8), &config());
        assert_eq!(rtt.rto(), Duration::from_ms(24));
    }

    #[test]
    fn a_steady_round_trip_keeps_a_margin_of_the_clock_granularity() {
        let mut rtt = RttEstimator::new(Duration::from_ms(1_000));
        for _ in 0..1_000 {
            rtt.on_sample(Duration::from_ms(10), &config());
        }
        let margin = rtt.rto() - Duration::from_ms(10);
        assert_eq!(margin, Duration::from_us(100));
    }
}
