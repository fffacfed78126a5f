//! Sample: the values of one group of flows over all seeds of one design, in ascending order.

use crate::group::Group;
use crate::run::{Flow, Run};
use tailcut_record::quantile_rank;

/// Measure of the time that a flow takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// Completion time in microseconds.
    Fct,
    /// Completion time divided by the ideal completion time.
    Slowdown,
}

impl Metric {
    fn of(self, flow: &Flow) -> f64 {
        match self {
            Self::Fct => flow.fct_us,
            Self::Slowdown => flow.slowdown,
        }
    }
}

/// Statistic that is computed over a sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Statistic {
    /// Mean of the values of finished flows.
    Mean,
    /// Value that a given share of the flows does not exceed. The share is above 0 and below 1.
    Quantile(f64),
}

impl Statistic {
    /// Median of the values.
    pub const P50: Self = Self::Quantile(0.5);
    /// 95th percentile.
    pub const P95: Self = Self::Quantile(0.95);
    /// 99th percentile.
    pub const P99: Self = Self::Quantile(0.99);
    /// 99.9th percentile.
    pub const P999: Self = Self::Quantile(0.999);
    /// Statistics that the report shows, in the order of its tables.
    pub(crate) const ALL: [Self; 4] = [Self::Mean, Self::P50, Self::P99, Self::P999];

    /// Statistics whose [`name`](Self::name) a user may choose.
    pub const NAMED: [Self; 5] = [Self::Mean, Self::P50, Self::P95, Self::P99, Self::P999];

    /// Returns the entry for this statistic in a list that has the order of [`Self::ALL`].
    pub(crate) fn entry_in<T>(self, all: &[T; 4]) -> Option<&T> {
        let place = Self::ALL.iter().position(|statistic| *statistic == self)?;
        all.get(place)
    }

    /// Returns the name of the statistic in tables: `mean`, `p50`, `p99.9`.
    pub fn name(self) -> String {
        match self {
            Self::Mean => "mean".to_owned(),
            Self::Quantile(p) => format!("p{}", (p * 1e6).round() / 1e4),
        }
    }
}

/// Sorted values, each with its seed. The value of an unfinished flow is infinite.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    sorted: Vec<(f64, u32)>,
    seeds: Vec<SeedTotals>,
    /// Number of each seed's flows among the first `stride` values, the first `2 * stride` values, and so on.
    counts: Vec<u32>,
    stride: usize,
}

/// Contribution of one seed to a mean.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SeedTotals {
    /// Number of flows of the seed, finished or not.
    pub flows: u32,
    pub finished: u32,
    /// Sum of the values of the finished flows.
    pub sum: f64,
}

impl Sample {
    /// Creates a sample from the values of each seed, in any order. The value of an unfinished flow is infinite.
    pub fn new<T: IntoIterator<Item = f64>>(seeds: impl IntoIterator<Item = T>) -> Self {
        let mut sample = Self::default();
        for (seed, values) in (0u32..).zip(seeds) {
            let mut sums = SeedTotals::default();
            for value in values.into_iter().filter(|value| !value.is_nan()) {
                sample.sorted.push((value, seed));
                sums.flows += 1;
                if value.is_finite() {
                    sums.finished += 1;
                    sums.sum += value;
                }
            }
            sample.seeds.push(sums);
        }
        sample.sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        sample.count_ahead();
        sample
    }

    /// Returns the sample of a metric over the flows of `group`. Each run in `runs` is one seed.
    pub(crate) fn of(runs: &[&Run], group: &Group, metric: Metric) -> Self {
        Self::new(runs.iter().map(|run| {
            let flows = group.members(run).iter().filter(|flow| group.has(flow));
            flows.map(move |flow| metric.of(flow))
        }))
    }

    /// Computes `counts`, which has about one entry for every four values of the sample.
    fn count_ahead(&mut self) {
        self.stride = (4 * self.seeds.len()).max(64);
        let mut so_far = vec![0u32; self.seeds.len()];
        for values in self.sorted.chunks_exact(self.stride) {
            for (_, seed) in values {
                so_far[*seed as usize] += 1;
            }
            self.counts.extend(&so_far);
        }
    }

    /// Returns the number of flows, finished or not.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Returns whether the sample contains no flow.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Returns the number of unfinished flows.
    pub fn unfinished(&self) -> usize {
        self.len() - self.finished()
    }

    fn finished(&self) -> usize {
        self.sorted.partition_point(|(value, _)| value.is_finite())
    }

    /// Returns the contribution of each seed.
    pub(crate) fn seeds(&self) -> &[SeedTotals] {
        &self.seeds
    }

