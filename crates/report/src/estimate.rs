//! Figures with confidence intervals, and their ratios between two designs.
//!
//! A quantile is that of all flows of all seeds; its interval and that of a ratio of two come from
//! resampled seeds, the same for both designs ([`crate::resamples`]). A mean is that of all finished
//! flows, its interval Student's t over what each seed contributes (the ratio estimator of cluster
//! sampling: W. G. Cochran, Sampling Techniques, 1977, section 6.3); so is a share of the flows.
//! Both designs of a ratio see the same arrivals under one seed, so that ratios are paired by seed.

use crate::gap::Gap;
use crate::resamples::{Resamples, interval, t_quantile};
use crate::sample::{Sample, Statistic};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// From this many seeds on, means and shares have intervals.
pub const SEEDS_FOR_T: usize = 3;

/// Quantiles take this many seeds: intervals over fewer do not hold (docs/validation.md).
pub const SEEDS_FOR_QUANTILES: usize = 6;

/// Flows beyond a quantile that it takes at least.
const BEYOND: f64 = 10.0;

/// A figure with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The figure; infinite where a quantile falls among unfinished flows.
    pub value: f64,
    /// The interval, where there are enough seeds for one; its upper end may be infinite.
    pub interval: Option<(f64, f64)>,
    /// The gap of the distribution that a quantile's interval spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
}

/// Why a quantile has no figure, and what would do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct TooFew {
    /// Seeds that were run.
    pub seeds: usize,
    /// Flows beyond the quantile.
    pub beyond: usize,
    /// Seeds of this size that would do.
    pub seeds_that_would_do: usize,
}

/// A design's figures over another's: under 1 is faster.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// Its 95 % confidence interval, where there is one.
    pub interval: Option<(f64, f64)>,
    /// Seeds that it comes from.
    pub seeds: usize,
    /// What is stable where either quantile lies on a gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond_gap: Option<BeyondGap>,
}

/// The shares of flows beyond a gap, and how they differ.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BeyondGap {
    /// A value within the gap.
    pub threshold: f64,
    /// The share of this design's flows that take longer, with its 95 % confidence interval.
    pub share: Share,
    /// That of the other design.
    pub base: Share,
    /// This design's share less the other's, paired by seed.
    pub difference: Share,
}

/// A share of flows, or a difference of two, with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Share {
    /// The share, 0 to 1; a difference may be below zero.
    pub value: f64,
    /// The interval, from [`SEEDS_FOR_T`] seeds on.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// Whether the interval leaves out 1.
    pub fn is_significant(&self) -> bool {
        self.interval
            .is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }

    /// The ratio with an interval that holds for `comparisons` of them together, as the best of
    /// several needs it (Bonferroni): wider, on a logarithmic scale, as Student's t is.
    pub fn corrected(self, comparisons: usize) -> Self {
        let level = 0.025 / comparisons.max(1) as f64;
        let quantiles = t_quantile(self.seeds, 1.0 - level).zip(t_quantile(self.seeds, 0.975));
        let wider = quantiles.map_or(1.0, |(corrected, single)| corrected / single);
        let widen = |end: f64| self.value * (end / self.value).powf(wider);
        let interval = self.interval.map(|(low, high)| (widen(low), widen(high)));
        Self { interval, ..self }
    }
}

/// One group's flows in the runs of one design and setting, ready to be estimated from.
#[derive(Debug)]
pub struct Measured {
    sample: Sample,
    /// The seeds of the runs.
    seeds: Vec<u64>,
    /// Resampled quantiles, by the bits of the share: an estimate and its ratios need the same.
    resampled: RefCell<BTreeMap<u64, Rc<[f64]>>>,
}

impl Measured {
    /// From a sample whose seeds have these numbers.
    pub fn new(sample: Sample, seeds: Vec<u64>) -> Self {
        Self {
            sample,
            seeds,
            resampled: RefCell::default(),
        }
    }

    /// All flows of all seeds.
    pub fn sample(&self) -> &Sample {
        &self.sample
    }

