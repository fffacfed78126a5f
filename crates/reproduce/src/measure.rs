//! What a row is made of: figures of the runs of a design, and their change between designs.

use crate::ours::{Ours, per_cent};
use crate::part::Results;
use tailcut_report::{Measured, Sample, Statistic};
use tailcut_scenario::record::{FlowRecord, RequestRecord, RunRecord};

/// Flows under this size are mice, in bytes.
pub const MICE: u64 = 100_000;

/// How a figure comes from the runs of a design.
#[derive(Clone, Copy)]
pub enum Figure<'f> {
    /// One number a run, such as a goodput or a share: its mean over the seeds.
    Run(&'f dyn Fn(&RunRecord) -> f64),
    /// A statistic of the values of all runs together, such as completion times.
    Of(Statistic, &'f dyn Fn(&RunRecord) -> Vec<f64>),
}

/// What is measured, with its unit, and its figure.
pub type Metric = (&'static str, Figure<'static>);

/// Completion times of the flows that `keep` lets through, in microseconds; infinite for those that did
/// not finish.
pub fn fcts(run: &RunRecord, keep: impl Fn(&FlowRecord) -> bool) -> Vec<f64> {
    let kept = run.flows.iter().filter(|flow| keep(flow));
    kept.map(|flow| flow.fct.map_or(f64::INFINITY, |fct| fct.as_us_f64()))
        .collect()
}

/// Completion times of a run's mice, in microseconds.
pub fn mice(run: &RunRecord) -> Vec<f64> {
    fcts(run, |flow| flow.bytes.0 < MICE)
}

/// Completion times of a run's elephants, all flows from 100 KB on, in microseconds.
pub fn elephants(run: &RunRecord) -> Vec<f64> {
    fcts(run, |flow| flow.bytes.0 >= MICE)
}

/// The latencies of a run's requests, in milliseconds; infinite for those that are not done.
pub fn latencies(run: &RunRecord) -> Vec<f64> {
    let latency = |request: &RequestRecord| request.latency.map(|l| l.as_secs_f64() * 1e3);
    let requests = run.requests.iter();
    requests
        .map(|r| latency(r).unwrap_or(f64::INFINITY))
        .collect()
}

/// The mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The runs of one part at one load.
#[derive(Clone, Copy)]
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

    /// One number of each seed.
    pub fn by_seed(&self, design: &'a str, figure: impl Fn(&RunRecord) -> f64) -> Vec<f64> {
        self.runs(design).map(figure).collect()
    }

    /// The values of all seeds.
    pub fn measured(&self, design: &'a str, values: impl Fn(&RunRecord) -> Vec<f64>) -> Measured {
        let seeds = self.runs(design).map(|run| run.key.seed).collect();
        Measured::new(Sample::new(self.runs(design).map(values)), seeds)
    }

    /// The figure of a design.
    pub fn ours(&self, design: &'a str, figure: Figure<'_>) -> Ours {
        match figure {
            Figure::Run(figure) => Ours::from(&self.by_seed(design, figure)),
            Figure::Of(statistic, values) => Ours::of(&self.measured(design, values), statistic),
        }
    }

    /// By how many per cent the figure of `design` is above that of `base`, paired by seed. All designs
    /// of a seed see the same flows.
    pub fn change(&self, design: &'a str, base: &'a str, figure: Figure<'_>) -> Ours {
        self.against(design, (*self, base), figure)
    }

    /// The same against a design of another part or load.
    pub fn against(
        &self,
        design: &'a str,
        (other, base): (At<'_>, &str),
        figure: Figure<'_>,
    ) -> Ours {
        match figure {
            Figure::Run(figure) => {
                let (ours, base) = (self.by_seed(design, figure), other.by_seed(base, figure));
                let changes = ours.iter().zip(&base).map(|(a, b)| per_cent(a / b));
                Ours::from(&changes.collect::<Vec<f64>>())
            }
            Figure::Of(statistic, values) => {
                let base = other.measured(base, values);
                Ours::change(&self.measured(design, values), &base, statistic)
            }
        }
    }
}
