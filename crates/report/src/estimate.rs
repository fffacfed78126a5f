//! Figures with confidence intervals, and ratios of the figures of two designs.
//!
//! A quantile is computed over all flows of all seeds.
//! The intervals of a quantile, and of a ratio of two quantiles, come from resampled seeds ([`crate::resamples`]).
//! Both designs of a ratio use the same resamples. A mean is computed over all finished flows.
//! The interval of a mean is Student's t over the contributions of the seeds.
//! Source: ratio estimator of cluster sampling (W. G. Cochran, Sampling Techniques, 1977, section 6.3).
//! The interval of a share of the flows is computed in the same way.
//! With the same seed, both designs of a ratio have the same arrivals, so ratios are paired by seed.

use crate::gap::Gap;
use crate::resamples::{Resamples, interval, t_quantile};
use crate::sample::{Sample, Statistic};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Minimum number of seeds for intervals of means and shares.
pub const SEEDS_FOR_T: usize = 3;

/// Minimum number of seeds for a quantile. Intervals over fewer seeds do not cover 95 % (docs/validation.md).
pub const SEEDS_FOR_QUANTILES: usize = 6;

/// Minimum number of flows beyond a quantile.
const BEYOND: f64 = 10.0;

/// Figure with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// Value of the figure. The value is infinite if a quantile falls among unfinished flows.
    pub value: f64,
    /// 95 % confidence interval; `None` with too few seeds. The upper end may be infinite.
    pub interval: Option<(f64, f64)>,
    /// Gap of the distribution within the interval of a quantile; `None` without a gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
}

/// Reason why a quantile has no figure, with the number of seeds that would be sufficient.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct TooFew {
    /// Number of seeds for which runs exist.
    pub seeds: usize,
    /// Number of flows beyond the quantile.
    pub beyond: usize,
    /// Number of seeds that would be sufficient, if further seeds have as many flows.
    pub seeds_that_would_do: usize,
}

/// Ratio of a design's figure to the same figure of another design. If the ratio is below 1, the design is faster.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Ratio {
    /// Value of the ratio.
    pub value: f64,
    /// 95 % confidence interval, if there is one.
    pub interval: Option<(f64, f64)>,
    /// Number of seeds from which the ratio is computed.
    pub seeds: usize,
    /// Shares of flows beyond the gap if one of the two quantiles lies on a gap.
    /// Unlike the quantiles, the shares are stable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond_gap: Option<BeyondGap>,
}

/// Shares of the flows of two designs beyond a gap, and the difference of the shares.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BeyondGap {
    /// Value within the gap. Flows with larger values are beyond the gap.
    pub threshold: f64,
    /// Share of this design's flows beyond the gap, with its 95 % confidence interval.
    pub share: Share,
    /// Share of the compared design's flows beyond the gap, with its 95 % confidence interval.
    pub base: Share,
    /// Share of this design minus share of the compared design. The difference is paired by seed.
    pub difference: Share,
}

/// Share of flows, or a difference of two shares, with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Share {
    /// Share, 0 to 1. A difference of two shares may be negative.
    pub value: f64,
    /// 95 % confidence interval; `None` if there are fewer than [`SEEDS_FOR_T`] seeds.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// Returns whether the interval excludes 1.
    pub fn is_significant(&self) -> bool {
        self.interval
            .is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }

    /// Returns the ratio with an interval that holds for `comparisons` ratios together (Bonferroni).
    /// The ratio of the best of several designs needs an interval for several comparisons.
    /// On a logarithmic scale, the interval becomes wider by the ratio of the two quantiles of Student's t.
    pub fn corrected(self, comparisons: usize) -> Self {
        let level = 0.025 / comparisons.max(1) as f64;
        let quantiles = t_quantile(self.seeds, 1.0 - level).zip(t_quantile(self.seeds, 0.975));
        let wider = quantiles.map_or(1.0, |(corrected, single)| corrected / single);
        let widen = |end: f64| self.value * (end / self.value).powf(wider);
        let interval = self.interval.map(|(low, high)| (widen(low), widen(high)));
        Self { interval, ..self }
    }
}

