//! Discounting rate estimator (CONGA, SIGCOMM 2014, section 3.2).
//! A counter grows by the bytes sent, and is multiplied by a factor below 1 at fixed intervals.
//! The counter therefore follows the rate of the last few intervals, and need not store samples.
//!
//! Deviations: the counter is not reduced by a timer.
//! At its next use, it is reduced once for each interval that has passed. The result is the same.

use alloc::boxed::Box;
use alloc::vec::Vec;
use tailcut_units::parameter::Values;
use tailcut_units::{Duration, Rate, Time};

/// Parameters of the rate estimators, and of the levels into which loads are divided.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DreConfig {
    /// Time T between two reductions of the counter, at least a picosecond.
    pub interval: Duration,
    /// Share w of the counter that remains after a reduction, more than 0 and less than 1.
    /// The time constant of the estimator is T / (1 - w).
    pub keep: f64,
    /// Number of levels of a load, 2 to 255. A load of at least l / `levels` has level l.
    /// All higher loads have the highest level.
    pub levels: u8,
}

impl From<&Values> for DreConfig {
    /// Returns the parameters from the keys `dre_interval`, `dre_keep` and `levels` of a load balancer.
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
    /// Share of the counter that remains after 0, 1, 2, ... intervals.
    /// The table ends where less than one byte remains of the counter of a full 100 Gb/s link.
    left: Box<[f64]>,
}

/// Share below which the counter is treated as zero.
const NOTHING: f64 = 1e-9;
/// Largest number of entries in the table of remaining shares.
const MOST_INTERVALS: usize = 4_096;

impl Gauge {
    pub fn new(config: DreConfig) -> Self {
        let mut left = Vec::from([1.0]);
        // If `keep` is close to 1, the second limit ends the table early.
        // A counter that is older than the table is then treated as zero.
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

    /// Returns the counter of a fully loaded link: the bytes that it sends in the time constant, T / (1 - w).
    pub fn full(&self, rate: Rate) -> f64 {
        let bytes_per_interval =
            rate.as_bps() as f64 / 8.0 * self.config.interval.as_ps() as f64 / 1e12;
        bytes_per_interval / (1.0 - self.config.keep)
    }

    /// Returns the number of the interval that contains a time.
    const fn interval(&self, now: Time) -> u64 {
        now.as_ps() / self.config.interval.as_ps()
    }
}

/// Rate estimator of one link.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Dre {
    /// Value of the counter X in the interval `interval`.
    bytes: f64,
    interval: u64,
}

impl Dre {
    /// Adds the bytes of a packet that is sent at `now`.
    #[inline]
    pub fn add(&mut self, gauge: &Gauge, now: Time, bytes: u32) {
        self.bytes = self.bytes(gauge, now) + f64::from(bytes);
        self.interval = gauge.interval(now);
    }

    /// Returns the counter X at `now`.
    #[inline]
    pub fn bytes(&self, gauge: &Gauge, now: Time) -> f64 {
        let passed = gauge.interval(now).saturating_sub(self.interval);
        let left = usize::try_from(passed).ok().and_then(|n| gauge.left.get(n));
        left.map_or(0.0, |left| self.bytes * left)
    }

    /// Returns the estimated load of a link. 1 is the line rate. `full` is the value of the counter at full load.
    /// A packet is counted before it is queued, so the load can exceed 1.
    #[inline]
    pub fn load(&self, gauge: &Gauge, now: Time, full: f64) -> f64 {
        self.bytes(gauge, now) / full
    }

    /// Returns the load of a link as a level.
    #[inline]
    pub fn level(&self, gauge: &Gauge, now: Time, full: f64) -> u8 {
        let levels = gauge.config.levels;
        // The conversion to `u8` rounds down, and gives 255 for all larger numbers.
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
        // 25,000 bytes in an interval are 10 Gb/s. The time constant is 66.7 us.
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
