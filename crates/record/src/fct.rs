//! Flow completion times by size group: the summary that `--json` prints.

use crate::{FlowRecord, FlowRows};
use serde::{Deserialize, Serialize};
use tailcut_units::{Bytes, Duration};

/// A group of flow sizes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeGroup {
    /// Under 100 KB (100,000 bytes): what RepFlow replicates.
    Mice,
    /// From 100 KB to under 1 MB.
    Medium,
    /// From 1 MB (1,000,000 bytes).
    Elephants,
}

impl SizeGroup {
    /// All groups, by size.
    pub const ALL: [Self; 3] = [Self::Mice, Self::Medium, Self::Elephants];

    /// The group of a flow of `bytes`.
    pub const fn of(bytes: Bytes) -> Self {
        match bytes.0 {
            0..100_000 => Self::Mice,
            100_000..1_000_000 => Self::Medium,
            _ => Self::Elephants,
        }
    }
    /// The group's name as printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mice => "mice",
            Self::Medium => "medium",
            Self::Elephants => "elephants",
        }
    }
}

/// The rank (from zero) of the `p`-quantile among `n` sorted samples: the smallest value that at
/// least the share `p` of the samples does not exceed (nearest rank, no interpolation). `None`
/// without samples. `p` is held within 0 to 1.
pub fn quantile_rank(n: usize, p: f64) -> Option<usize> {
    // The small step down keeps 0.99 * 100 = 99.00000000000001 at rank 99.
    let rank = (p.clamp(0.0, 1.0) * n as f64 - 1e-9).ceil() as usize;
    (n > 0).then(|| rank.clamp(1, n) - 1)
}

/// Completion times of the finished flows of one group, in microseconds; `None` (JSON `null`)
/// where no flow finished. Percentiles are order statistics ([`quantile_rank`]).
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct FctStats {
    /// Flows that finished.
    pub n: u64,
    /// Mean.
    pub mean_us: Option<f64>,
    /// Median.
    pub p50_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
    /// 99.9th percentile.
    pub p999_us: Option<f64>,
    /// Flows that did not finish; the figures above leave them out.
    pub unfinished: u64,
}

impl FctStats {
    /// The figures of `flows`, in any order.
    pub fn of<'a>(flows: impl IntoIterator<Item = &'a FlowRecord>) -> Self {
        Self::of_times(flows.into_iter().map(|flow| flow.fct))
    }

    /// The figures of completion times, in any order; `None` for what did not finish.
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

/// [`FctStats`] by size group and over all flows.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct FctSummary {
    /// Flows under 100 KB.
    pub mice: FctStats,
    /// Flows from 100 KB to under 1 MB.
    pub medium: FctStats,
    /// Flows from 1 MB.
    pub elephants: FctStats,
    /// All flows.
    pub all: FctStats,
}

impl FctSummary {
    /// The figures of `flows`, in any order.
    pub fn of(flows: &(impl FlowRows + ?Sized)) -> Self {
        // A group after the other: its completion times are all that has to be held at once.
        let mut has = [false; 3];
        let all = FctStats::of_times(flows.rows().map(|flow| {
            has[SizeGroup::of(flow.bytes) as usize] = true;
            flow.fct
        }));
        let group = |group: SizeGroup| match has[group as usize] {
            false => FctStats::default(),
            // The only one.
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
