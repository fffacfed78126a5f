//! What a row is made of: figures of one run, and their change between designs, paired by seed.

use super::Results;
use tailcut_record::{FlowRecord, RequestRecord, RunRecord, quantile_rank};

/// What is measured, with its unit, and the figure of one run.
pub type Metric = (&'static str, fn(&RunRecord) -> f64);

/// Flows under this size are mice, in bytes.
pub const MICE: u64 = 100_000;

/// Completion times of the flows that `keep` lets through, sorted, in microseconds; infinite for those
/// that did not finish.
pub fn fcts(run: &RunRecord, keep: impl Fn(&FlowRecord) -> bool) -> Vec<f64> {
    let kept = run.flows.iter().filter(|flow| keep(flow));
    let mut fcts: Vec<f64> = kept
        .map(|flow| flow.fct.map_or(f64::INFINITY, |fct| fct.as_us_f64()))
        .collect();
    fcts.sort_unstable_by(f64::total_cmp);
    fcts
}

/// The latencies of a run's requests, sorted, in milliseconds; infinite for those that are not done.
pub fn latencies(run: &RunRecord) -> Vec<f64> {
    let latency = |request: &RequestRecord| request.latency.map(|l| l.as_secs_f64() * 1e3);
    let requests = run.requests.iter();
    let mut latencies: Vec<f64> = requests
        .map(|r| latency(r).unwrap_or(f64::INFINITY))
        .collect();
    latencies.sort_unstable_by(f64::total_cmp);
    latencies
}

/// The mean latency of a run's requests, in milliseconds.
pub fn mean_latency(run: &RunRecord) -> f64 {
    mean(&latencies(run))
}

/// The mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The `p`-quantile of sorted values; NaN without values.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    quantile_rank(sorted.len(), p).map_or(f64::NAN, |rank| sorted[rank])
}

/// A statistic of completion times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// A quantile, 0 to 1.
    Quantile(f64),
}

impl Statistic {
    /// The 99th percentile.
    pub const P99: Self = Self::Quantile(0.99);
    /// The 99.9th percentile.
    pub const P999: Self = Self::Quantile(0.999);

    /// The word in rows.
    pub fn name(self) -> String {
        match self {
            Self::Mean => "mean".to_owned(),
            Self::Quantile(p) => format!("p{}", (p * 1_000.0).round() / 10.0),
        }
    }

    /// The statistic of sorted values.
    pub fn of(self, sorted: &[f64]) -> f64 {
        match self {
            Self::Mean => mean(sorted),
            Self::Quantile(p) => quantile(sorted, p),
        }
    }

    /// The statistic of the completion times of a run's mice, in microseconds.
    pub fn of_mice(self, run: &RunRecord) -> f64 {
        self.of(&fcts(run, |flow| flow.bytes.0 < MICE))
    }
}

/// The runs of one part at one load.
pub struct At<'a> {
    results: &'a Results,
    part: &'a str,
    load: Option<f64>,
}

impl<'a> At<'a> {
    /// The runs of `part` at `load`; `None` for a part without a load.
    pub const fn new(results: &'a Results, part: &'a str, load: Option<f64>) -> Self {
        Self {
            results,
            part,
            load,
        }
    }

    fn runs(&self, design: &'a str) -> impl Iterator<Item = &'a RunRecord> {
        let load = self.load;
        let near = move |run: &&RunRecord| match (run.key.load, load) {
            (Some(its), Some(load)) => (its - load).abs() < 1e-9,
            _ => true,
        };
        self.results.runs(self.part, design).filter(near)
    }

    /// The figure of each seed.
    pub fn by_seed(&self, design: &'a str, figure: impl Fn(&RunRecord) -> f64) -> Vec<f64> {
        self.runs(design).map(figure).collect()
    }

    /// By how many per cent the figure of `design` is above that of `base`, for each seed. All designs
    /// of a seed see the same flows.
    pub fn change(
        &self,
        design: &'a str,
        base: &'a str,
        figure: impl Fn(&RunRecord) -> f64,
    ) -> Vec<f64> {
        let pairs = self.runs(design).zip(self.runs(base));
        pairs
            .map(|(ours, theirs)| (figure(ours) / figure(theirs) - 1.0) * 100.0)
            .collect()
    }

    /// By how much the figure of `design` is above that of `base`, for each seed.
    pub fn difference(
        &self,
        design: &'a str,
        base: &'a str,
        figure: impl Fn(&RunRecord) -> f64,
    ) -> Vec<f64> {
        let pairs = self.runs(design).zip(self.runs(base));
        pairs
            .map(|(ours, theirs)| figure(ours) - figure(theirs))
            .collect()
    }

    /// How many mice there are in all seeds of a design.
    pub fn mice(&self, design: &'a str) -> usize {
        let count = |run: &RunRecord| run.flows.iter().filter(|flow| flow.bytes.0 < MICE).count();
        self.runs(design).map(count).sum()
    }
}
