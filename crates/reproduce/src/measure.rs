//! Measurements for rows: values of the runs of a design, and changes between designs.

use crate::measured_value::{MeasuredValue, per_cent};
use crate::part::Results;
use tailcut_report::{Measured, Sample, Statistic};
use tailcut_scenario::record::{FlowRecord, RequestRecord, RunRecord};

/// Size limit of mice in bytes: smaller flows are mice.
pub const MICE: u64 = 100_000;

/// Method that computes one figure from the runs of a design.
#[derive(Clone, Copy)]
pub enum Figure<'f> {
    /// One number for each run, such as a goodput or a share. The figure is the mean of the numbers over the seeds.
    Run(&'f dyn Fn(&RunRecord) -> f64),
    /// Statistic over the values of all runs together, such as completion times.
    Of(Statistic, &'f dyn Fn(&RunRecord) -> Vec<f64>),
}

/// Measurement: its name with the unit, and the method that computes it.
pub type Metric = (&'static str, Figure<'static>);

/// Returns the completion times in microseconds of the flows that `keep` selects.
/// The time of an unfinished flow is infinite.
pub fn fcts(run: &RunRecord, keep: impl Fn(&FlowRecord) -> bool) -> Vec<f64> {
    let kept = run.flows.iter().filter(|flow| keep(flow));
    kept.map(|flow| flow.fct.map_or(f64::INFINITY, |fct| fct.as_us_f64()))
        .collect()
}

/// Returns the completion times of mice in microseconds.
pub fn mice(run: &RunRecord) -> Vec<f64> {
    fcts(run, |flow| flow.bytes.0 < MICE)
}

/// Returns the completion times of elephants in microseconds. Elephants are all flows of at least 100 KB.
pub fn elephants(run: &RunRecord) -> Vec<f64> {
    fcts(run, |flow| flow.bytes.0 >= MICE)
}

/// Returns the latencies of requests in milliseconds. The latency of an unfinished request is infinite.
pub fn latencies(run: &RunRecord) -> Vec<f64> {
    let latency = |request: &RequestRecord| request.latency.map(|l| l.as_secs_f64() * 1e3);
    let requests = run.requests.iter();
    requests
        .map(|r| latency(r).unwrap_or(f64::INFINITY))
        .collect()
}

/// Returns the mean of values, or NaN if there are none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Runs of one part at one load.
#[derive(Clone, Copy)]
pub struct Selection<'a> {
    results: &'a Results,
    part: &'a str,
    load: Option<f64>,
}

impl<'a> Selection<'a> {
    /// Selects the runs of `part` at `load`. `load` is `None` for a part without a load.
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

    /// Returns one number for each seed: the result of `figure` for the run of this seed.
    pub fn by_seed(&self, design: &'a str, figure: impl Fn(&RunRecord) -> f64) -> Vec<f64> {
        self.runs(design).map(figure).collect()
    }

    /// Returns the values of the runs of all seeds.
    pub fn measured(&self, design: &'a str, values: impl Fn(&RunRecord) -> Vec<f64>) -> Measured {
        let seeds = self.runs(design).map(|run| run.key.seed).collect();
        Measured::new(Sample::new(self.runs(design).map(values)), seeds)
    }

    /// Returns the value of a figure for a design.
    pub fn ours(&self, design: &'a str, figure: Figure<'_>) -> MeasuredValue {
        match figure {
            Figure::Run(figure) => MeasuredValue::from(&self.by_seed(design, figure)),
            Figure::Of(statistic, values) => {
                MeasuredValue::of(&self.measured(design, values), statistic)
            }
        }
    }

    /// Returns the change of a figure from the design `base` to `design`, in per cent.
    /// Runs with the same seed are compared with each other, because they have the same flows.
    pub fn change(&self, design: &'a str, base: &'a str, figure: Figure<'_>) -> MeasuredValue {
        self.change_from(design, (*self, base), figure)
    }

    /// Returns the change of a figure from `base` to `design` in per cent, as [`Selection::change`] does.
    /// The base may be in another part or at another load.
    pub fn change_from(
        &self,
        design: &'a str,
        (other, base): (Selection<'_>, &str),
        figure: Figure<'_>,
    ) -> MeasuredValue {
        match figure {
            Figure::Run(figure) => {
                let (ours, base) = (self.by_seed(design, figure), other.by_seed(base, figure));
                let changes = ours.iter().zip(&base).map(|(a, b)| per_cent(a / b));
                MeasuredValue::from(&changes.collect::<Vec<f64>>())
            }
            Figure::Of(statistic, values) => {
                let base = other.measured(base, values);
                MeasuredValue::change(&self.measured(design, values), &base, statistic)
            }
        }
    }
}