/// Flows of one group in the runs of one design and setting, prepared for estimates.
#[derive(Debug)]
pub struct Measured {
    sample: Sample,
    /// Seeds of the runs, one seed for each run.
    seeds: Vec<u64>,
    /// Whether the seeds gave different runs. If all runs are equal, figures have no interval.
    varies: bool,
    /// Quantiles of all resamples. The key is the bit pattern of the quantile's share.
    /// The quantiles are stored, because an estimate and its ratios use the same quantiles.
    resampled: RefCell<BTreeMap<u64, Rc<[f64]>>>,
}

impl Measured {
    /// Creates the flows from a sample. `seeds` contains the numbers of the seeds in the sample.
    pub fn new(sample: Sample, seeds: Vec<u64>) -> Self {
        Self {
            sample,
            seeds,
            varies: true,
            resampled: RefCell::default(),
        }
    }

    /// Returns the same flows with a new value of `varies`: whether the seeds gave different runs.
    #[must_use]
    pub(crate) fn varying(self, varies: bool) -> Self {
        Self { varies, ..self }
    }

    /// Returns the sample of all flows of all seeds.
    pub fn sample(&self) -> &Sample {
        &self.sample
    }

    /// Returns the number of seeds for which runs exist.
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// Returns the figure with its interval, or the reason why there are too few flows or seeds.
    /// Returns `None` without flows.
    pub fn estimate(&self, statistic: Statistic) -> Option<Result<Estimate, TooFew>> {
        let Statistic::Quantile(p) = statistic else {
            return self.mean().map(Ok);
        };
        let value = self.sample.quantile(p)?;
        if let Some(too_few) = self.too_few(p) {
            return Some(Err(too_few));
        }
        let resampled = || interval(self.seeds.len(), self.resampled(p).to_vec());
        let interval = self.varies.then(resampled).flatten();
        Some(Ok(Estimate {
            value,
            interval,
            gap: interval.and_then(|interval| Gap::within(&self.sample, interval)),
        }))
    }

    /// Returns the figure of this design divided by the figure of `base`.
    /// Returns `None` if one of the designs has no figure, an infinite figure, or too few flows or seeds.
    /// The ratio has no interval if the two designs did not run the same seeds.
    pub fn ratio(&self, base: &Self, statistic: Statistic) -> Option<Ratio> {
        let (ours, theirs) = (
            self.estimate(statistic)?.ok()?,
            base.estimate(statistic)?.ok()?,
        );
        let value = ours.value / theirs.value;
        let paired = self.seeds == base.seeds && (self.varies || base.varies);
        let interval = match statistic {
            _ if !paired => None,
            Statistic::Mean => {
                let of_ours = self.deviations_from_mean(ours.value);
                let of_base = base.deviations_from_mean(theirs.value);
                let pairs = of_ours.iter().zip(&of_base);
                let differences = pairs.map(|(a, b)| a / ours.value - b / theirs.value);
                let half = t_half(&differences.collect::<Vec<f64>>());
                half.map(|half| (value * (-half).exp(), value * half.exp()))
            }
            Statistic::Quantile(p) => {
                let over = of_quantiles([self, base], p, |[ours, theirs]| ours / theirs);
                over?.ok()?.interval
            }
        };
        let gap = theirs.gap.or(ours.gap);
        (value.is_finite() && value > 0.0).then(|| Ratio {
            value,
            interval,
            seeds: self.seeds.len(),
            beyond_gap: gap.map(|gap| self.beyond_gap(base, gap.threshold())),
        })
    }

    /// Returns the share of flows that take longer than `threshold`.
    pub fn share_beyond(&self, threshold: f64) -> Share {
        let (value, deviations) = self.beyond(threshold);
        let half = t_half(&deviations);
        Share {
            value,
            interval: half
                .filter(|_| self.varies)
                .map(|half| ((value - half).max(0.0), (value + half).min(1.0))),
        }
    }

    /// Returns the shares of flows beyond a gap, for this design and for `base`.
    pub fn beyond_gap(&self, base: &Self, threshold: f64) -> BeyondGap {
        let ((ours, of_ours), (theirs, of_theirs)) =
            (self.beyond(threshold), base.beyond(threshold));
        let value = ours - theirs;
        let differences: Vec<f64> = of_ours.iter().zip(&of_theirs).map(|(a, b)| a - b).collect();
        let paired = self.seeds == base.seeds && (self.varies || base.varies);
        let half = t_half(&differences).filter(|_| paired);
        BeyondGap {
            threshold,
            share: self.share_beyond(threshold),
            base: base.share_beyond(threshold),
            difference: Share {
                value,
                interval: half.map(|half| (value - half, value + half)),
            },
        }
    }

