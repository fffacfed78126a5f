//! Functions that all figures of Expeditus share.

use crate::measure::{Figure, MICE, Selection, fcts};
use crate::measured_value::MeasuredValue;
use crate::part::Results;
use tailcut_report::Statistic;
use tailcut_scenario::record::{FlowRecord, RunRecord};

pub const FINAL: &str = include_str!("../../scenarios/reproduce/expeditus.toml");
pub const DECK: &str = include_str!("../../scenarios/reproduce/expeditus-deck.toml");

pub const ECMP: &str = "tcp";
pub const FINAL_FORM: &str = "tcp@expeditus";
pub const DECK_FORM: &str = "tcp@expeditus-deck";

/// Minimum size of elephants in bytes. The papers call the longest flows elephants.
pub const ELEPHANTS: u64 = 1_000_000;

/// Measurements for which the papers publish results.
#[derive(Clone, Copy, PartialEq)]
pub enum Measure {
    TailOfMice,
    MeanOfElephants,
    MeanOfMice,
}

impl Measure {
    pub const ALL: [Self; 3] = [Self::MeanOfMice, Self::TailOfMice, Self::MeanOfElephants];

    pub fn name(self) -> &'static str {
        match self {
            Self::TailOfMice => "p99 of mice",
            Self::MeanOfElephants => "mean of elephants",
            Self::MeanOfMice => "mean of mice",
        }
    }

    /// Returns the largest change against ECMP that the papers publish ("up to"), in per cent.
    pub const fn published(self) -> Option<f64> {
        match self {
            Self::TailOfMice => Some(-45.0),
            Self::MeanOfElephants => Some(-38.0),
            Self::MeanOfMice => None,
        }
    }

    pub const fn statistic(self) -> Statistic {
        match self {
            Self::TailOfMice => Statistic::P99,
            Self::MeanOfElephants | Self::MeanOfMice => Statistic::Mean,
        }
    }

    /// Returns the completion times in microseconds of this measurement's flows, if `keep` selects them.
    pub fn fcts(self, run: &RunRecord, keep: impl Fn(&FlowRecord) -> bool) -> Vec<f64> {
        match self {
            Self::TailOfMice | Self::MeanOfMice => {
                fcts(run, |flow| flow.bytes.0 < MICE && keep(flow))
            }
            Self::MeanOfElephants => fcts(run, |flow| flow.bytes.0 >= ELEPHANTS && keep(flow)),
        }
    }
}

/// Returns the change of a design's value against ECMP in per cent.
pub fn change(
    results: &Results,
    (part, load): (&str, f64),
    design: &str,
    measure: Measure,
) -> MeasuredValue {
    let fcts = |run: &RunRecord| measure.fcts(run, |_| true);
    let figure = Figure::Of(measure.statistic(), &fcts);
    Selection::new(results, part, Some(load)).change(design, ECMP, figure)
}
