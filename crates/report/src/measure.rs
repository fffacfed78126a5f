//! Texts about the measured part of a setting: a sentence for the answer, and a column for its tables.

use crate::caveat::Caveat;
use crate::format::{Quantity, count, percent_digits};
use crate::group::Group;
use crate::run::Run;
use crate::study::Study;
use crate::table::Cell;
use crate::warm_up::{MeasuredPart, starters};
use serde_json::Value;
use tailcut_record::MeasureBound;
use tailcut_units::Duration;

/// Name of the column with the measured share of the flows.
pub(crate) const COLUMN: &str = "measured";

/// Number of measured flows and of all flows. In runs without flows, requests are counted.
struct Counts {
    noun: &'static str,
    measured: usize,
    all: usize,
}

impl Counts {
    fn of<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Self {
        let group = match runs.clone().all(|run| run.flows.is_empty()) {
            true => Group::requests(),
            false => Group::all(),
        };
        Self {
            noun: group.noun(),
            measured: runs.clone().map(|run| group.members(run).len()).sum(),
            all: runs.map(|run| starters(run).len()).sum(),
        }
    }
}

/// Returns the sentence about the measured part of a setting. Returns `None` if all flows are measured.
pub(crate) fn sentence(study: &Study, setting: usize) -> Option<String> {
    let cells = study.cells();
    let cell = cells.get(setting)?;
    let part = study.measured(&cell.setting)?;
    let runs = cell.designs.iter().flat_map(|(_, runs)| runs);
    let Counts {
        noun,
        measured,
        all,
    } = Counts::of(runs.copied());
    let start = part.start();
    if measured == 0 {
        return Some(format!(
            "Nothing is measured: none of {} {noun} starts {start}.",
            count(all as u64)
        ));
    }
    let (not_steady, see) = match part.warm_up {
        Some(warm_up) if !warm_up.is_steady => (
            format!(
                "Not steady: in the first half of the arrivals, the number of {noun} in the system does not reach its \
                 mean. "
            ),
            Caveat::NotSteady.see(),
        ),
        _ => Default::default(),
    };
    Some(format!(
        "{not_steady}Measured: {} of {} {noun}, which start {start}.{see}",
        count(measured as u64),
        count(all as u64)
    ))
}

/// Returns the sentence about flows that only carry load. Returns `None` if the setting has only recorded flows.
pub(crate) fn load_only_sentence(study: &Study, setting: usize) -> Option<String> {
    let cells = study.cells();
    let designs = cells.get(setting)?.designs.iter();
    let runs = designs.flat_map(|(_, runs)| runs);
    let flows: u64 = runs.filter_map(|run| run.summary.load_only).sum();
    (flows > 0).then(|| {
        format!(
            "Load only: {} later flows, which are not measured, arrive until all others have ended \
             (measure.continue_load).",
            count(flows)
        )
    })
}

/// Returns a cell with the measured share of a design's flows in a setting.
/// The cell is empty if all flows are measured.
pub(crate) fn cell(study: &Study, setting: usize, design: &str) -> Cell {
    let cells = study.cells();
    let here = cells.get(setting);
    let part = here.and_then(|cell| study.measured(&cell.setting));
    let Some((cell, _)) = here.zip(part) else {
        return Cell::new("–".to_owned(), Value::Null);
    };
    let counts = Counts::of(cell.runs(design).iter().copied());
    let share = counts.measured as f64 / counts.all.max(1) as f64;
    Cell::new(format!("{} %", percent_digits(share * 100.0)), share)
}

impl MeasuredPart {
    /// Returns a text with the time range in which the measured flows start, and the study's keys for this range.
    fn start(&self) -> String {
        let (mut times, mut keys) = (Vec::new(), Vec::new());
        let time = |us: f64| Quantity::Time.text(us);
        if let Some(warm_up) = self.warm_up {
            let end = time(warm_up.end_us);
            times.push(match warm_up.is_steady {
                true => format!("at {end} or later, after the warm-up of the network"),
                false => format!("at {end} or later"),
            });
        }
        match self.bounds.from {
            MeasureBound::At(span) if span > Duration::ZERO => {
                times.push(format!("at {} or later", time(span.as_us_f64())));
            }
            MeasureBound::Share(share) if share > 0.0 => times.push(format!(
                "after the first {} % of each run",
                percent_digits(share * 100.0)
            )),
            _ => {}
        }
        if !times.is_empty() {
            keys.push(format!("measure.from = \"{}\"", self.bounds.from));
        }
        match self.bounds.until {
            MeasureBound::At(span) => times.push(format!("before {}", time(span.as_us_f64()))),
            MeasureBound::Share(share) => times.push(format!(
                "before the last {} % of each run",
                percent_digits((1.0 - share) * 100.0)
            )),
            _ => {}
        }
        if keys.len() < times.len() {
            keys.push(format!("measure.until = \"{}\"", self.bounds.until));
        }
        format!("{} ({})", times.join(" and "), keys.join(", "))
    }
}