    /// Returns the share of flows that take longer than `threshold`, and the deviation of each seed from this share.
    fn beyond(&self, threshold: f64) -> (f64, Vec<f64>) {
        let beyond = self.sample.beyond(threshold);
        let seeds = self.sample.seeds().iter().zip(&beyond);
        let parts: Vec<(f64, f64)> = seeds
            .map(|(seed, &beyond)| (f64::from(beyond), f64::from(seed.flows)))
            .collect();
        let share = beyond.iter().sum::<u32>() as f64 / self.sample.len().max(1) as f64;
        (share, deviations(&parts, share))
    }

    fn mean(&self) -> Option<Estimate> {
        let seeds = self.sample.seeds().iter();
        let (finished, sum) = seeds.fold((0u64, 0.0), |(finished, sum), seed| {
            (finished + u64::from(seed.finished), sum + seed.sum)
        });
        let value = (finished > 0).then(|| sum / finished as f64)?;
        let half = t_half(&self.deviations_from_mean(value)).filter(|_| self.varies);
        Some(Estimate {
            value,
            // The symmetric interval may reach below zero, but completion times are never negative.
            interval: half.map(|half| ((value - half).max(0.0), value + half)),
            gap: None,
        })
    }

    fn deviations_from_mean(&self, mean: f64) -> Vec<f64> {
        let seeds = self.sample.seeds().iter();
        let parts: Vec<(f64, f64)> = seeds
            .map(|seed| (seed.sum, f64::from(seed.finished)))
            .collect();
        deviations(&parts, mean)
    }

    /// Returns whether the `p`-quantile has too few seeds or flows, and the number of seeds that would be sufficient.
    /// If all runs are equal, the quantile is exact, and more seeds would not change it.
    fn too_few(&self, p: f64) -> Option<TooFew> {
        if !self.varies {
            return None;
        }
        let seeds = self.seeds.len();
        // 1e-9 corrects the rounding of 1 - 0.99, so that 1,000 flows have ten flows beyond the 99th percentile.
        // For a quantile below the median, the flows below the quantile are counted.
        let beyond = self.sample.len() as f64 * p.min(1.0 - p) + 1e-9;
        let for_flows = (BEYOND / beyond * seeds as f64 - 1e-6).ceil() as usize;
        (seeds < SEEDS_FOR_QUANTILES || beyond < BEYOND).then(|| TooFew {
            seeds,
            beyond: beyond as usize,
            seeds_that_would_do: for_flows.max(SEEDS_FOR_QUANTILES),
        })
    }

    /// Returns the `p`-quantile of each resample.
    fn resampled(&self, p: f64) -> Rc<[f64]> {
        let mut known = self.resampled.borrow_mut();
        let quantiles = known.entry(p.to_bits()).or_insert_with(|| {
            let resamples = Resamples::of(self.seeds.len());
            let weights = resamples.weights();
            weights
                .map(|weights| self.sample.resampled_quantile(weights, p))
                .collect()
        });
        Rc::clone(quantiles)
    }
}

/// Returns a figure that combines the same quantile of several designs, such as the difference of two quantiles.
/// The interval of the figure comes from the same resamples for all designs. Returns `None` if a design has no flow.
/// The figure has no interval if the designs did not run the same seeds, or if the runs of each design are all equal.
pub fn of_quantiles<const N: usize>(
    designs: [&Measured; N],
    p: f64,
    figure: impl Fn([f64; N]) -> f64,
) -> Option<Result<Estimate, TooFew>> {
    let mut values = [f64::NAN; N];
    for (value, design) in values.iter_mut().zip(designs) {
        *value = design.sample.quantile(p)?;
    }
    let too_few = designs.iter().filter_map(|design| design.too_few(p));
    if let Some(too_few) = too_few.max_by_key(|too_few| too_few.seeds_that_would_do) {
        return Some(Err(too_few));
    }
    let seeds = &designs.first()?.seeds;
    let is_paired = designs.iter().all(|design| design.seeds == *seeds);
    let interval = if is_paired && designs.iter().any(|design| design.varies) {
        let resampled = designs.map(|design| design.resampled(p));
        let resamples = resampled.first()?.len();
        let figures = (0..resamples).map(|i| figure(resampled.each_ref().map(|all| all[i])));
        interval(seeds.len(), figures.collect())
    } else {
        None
    };
    Some(Ok(Estimate {
        value: figure(values),
        interval,
        gap: None,
    }))
}

