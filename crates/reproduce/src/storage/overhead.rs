//! Symbols that one-to-many sessions send in vain (SCDP paper, section V-H, figure 17).

use super::figures::{Load, MEAN_GOODPUT, NOT_LESS, goodputs};
use crate::band;
use crate::measure::At;
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;
use tailcut_scenario::record::{RunRecord, SessionOutcome, SessionSummary};

/// See the module.
pub struct Overhead;

const LOADS: [Load; 4] = [
    Load {
        what: "1 MB, 4 a second a host",
        parts: ("overhead-1mb-light", ""),
        sizes: "fixed:1MB",
        per_host: 4,
    },
    Load {
        what: "1 MB, 8 a second a host",
        parts: ("overhead-1mb-heavy", ""),
        sizes: "fixed:1MB",
        per_host: 8,
    },
    Load {
        what: "4 MB, 4 a second a host",
        parts: ("overhead-4mb-light", ""),
        sizes: "fixed:4MB",
        per_host: 4,
    },
    Load {
        what: "4 MB, 8 a second a host",
        parts: ("overhead-4mb-heavy", ""),
        sizes: "fixed:4MB",
        per_host: 8,
    },
];

/// The share of sessions, in per cent, of which more than `least` symbols came in vain for some receiver.
pub(super) fn share_above(run: &RunRecord, least: u32) -> f64 {
    let outcomes = SessionOutcome::of(&run.sessions);
    let above = outcomes.iter().filter(|session| session.in_vain > least);
    100.0 * above.count() as f64 / outcomes.len() as f64
}

/// The share of the symbols that arrived, in per cent, that came in vain for their receiver.
pub(super) fn share_in_vain(run: &RunRecord) -> f64 {
    let summary = SessionSummary::of(&run.sessions).unwrap_or_default();
    100.0 * summary.in_vain as f64 / summary.symbols as f64
}

/// The share of the symbols that arrived, in per cent, that came when their receiver had everything.
fn share_late(run: &RunRecord) -> f64 {
    let summary = SessionSummary::of(&run.sessions).unwrap_or_default();
    100.0 * summary.late as f64 / (summary.symbols + summary.late) as f64
}

impl Reproduction for Overhead {
    fn name(&self) -> &'static str {
        "scdp-overhead"
    }

    fn title(&self) -> &'static str {
        "Symbols that one-to-many sessions send in vain (SCDP paper, figure 17)"
    }

    fn parts(&self) -> Vec<Part> {
        let designs = &[("designs", "scdp, ndp")];
        let parts = LOADS.iter().map(|load| load.part(load.parts.0, designs));
        parts.collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for load in &LOADS {
            let (part, what) = (load.parts.0, load.what);
            let at = At::new(results, part, None);
            let count = at.measured("scdp", goodputs).sample().len();
            for least in [0, 10, 50, 100] {
                rows.push(row(
                    format!("{what}: of {count} sessions with over {least} symbols in vain, %"),
                    &at.by_seed("scdp", |run| share_above(run, least)),
                    None,
                    band::SHOWN,
                    "published as a CCDF",
                ));
            }
            let heaviest = part == "overhead-4mb-heavy";
            rows.push(row(
                format!("{what}: symbols in vain of those that arrived, %"),
                &at.by_seed("scdp", share_in_vain),
                heaviest.then_some(1.0),
                // As little as none, or twice as much.
                heaviest.then_some((0.0, 2.0)),
                "the published 1 % at heavy load",
            ));
            rows.push(row(
                format!("{what}: symbols too late, %"),
                &at.by_seed("scdp", share_late),
                None,
                band::SHOWN,
                "not in the paper",
            ));
            rows.push(row(
                format!("{what}: scdp, mean goodput against ndp by multi-unicast, %"),
                at.change("scdp", "ndp", MEAN_GOODPUT),
                None,
                NOT_LESS,
                "published: significantly better",
            ));
        }
        rows
    }
}