    /// How many seeds were run.
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// The figure with its interval; `None` without flows.
    pub fn estimate(&self, statistic: Statistic) -> Option<Result<Estimate, TooFew>> {
        let Statistic::Quantile(p) = statistic else {
            return self.mean().map(Ok);
        };
        let value = self.sample.quantile(p)?;
        if let Some(too_few) = self.too_few(p) {
            return Some(Err(too_few));
        }
        let interval = interval(self.seeds.len(), self.resampled(p).to_vec());
        Some(Ok(Estimate {
            value,
            interval,
            gap: interval.and_then(|interval| Gap::within(&self.sample, interval)),
        }))
    }

    /// This design's figure over `base`'s; `None` where either has none, an infinite one, or too
    /// few flows or seeds for it. Without an interval where the two have not run the same seeds.
    pub fn ratio(&self, base: &Self, statistic: Statistic) -> Option<Ratio> {
        let (ours, theirs) = (
            self.estimate(statistic)?.ok()?,
            base.estimate(statistic)?.ok()?,
        );
        let value = ours.value / theirs.value;
        let paired = self.seeds == base.seeds;
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

    /// The share of flows that take longer than `threshold`.
    pub fn share_beyond(&self, threshold: f64) -> Share {
        let (value, deviations) = self.beyond(threshold);
        let half = t_half(&deviations);
        Share {
            value,
            interval: half.map(|half| ((value - half).max(0.0), (value + half).min(1.0))),
        }
    }

    /// The shares beyond a gap, of this design and of `base`.
    pub fn beyond_gap(&self, base: &Self, threshold: f64) -> BeyondGap {
        let ((ours, of_ours), (theirs, of_theirs)) =
            (self.beyond(threshold), base.beyond(threshold));
        let value = ours - theirs;
        let differences: Vec<f64> = of_ours.iter().zip(&of_theirs).map(|(a, b)| a - b).collect();
        let half = t_half(&differences).filter(|_| self.seeds == base.seeds);
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

    /// The share of flows that take longer than `threshold`, with each seed's deviation from it.
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
        let half = t_half(&self.deviations_from_mean(value));
        Some(Estimate {
            value,
            // No completion time is below zero, whatever the symmetric interval says.
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

    /// Whether too few seeds or flows were run for the `p`-quantile, and what would do.
    fn too_few(&self, p: f64) -> Option<TooFew> {
        let seeds = self.seeds.len();
        // 1e-9: 1,000 flows have ten beyond the 99th percentile, whatever 1 - 0.99 rounds to. Beyond
        // one under the median are those below it.
        let beyond = self.sample.len() as f64 * p.min(1.0 - p) + 1e-9;
        let for_flows = (BEYOND / beyond * seeds as f64 - 1e-6).ceil() as usize;
        (seeds < SEEDS_FOR_QUANTILES || beyond < BEYOND).then(|| TooFew {
            seeds,
            beyond: beyond as usize,
            seeds_that_would_do: for_flows.max(SEEDS_FOR_QUANTILES),
        })
    }

    /// The `p`-quantile of every resample.
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

/// A figure made of the same quantile of several designs, such as how much one is above another, with
/// its interval from the same resamples of all; `None` where a design has no flow. Without an interval
/// where they have not run the same seeds.
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
    let interval = if designs.iter().all(|design| design.seeds == *seeds) {
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

/// Of sums with their counts, by how much each deviates from `ratio` times its count, over the mean
/// count: what the ratio of all sums to all counts varies by.
fn deviations(parts: &[(f64, f64)], ratio: f64) -> Vec<f64> {
    let mean_count = parts.iter().map(|(_, count)| count).sum::<f64>() / parts.len().max(1) as f64;
    let deviation = |(sum, count): &(f64, f64)| (sum - ratio * count) / mean_count;
    parts.iter().map(deviation).collect()
}

/// Half the width of Student's 95 % interval of the mean of `values`; `None` with fewer than
/// [`SEEDS_FOR_T`].
fn t_half(values: &[f64]) -> Option<f64> {
    let (mean, interval) = t_interval(values).filter(|_| values.len() >= SEEDS_FOR_T)?;
    interval.map(|(_, high)| high - mean)
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
    let half = t_quantile(values.len(), 0.975)? * (variance / n).sqrt();
    Some((mean, Some((mean - half, mean + half))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six seeds of 500 values from 1 to 2, times `factor`.
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
        // The designs vary together, so that the figure does not vary at all.
        let (low, high) = beyond.interval.unwrap();
        assert!(high - low < 1e-9, "{beyond:?}");
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
