//! Flow completion times for each size group, as `--json` prints them.

use crate::{FlowRecord, FlowRows};
use serde::{Deserialize, Serialize};
use tailcut_units::{Bytes, Duration};

/// Group of flow sizes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeGroup {
    /// Flows under 100 KB (100,000 bytes), which RepFlow replicates.
    Mice,
    /// Flows of at least 100 KB and less than 1 MB.
    Medium,
    /// Flows of at least 1 MB (1,000,000 bytes).
    Elephants,
}

impl SizeGroup {
    /// All groups, by size.
    pub const ALL: [Self; 3] = [Self::Mice, Self::Medium, Self::Elephants];

    /// Returns the group of a flow with this size.
    pub const fn of(bytes: Bytes) -> Self {
        match bytes.0 {
            0..100_000 => Self::Mice,
            100_000..1_000_000 => Self::Medium,
            _ => Self::Elephants,
        }
    }
    /// Returns the name of the group, as output contains it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mice => "mice",
            Self::Medium => "medium",
            Self::Elephants => "elephants",
        }
    }
}

/// Returns the index of the `p`-quantile in `n` sorted samples, or `None` if `n` is 0.
/// At least a share `p` of the samples is smaller than or equal to the quantile.
/// The quantile is the smallest sample that is large enough (nearest rank, no interpolation).
/// A `p` below 0 counts as 0, and a `p` above 1 counts as 1.
pub fn quantile_rank(n: usize, p: f64) -> Option<usize> {
    // The subtraction corrects rounding: 0.99 * 100 may be 99.00000000000001 and must give rank 99.
    let rank = (p.clamp(0.0, 1.0) * n as f64 - 1e-9).ceil() as usize;
    (n > 0).then(|| rank.clamp(1, n) - 1)
}

/// Completion times of one group's finished flows, in microseconds. A time is `None` (JSON `null`) if no flow finished.
/// Percentiles are order statistics ([`quantile_rank`]).
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct FctStats {
    /// Number of finished flows.
    pub n: u64,
    /// Mean completion time, in microseconds.
    pub mean_us: Option<f64>,
    /// Median completion time, in microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile of the completion time, in microseconds.
    pub p99_us: Option<f64>,
    /// 99.9th percentile of the completion time, in microseconds.
    pub p999_us: Option<f64>,
    /// Number of unfinished flows. The times above do not include them.
    pub unfinished: u64,
}

impl FctStats {
    /// Computes the statistics of `flows`, which may have any order.
    pub fn of<'a>(flows: impl IntoIterator<Item = &'a FlowRecord>) -> Self {
        Self::of_times(flows.into_iter().map(|flow| flow.fct))
    }

    /// Computes the statistics of completion times, which may have any order. `None` stands for an unfinished flow.
    pub fn of_times(times: impl IntoIterator<Item = Option<Duration>>) -> Self {
        let mut unfinished = 0;
        let mut fcts: Vec<u64> = Vec::new();
        for time in times {
            match time {
                Some(fct) => fcts.push(fct.as_ps()),
                None => unfinished += 1,
            }
        }
        fcts.sort_unstable();
        let quantile = |p| quantile_rank(fcts.len(), p).map(|rank| fcts[rank] as f64 / 1e6);
        let sum: u128 = fcts.iter().map(|&ps| u128::from(ps)).sum();
        Self {
            n: fcts.len() as u64,
            mean_us: (!fcts.is_empty()).then(|| sum as f64 / fcts.len() as f64 / 1e6),
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            unfinished,
        }
    }
}

/// [`FctStats`] of each size group and of all flows.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct FctSummary {
    /// Flows of less than 100 KB.
    pub mice: FctStats,
    /// Flows of at least 100 KB and less than 1 MB.
    pub medium: FctStats,
    /// Flows of at least 1 MB.
    pub elephants: FctStats,
    /// All flows.
    pub all: FctStats,
}

impl FctSummary {
    /// Computes the statistics of `flows`, which may have any order.
    pub fn of(flows: &(impl FlowRows + ?Sized)) -> Self {
        // The groups are read one after another, so that memory contains the completion times of one group only.
        let mut has = [false; 3];
        let all = FctStats::of_times(flows.rows().map(|flow| {
            has[SizeGroup::of(flow.bytes) as usize] = true;
            flow.fct
        }));
        let group = |group: SizeGroup| match has[group as usize] {
            false => FctStats::default(),
            // If only one group has flows, its statistics equal `all`, and the flows need not be read again.
            true if has.iter().filter(|has| **has).count() == 1 => all,
            true => {
                let rows = flows.rows();
                let of_group = rows.filter(|flow| SizeGroup::of(flow.bytes) == group);
                FctStats::of_times(of_group.map(|flow| flow.fct))
            }
        };
        Self {
            mice: group(SizeGroup::Mice),
            medium: group(SizeGroup::Medium),
            elephants: group(SizeGroup::Elephants),
            all,
        }
    }
}
