//! The values of one group of flows in one or more runs, sorted, and cut into blocks of time.

use crate::group::Group;
use crate::study::{Flow, Run};
use tailcut_record::quantile_rank;

/// Blocks of consecutive flows that one run is cut into. Flows that start near each other meet the
/// same queues, so single flows are not independent; blocks nearly are, and a hundred of them are
/// enough for a percentile interval by bootstrap.
pub(crate) const BLOCKS: usize = 100;

/// What of a flow is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// Completion time in microseconds.
    Fct,
    /// Completion time over the ideal one.
    Slowdown,
}

/// A figure of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Statistic {
    /// The mean over finished flows.
    Mean,
    /// The median.
    P50,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
}

impl Statistic {
    /// All, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Mean, Self::P50, Self::P99, Self::P999];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }

    /// The share of flows at or under the figure; `None` for the mean.
    pub(crate) const fn quantile(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::P50 => Some(0.5),
            Self::P99 => Some(0.99),
            Self::P999 => Some(0.999),
        }
    }
}

/// Sorted values with the block each comes from. Unfinished flows are infinite.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    sorted: Vec<(f64, u32)>,
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    flows: u32,
    finished: u32,
    sum: f64,
}

impl Sample {
    /// The values of `group`'s flows over all of `runs`, each run with [`BLOCKS`] blocks of its own.
    pub fn of(runs: &[&Run], group: &Group, metric: Metric) -> Self {
        let mut sample = Self {
            sorted: Vec::new(),
            blocks: vec![Block::default(); BLOCKS * runs.len()],
        };
        for (run_index, run) in runs.iter().enumerate() {
            let pool = group.pool(run);
            for (index, flow) in pool.iter().enumerate() {
                if group.has(flow) {
                    let block = run_index * BLOCKS + index * BLOCKS / pool.len();
                    sample.push(metric.of(flow), block);
                }
            }
        }
        sample.sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        sample
    }

    fn push(&mut self, value: f64, block: usize) {
        if value.is_nan() {
            return;
        }
        self.sorted.push((value, block as u32));
        let block = &mut self.blocks[block];
        block.flows += 1;
        if value.is_finite() {
            block.finished += 1;
            block.sum += value;
        }
    }

    /// Flows, finished or not.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Flows that did not finish.
    pub fn unfinished(&self) -> usize {
        let finished = self.sorted.partition_point(|(value, _)| value.is_finite());
        self.len() - finished
    }

    /// The values in ascending order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.sorted.iter().map(|(value, _)| *value)
    }

    /// The figure: infinite where a percentile falls among unfinished flows, `None` without flows.
    pub fn statistic(&self, statistic: Statistic) -> Option<f64> {
        match statistic.quantile() {
            Some(p) => quantile_rank(self.len(), p).map(|rank| self.sorted[rank].0),
            None => {
                let finished: u64 = self.blocks.iter().map(|b| u64::from(b.finished)).sum();
                let sum: f64 = self.blocks.iter().map(|b| b.sum).sum();
                (finished > 0).then(|| sum / finished as f64)
            }
        }
    }

    /// A quantile over the finished flows only.
    pub fn finished_quantile(&self, p: f64) -> Option<f64> {
        quantile_rank(self.len() - self.unfinished(), p).map(|rank| self.sorted[rank].0)
    }

    /// The figures of a resample in which block `i` occurs `weights[i]` times, in the order of
    /// [`Statistic::ALL`]; NaN where the resample has no flow.
    pub fn resampled(&self, weights: &[u16]) -> [f64; 4] {
        let (mut flows, mut finished, mut sum) = (0usize, 0u64, 0.0);
        for (block, &weight) in self.blocks.iter().zip(weights) {
            flows += block.flows as usize * usize::from(weight);
            finished += u64::from(block.finished) * u64::from(weight);
            sum += block.sum * f64::from(weight);
        }
        let mut figures = [f64::NAN; 4];
        // One walk from the top, where most percentiles are near.
        let mut from_top = self.sorted.iter().rev();
        let mut walked = 0usize;
        let mut value = f64::NAN;
        for (figure, statistic) in figures.iter_mut().zip(Statistic::ALL).rev() {
            *figure = match statistic.quantile() {
                None => sum / finished as f64,
                Some(p) => {
                    let Some(rank) = quantile_rank(flows, p) else {
                        continue;
                    };
                    while walked < flows - rank {
                        let Some(&(next, block)) = from_top.next() else {
                            break;
                        };
                        walked += usize::from(weights[block as usize]);
                        value = next;
                    }
                    value
                }
            };
        }
        figures
    }
}

impl Metric {
    fn of(self, flow: &Flow) -> f64 {
        match self {
            Self::Fct => flow.fct_us,
            Self::Slowdown => flow.slowdown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample of one run whose flow `i` has the `i`-th of `values`.
    fn sample(values: &[f64]) -> Sample {
        let mut sample = Sample {
            blocks: vec![Block::default(); BLOCKS],
            ..Sample::default()
        };
        for (index, value) in values.iter().enumerate() {
            sample.push(*value, index * BLOCKS / values.len());
        }
        sample.sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        sample
    }

    #[test]
    fn every_block_as_often_is_the_sample_itself() {
        let values: Vec<f64> = (0..5_000).map(|i| f64::from(i * 7_919 % 5_000)).collect();
        let sample = sample(&values);
        let figures = Statistic::ALL.map(|statistic| sample.statistic(statistic).unwrap());
        assert_eq!(figures, [2_499.5, 2_499.0, 4_949.0, 4_994.0]);
        for times in [1, 3] {
            let resampled = sample.resampled(&[times; BLOCKS]);
            assert_eq!(resampled, figures, "{times} times each block");
        }
    }

    #[test]
    fn one_block_alone_is_that_block() {
        let values: Vec<f64> = (0..1_000).map(f64::from).collect();
        let mut weights = [0; BLOCKS];
        weights[50] = 100;
        // Flows 500 to 509.
        assert_eq!(
            sample(&values).resampled(&weights),
            [504.5, 504.0, 509.0, 509.0]
        );
    }

    #[test]
    fn a_resample_without_flows_has_no_figure() {
        let figures = sample(&[1.0]).resampled(&[0; BLOCKS]);
        assert!(figures.iter().all(|figure| figure.is_nan()), "{figures:?}");
    }

    #[test]
    fn unfinished_flows_rank_last_and_have_no_part_in_the_mean() {
        let mut values = vec![10.0; 98];
        values.extend([f64::INFINITY; 2]);
        let sample = sample(&values);
        assert_eq!(sample.unfinished(), 2);
        assert_eq!(sample.statistic(Statistic::Mean), Some(10.0));
        assert_eq!(sample.statistic(Statistic::P50), Some(10.0));
        assert_eq!(sample.statistic(Statistic::P99), Some(f64::INFINITY));
        assert_eq!(sample.finished_quantile(0.99), Some(10.0));
    }
}