    /// Returns the number of flows of each seed that take longer than `threshold`.
    pub(crate) fn beyond(&self, threshold: f64) -> Vec<u32> {
        let mut beyond = vec![0; self.seeds.len()];
        let first = self
            .sorted
            .partition_point(|(value, _)| *value <= threshold);
        for (_, seed) in &self.sorted[first..] {
            beyond[*seed as usize] += 1;
        }
        beyond
    }

    /// Returns the values from `low` to `high`. Both limits are included.
    pub(crate) fn between(&self, low: f64, high: f64) -> &[(f64, u32)] {
        let first = self.sorted.partition_point(|(value, _)| *value < low);
        let end = self.sorted.partition_point(|(value, _)| *value <= high);
        &self.sorted[first..end.max(first)]
    }

    /// Returns the `p`-quantile by nearest rank. The quantile is infinite if it falls among unfinished flows.
    /// Returns `None` without flows.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        quantile_rank(self.len(), p).map(|rank| self.sorted[rank].0)
    }

    /// Returns the `p`-quantile over the finished flows only.
    pub(crate) fn finished_quantile(&self, p: f64) -> Option<f64> {
        quantile_rank(self.finished(), p).map(|rank| self.sorted[rank].0)
    }

    /// Returns the `p`-quantile of a resample in which seed `i` occurs `weights[i]` times.
    /// The result is NaN if the resample has no flow.
    pub(crate) fn resampled_quantile(&self, weights: &[u16], p: f64) -> f64 {
        let weighted = |counts: &[u32]| -> usize {
            let products = counts.iter().zip(weights);
            products
                .map(|(&n, &weight)| n as usize * usize::from(weight))
                .sum()
        };
        let flows = self.seeds.iter().zip(weights);
        let flows = flows
            .map(|(seed, &weight)| seed.flows as usize * usize::from(weight))
            .sum();
        let Some(rank) = quantile_rank(flows, p) else {
            return f64::NAN;
        };
        // Bisection finds the last block of `stride` values that ends before the rank.
        let width = self.seeds.len();
        let (mut low, mut high) = (0, self.counts.len() / width);
        let mut before = 0;
        while low < high {
            let middle = usize::midpoint(low, high);
            let count = weighted(&self.counts[middle * width..(middle + 1) * width]);
            if count <= rank {
                (low, before) = (middle + 1, count);
            } else {
                high = middle;
            }
        }
        for (value, seed) in &self.sorted[low * self.stride..] {
            before += usize::from(weights[*seed as usize]);
            if before > rank {
                return *value;
            }
        }
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a sample of `seeds` seeds with `flows` flows each. The seeds get the values 0, 1, 2, ... in turn.
    fn dealt(seeds: usize, flows: usize) -> Sample {
        let values = |seed| (0..flows).map(move |flow| (flow * seeds + seed) as f64);
        Sample::new((0..seeds).map(values))
    }

    #[test]
    fn a_resample_with_every_seed_as_often_is_the_sample_itself() {
        for (seeds, flows) in [(1, 10), (3, 1_000), (6, 653), (40, 999)] {
            let sample = dealt(seeds, flows);
            for p in [0.001, 0.5, 0.99, 0.999] {
                for times in [1, 3] {
                    let resampled = sample.resampled_quantile(&vec![times; seeds], p);
                    assert_eq!(
                        Some(resampled),
                        sample.quantile(p),
                        "{seeds} seeds, {p}, {times}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_resample_of_one_seed_alone_is_that_seed() {
        let sample = dealt(5, 1_000);
        let alone = Sample::new([(0..1_000).map(|flow| f64::from(flow * 5 + 3))]);
        for p in [0.01, 0.5, 0.99] {
            let resampled = sample.resampled_quantile(&[0, 0, 0, 5, 0], p);
            assert_eq!(Some(resampled), alone.quantile(p), "{p}");
        }
    }

    #[test]
    fn a_resample_without_flows_has_no_quantile() {
        let sample = Sample::new([vec![1.0], vec![]]);
        assert!(sample.resampled_quantile(&[0, 2], 0.5).is_nan());
    }

    #[test]
    fn unfinished_flows_rank_last() {
        let mut values = vec![10.0; 98];
        values.extend([f64::INFINITY; 2]);
        let sample = Sample::new([values]);
        assert_eq!(sample.unfinished(), 2);
        assert_eq!(sample.quantile(0.5), Some(10.0));
        assert_eq!(sample.quantile(0.99), Some(f64::INFINITY));
        assert_eq!(sample.finished_quantile(0.99), Some(10.0));
    }

    #[test]
    fn flows_beyond_a_threshold_are_counted_by_seed() {
        let sample = Sample::new([vec![1.0, 5.0, 9.0], vec![5.0, f64::INFINITY]]);
        assert_eq!(sample.beyond(5.0), [1, 1]);
        assert_eq!(sample.between(2.0, 9.0).len(), 3);
    }
}
