//! Expeditus (SoCC 2016, and the slides that show its first form), and what its figures depend on.

mod paths;
mod sensitivity;

pub use paths::Expeditus;
pub use sensitivity::Sensitivity;

use super::measure::{MICE, Statistic, fcts, mean};
use tailcut_record::{FlowRecord, RunRecord};

const FINAL: &str = include_str!("../../../../../scenarios/reproduce/expeditus.toml");
const DECK: &str = include_str!("../../../../../scenarios/reproduce/expeditus-deck.toml");

const ECMP: &str = "tcp";
const FINAL_FORM: &str = "tcp@expeditus";
const DECK_FORM: &str = "tcp@expeditus-deck";

/// Flows from this size on are elephants here, in bytes: the papers' word for the longest.
const ELEPHANTS: u64 = 1_000_000;

/// What the published numbers are of.
#[derive(Clone, Copy, PartialEq)]
enum Figure {
    TailOfMice,
    MeanOfElephants,
    MeanOfMice,
}

impl Figure {
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

    /// Of all flows, in microseconds; infinite where one did not finish that counts.
    fn of(self, run: &RunRecord) -> f64 {
        self.of_those(run, |_| true)
    }

    /// Of the flows that `keep` lets through.
    fn of_those(self, run: &RunRecord, keep: impl Fn(&FlowRecord) -> bool) -> f64 {
        let mice = |flow: &FlowRecord| flow.bytes.0 < MICE && keep(flow);
        match self {
            Self::TailOfMice => Statistic::P99.of(&fcts(run, mice)),
            Self::MeanOfMice => mean(&fcts(run, mice)),
            Self::MeanOfElephants => {
                mean(&fcts(run, |flow| flow.bytes.0 >= ELEPHANTS && keep(flow)))
            }
        }
    }
}