/// Returns one deviation for each seed: (sum - `ratio` * count) / mean count.
/// `parts` contains the sum and the count of each seed.
/// The deviations show how much the ratio of all sums to all counts varies over the seeds.
fn deviations(parts: &[(f64, f64)], ratio: f64) -> Vec<f64> {
    let mean_count = parts.iter().map(|(_, count)| count).sum::<f64>() / parts.len().max(1) as f64;
    let deviation = |(sum, count): &(f64, f64)| (sum - ratio * count) / mean_count;
    parts.iter().map(deviation).collect()
}

/// Returns half the width of Student's 95 % interval of the mean of `values`.
/// Returns `None` for fewer than [`SEEDS_FOR_T`] values.
fn t_half(values: &[f64]) -> Option<f64> {
    let (mean, interval) = t_interval(values).filter(|_| values.len() >= SEEDS_FOR_T)?;
    interval.map(|(_, high)| high - mean)
}

/// Returns the mean of values and Student's 95 % interval.
/// The interval is `None` for a single value or an infinite mean.
/// Returns `None` without values, or if a value is not a number.
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
    let half = t_quantile(values.len(), 0.975)? * (variance / n).sqrt();
    Some((mean, Some((mean - half, mean + half))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a design with six seeds. Each seed has 500 values from 1 to 2, multiplied by `factor`.
    fn design(factor: f64) -> Measured {
        let values = |seed: u64| {
            (0..500).map(move |i| factor * (1.0 + ((i * 7 + seed * 31) % 500) as f64 / 500.0))
        };
        Measured::new(Sample::new((0..6).map(values)), (1..=6).collect())
    }

    #[test]
    fn a_figure_of_several_designs_is_resampled_together() {
        let [one, other, both, base] = [0.5, 0.8, 0.3, 1.0].map(design);
        let beyond = of_quantiles(
            [&both, &one, &other, &base],
            0.99,
            |[both, one, other, base]| (both / base) / (one / base * other / base),
        );
        let beyond = beyond.unwrap().unwrap();
        assert!((beyond.value - 0.75).abs() < 1e-9, "{beyond:?}");
        // All designs vary in the same way, so the combined figure is constant.
        let (low, high) = beyond.interval.unwrap();
        assert!(high - low < 1e-9, "{beyond:?}");
    }

    #[test]
    fn equal_runs_have_an_exact_quantile_without_an_interval() {
        // Three flows are too few for a p99, unless the runs of all seeds are equal.
        let of = |varies| {
            let values = (0..6).map(|_| [1.0, 2.0, 3.0]);
            Measured::new(Sample::new(values), (1..=6).collect()).varying(varies)
        };
        let p99 = |measured: &Measured| measured.estimate(Statistic::P99).unwrap();
        assert!(p99(&of(true)).is_err());
        let exact = p99(&of(false)).unwrap();
        assert_eq!((exact.value, exact.interval), (3.0, None));
        let ratio = of_quantiles([&of(false), &of(false)], 0.99, |[a, b]| a / b);
        let ratio = ratio.unwrap().unwrap();
        assert_eq!((ratio.value, ratio.interval), (1.0, None));
    }

    #[test]
    fn designs_of_other_seeds_have_a_figure_without_an_interval() {
        let other = Measured::new(design(2.0).sample, (7..=12).collect());
        let ratio = of_quantiles([&design(1.0), &other], 0.5, |[a, b]| a / b);
        assert_eq!(ratio.unwrap().unwrap().interval, None);
    }

    #[test]
    fn a_low_quantile_takes_ten_flows_below_it() {
        let design = design(1.0);
        assert!(design.estimate(Statistic::Quantile(0.01)).unwrap().is_ok());
        let few = design.estimate(Statistic::Quantile(0.001)).unwrap();
        assert_eq!(few.unwrap_err().seeds_that_would_do, 20);
    }
}
