//! Discounting rate estimator (CONGA, SIGCOMM 2014, section 3.2): a counter that grows by the bytes sent, and
//! shrinks by a factor at fixed intervals. So it follows the rate of the last few intervals without a window
//! of samples.
//!
//! Deviations: the counter shrinks at its next use, once for each interval that has passed. The result is the
//! same, and no timer is needed.

use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::parameter::Values;
use tailcut_units::{Duration, Rate, Time};

/// Parameters of the rate estimators and of the levels that they give.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DreConfig {
    /// T: time between two reductions, at least a picosecond.
    pub interval: Duration,
    /// w: share of the counter that remains after each reduction, more than 0 and less than 1. The
    /// estimator's time constant is T / (1 - w).
    pub keep: f64,
    /// Number of levels of a load, 2 to 255. Level l stands for loads of at least l / `levels`, and the
    /// highest level for all higher loads.
    pub levels: u8,
}

impl From<&Values> for DreConfig {
    /// Returns the estimator of a load balancer with the keys `dre_interval`, `dre_keep` and `levels`.
    fn from(values: &Values) -> Self {
        Self {
            interval: values.duration("dre_interval"),
            keep: values.number("dre_keep"),
            levels: values.count("levels") as u8,
        }
    }
}

/// State that all estimators of a network share.
#[derive(Debug)]
pub(crate) struct Gauge {
    config: DreConfig,
    /// Share that remains after 0, 1, 2, ... intervals, down to less than a byte of a full 100 Gb/s link.
    left: Box<[f64]>,
}

/// Share below which the counter counts as zero.
const NOTHING: f64 = 1e-9;
/// Largest number of entries of the table of shares.
const MOST_INTERVALS: usize = 4_096;

impl Gauge {
    pub fn new(config: DreConfig) -> Self {
        let mut left = Vec::from([1.0]);
        // The second limit bounds the table if `keep` is close to 1. An older counter then counts as zero.
        while let Some(&last) = left.last()
            && last > NOTHING
            && left.len() < MOST_INTERVALS
        {
            left.push(last * config.keep);
        }
        Self {
            config,
            left: left.into(),
        }
    }

    /// Returns the limit of the counter of a fully loaded link with this rate: the bytes of T / (1 - w).
    pub fn full(&self, rate: Rate) -> f64 {
        let bytes_per_interval =
            rate.as_bps() as f64 / 8.0 * self.config.interval.as_ps() as f64 / 1e12;
        bytes_per_interval / (1.0 - self.config.keep)
    }

    /// Returns the interval that contains a time.
    const fn interval(&self, now: Time) -> u64 {
        now.as_ps() / self.config.interval.as_ps()
    }
}

/// Estimator of one link.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Dre {
    /// Counter X at the interval `interval`.
    bytes: f64,
    interval: u64,
}

impl Dre {
    /// Adds bytes that are sent.
    #[inline]
    pub fn add(&mut self, gauge: &Gauge, now: Time, bytes: u32) {
        self.bytes = self.bytes(gauge, now) + f64::from(bytes);
        self.interval = gauge.interval(now);
    }

    /// Returns the counter X.
    #[inline]
    pub fn bytes(&self, gauge: &Gauge, now: Time) -> f64 {
        let passed = gauge.interval(now).saturating_sub(self.interval);
        let left = usize::try_from(passed).ok().and_then(|n| gauge.left.get(n));
        left.map_or(0.0, |left| self.bytes * left)
    }

    /// Returns the estimated load of a link; `full` is its counter at full load. 1 is the line rate. Packets
    /// count before they queue, so the load can exceed 1.
    #[inline]
    pub fn load(&self, gauge: &Gauge, now: Time, full: f64) -> f64 {
        self.bytes(gauge, now) / full
    }

    /// Returns the load as a level.
    #[inline]
    pub fn level(&self, gauge: &Gauge, now: Time, full: f64) -> u8 {
        let levels = gauge.config.levels;
        // The conversion rounds towards zero and saturates at 255.
        let level = (self.load(gauge, now, full) * f64::from(levels)) as u8;
        level.min(levels - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: DreConfig = DreConfig {
        interval: Duration::from_us(20),
        keep: 0.7,
        levels: 8,
    };

    const fn us(us: u64) -> Time {
        Time::from_ns(1_000 * us)
    }

    #[test]
    fn bytes_at_even_distances_add_up_to_a_geometric_series() {
        let gauge = Gauge::new(CONFIG);
        let mut dre = Dre::default();
        for n in 0..60 {
            dre.add(&gauge, us(20 * n), 1_000);
            let closed_form = 1_000.0 * (1.0 - 0.7f64.powi(n as i32 + 1)) / (1.0 - 0.7);
            let now = us(20 * n + 19);
            assert!((dre.bytes(&gauge, now) - closed_form).abs() < 1e-9 * closed_form);
        }
    }

    #[test]
    fn it_shrinks_by_the_factor_at_each_interval_and_to_nothing_in_the_end() {
        let gauge = Gauge::new(CONFIG);
        let mut dre = Dre::default();
        dre.add(&gauge, us(5), 1_000);
        for (at, intervals) in [(5, 0), (19, 0), (20, 1), (39, 1), (100, 5)] {
            let left = dre.bytes(&gauge, us(at));
            assert!(
                (left - 1_000.0 * 0.7f64.powi(intervals)).abs() < 1e-9,
                "{at} us"
            );
        }
        assert_eq!(dre.bytes(&gauge, us(5_000)), 0.0);
    }

    #[test]
    fn a_link_at_a_fraction_of_its_rate_settles_at_that_load_and_level() {
        let gauge = Gauge::new(CONFIG);
        let rate = Rate::from_gbps(10);
        let full = gauge.full(rate);
        // 25,000 B an interval are 10 Gb/s; the time constant is 66.7 us.
        assert!((full - 25_000.0 / 0.3).abs() < 1e-6);
        for eighths in 0..=12u32 {
            let mut dre = Dre::default();
            let bytes = 25_000 * eighths / 8 + 1;
            for n in 0..80 {
                dre.add(&gauge, us(20 * n), bytes);
            }
            let now = us(20 * 79 + 1);
            let load = f64::from(eighths) / 8.0;
            assert!((dre.load(&gauge, now, full) - load).abs() < 1e-4);
            assert_eq!(dre.level(&gauge, now, full), (eighths as u8).min(7));
        }
    }
}
