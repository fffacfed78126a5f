//! Figures with confidence intervals, and their ratios between two designs.
//!
//! With three seeds or more a figure is the mean over the seeds of each seed's figure, its interval
//! Student's t over the seeds, and a ratio the geometric mean of the seeds' ratios with a paired t
//! over their logarithms: both designs see the same arrivals under one seed. With one or two seeds
//! the flows of all seeds are pooled and the interval comes from a bootstrap over blocks of
//! consecutive flows, the same blocks for both designs of a ratio.

use crate::group::Group;
use crate::sample::{BLOCKS, Metric, Sample, Statistic};
use crate::study::Run;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// From this many seeds on, intervals are over seeds.
pub const SEEDS_FOR_T: usize = 3;

/// Resamples of a bootstrap: the ends of a 95 % interval are then the 12th value from either side.
const RESAMPLES: usize = 500;

/// Where an interval comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Student's t over seeds.
    Seeds,
    /// Bootstrap over blocks of consecutive flows within the seeds.
    Blocks,
}

/// A figure with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The figure; infinite where a percentile falls among unfinished flows.
    pub value: f64,
    /// The interval, where there are enough flows for one.
    pub interval: Option<(f64, f64)>,
    /// Where the interval comes from.
    pub basis: Basis,
    /// Too few flows for this percentile: nothing bounds it from above.
    pub thin: bool,
}

/// A design's figures over another's: under 1 is faster.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// Its 95 % confidence interval, where there is one.
    pub interval: Option<(f64, f64)>,
    /// Where the interval comes from.
    pub basis: Basis,
}

impl Ratio {
    /// Whether the interval leaves out 1.
    pub fn is_significant(&self) -> bool {
        self.interval
            .is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

/// One group's flows in the runs of one design and setting.
pub(crate) struct Measured {
    pooled: Sample,
    /// The seeds of the runs.
    seeds: Vec<u64>,
    /// A sample a seed where there are enough seeds for intervals over them, else none.
    by_seed: Vec<Sample>,
    /// Resampled figures in the order of [`Statistic::ALL`] where intervals are not over seeds.
    replicates: Vec<[f64; 4]>,
}

impl Measured {
    pub fn new(runs: &[&Run], group: &Group, metric: Metric) -> Self {
        let pooled = Sample::of(runs, group, metric);
        let (mut by_seed, mut replicates) = (Vec::new(), Vec::new());
        if runs.len() >= SEEDS_FOR_T {
            by_seed.extend(runs.iter().map(|run| Sample::of(&[run], group, metric)));
        } else if pooled.len() > 0 {
            let resamples = resamples(runs.len());
            replicates.extend(resamples.iter().map(|weights| pooled.resampled(weights)));
        }
        Self {
            pooled,
            seeds: runs.iter().map(|run| run.summary.key.seed).collect(),
            by_seed,
            replicates,
        }
    }

    /// All flows of all seeds.
    pub fn pooled(&self) -> &Sample {
        &self.pooled
    }

    /// The figure with its interval; `None` without flows.
    pub fn estimate(&self, statistic: Statistic) -> Option<Estimate> {
        let thin = self.is_thin(statistic);
        let (value, interval, basis) = if self.by_seed.is_empty() {
            let value = self.pooled.statistic(statistic)?;
            let interval = percentile_interval(self.replicates(statistic));
            (value, interval, Basis::Blocks)
        } else {
            let figures: Vec<f64> = self.figures(statistic).collect();
            let (value, interval) = t_interval(&figures)?;
            // No completion time is below zero, whatever the symmetric interval says.
            let interval = interval.map(|(low, high)| (low.max(0.0), high));
            (value, interval, Basis::Seeds)
        };
        Some(Estimate {
            value,
            interval: interval.filter(|_| !thin && value.is_finite()),
            basis,
            thin,
        })
    }

    /// This design's figure over `base`'s; `None` where either has none, an infinite one, or too few
    /// flows for it. Without an interval where the two have not run the same seeds.
    pub fn ratio(&self, base: &Self, statistic: Statistic) -> Option<Ratio> {
        if self.is_thin(statistic) || base.is_thin(statistic) {
            return None;
        }
        let paired = self.seeds == base.seeds;
        let (value, interval, basis) = if paired && !self.by_seed.is_empty() {
            let logs: Vec<f64> = self
                .figures(statistic)
                .zip(base.figures(statistic))
                .map(|(ours, theirs)| (ours / theirs).ln())
                .collect();
            let (mean, interval) = t_interval(&logs)?;
            let interval = interval.map(|(low, high)| (low.exp(), high.exp()));
            (mean.exp(), interval, Basis::Seeds)
        } else {
            let value = self.pooled.statistic(statistic)? / base.pooled.statistic(statistic)?;
            let ratios = self
                .replicates(statistic)
                .zip(base.replicates(statistic))
                .map(|(ours, theirs)| ours / theirs);
            let interval = paired.then(|| percentile_interval(ratios)).flatten();
            (value, interval, Basis::Blocks)
        };
        (value.is_finite() && value > 0.0).then_some(Ratio {
            value,
            interval,
            basis,
        })
    }

    /// Each seed's figure.
    fn figures(&self, statistic: Statistic) -> impl Iterator<Item = f64> + '_ {
        let figure = move |sample: &Sample| sample.statistic(statistic).unwrap_or(f64::NAN);
        self.by_seed.iter().map(figure)
    }

    fn replicates(&self, statistic: Statistic) -> impl Iterator<Item = f64> + '_ {
        self.replicates
            .iter()
            .map(move |figures| figures[statistic as usize])
    }

