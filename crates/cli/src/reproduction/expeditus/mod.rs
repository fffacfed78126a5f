//! Expeditus (SoCC 2016, and the slides that show its first form), and what its figures depend on.

mod paths;
mod sensitivity;

pub use paths::Expeditus;
pub use sensitivity::Sensitivity;

use super::measure::{MICE, fcts};
use tailcut_record::{FlowRecord, RunRecord};
use tailcut_report::Statistic;

const FINAL: &str = include_str!("../../../../../scenarios/reproduce/expeditus.toml");
const DECK: &str = include_str!("../../../../../scenarios/reproduce/expeditus-deck.toml");

const ECMP: &str = "tcp";
const FINAL_FORM: &str = "tcp@expeditus";
const DECK_FORM: &str = "tcp@expeditus-deck";

/// Flows from this size on are elephants here, in bytes: the papers' word for the longest.
const ELEPHANTS: u64 = 1_000_000;

/// What the published numbers are of.
#[derive(Clone, Copy, PartialEq)]
enum Measure {
    TailOfMice,
    MeanOfElephants,
    MeanOfMice,
}

impl Measure {
    const ALL: [Self; 3] = [Self::MeanOfMice, Self::TailOfMice, Self::MeanOfElephants];

    fn name(self) -> &'static str {
        match self {
            Self::TailOfMice => "p99 of mice",
            Self::MeanOfElephants => "mean of elephants",
            Self::MeanOfMice => "mean of mice",
        }
    }

    /// The largest published change against ECMP, "up to", in per cent.
    const fn published(self) -> Option<f64> {
        match self {
            Self::TailOfMice => Some(-45.0),
            Self::MeanOfElephants => Some(-38.0),
            Self::MeanOfMice => None,
        }
    }

    const fn statistic(self) -> Statistic {
        match self {
            Self::TailOfMice => Statistic::P99,
            Self::MeanOfElephants | Self::MeanOfMice => Statistic::Mean,
        }
    }

    /// Completion times of the flows that it is of and that `keep` lets through, in microseconds.
    fn fcts(self, run: &RunRecord, keep: impl Fn(&FlowRecord) -> bool) -> Vec<f64> {
        match self {
            Self::TailOfMice | Self::MeanOfMice => {
                fcts(run, |flow| flow.bytes.0 < MICE && keep(flow))
            }
            Self::MeanOfElephants => fcts(run, |flow| flow.bytes.0 >= ELEPHANTS && keep(flow)),
        }
    }
}