    /// Whether there are too few flows for an upper bound of the percentile: the largest of all `n`
    /// exceeds it with less than 97.5 %, which is to say `p^n > 0.025`; or not one flow of some seed
    /// is above it.
    fn is_thin(&self, statistic: Statistic) -> bool {
        let Some(p) = statistic.quantile() else {
            return false;
        };
        let smallest = self.by_seed.iter().map(Sample::len).min();
        let smallest = smallest.unwrap_or(self.pooled.len()) as f64;
        // 1e-9: 1,000 flows are enough for the 99.9th percentile, whatever 1 - 0.999 rounds to.
        let none_above = smallest * (1.0 - p) + 1e-9 < 1.0;
        none_above || p.powf(self.pooled.len() as f64) > 0.025
    }
}

/// Mean and Student's t interval; the interval is `None` for a single value or an infinite mean.
/// `None` without values or with one that is not a number.
pub fn t_interval(values: &[f64]) -> Option<(f64, Option<(f64, f64)>)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.is_empty() || mean.is_nan() {
        return None;
    }
    if values.len() < 2 || mean.is_infinite() {
        return Some((mean, None));
    }
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.975);
    let half = t * (variance / n).sqrt();
    Some((mean, Some((mean - half, mean + half))))
}

/// The middle 95 % of resampled figures; `None` where an end of it is unknown or infinite.
fn percentile_interval(figures: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut figures: Vec<f64> = figures.filter(|figure| !figure.is_nan()).collect();
    if figures.len() < RESAMPLES / 2 {
        return None;
    }
    figures.sort_unstable_by(f64::total_cmp);
    let cut = figures.len() * 25 / 1_000;
    let (low, high) = (figures[cut], figures[figures.len() - 1 - cut]);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// How often each block occurs in each resample, drawn within each of `runs` runs. Always the same
/// for the same number of runs, so that two designs are resampled alike and a report is
/// reproducible.
fn resamples(runs: usize) -> Vec<Vec<u16>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0x7461_696c_6375_7400);
    (0..RESAMPLES)
        .map(|_| {
            let mut weights = vec![0u16; runs * BLOCKS];
            for run in weights.chunks_mut(BLOCKS) {
                for _ in 0..BLOCKS {
                    let pick = (u64::from(random.next_u32()) * BLOCKS as u64) >> 32;
                    run[pick as usize] += 1;
                }
            }
            weights
        })
        .collect()
}
