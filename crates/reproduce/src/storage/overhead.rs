//! Wasted symbols in one-to-many sessions (SCDP paper, section V-H, figure 17).

use super::figures::{Load, MEAN_GOODPUT, goodputs};
use crate::band;
use crate::measure::Selection;
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;
use tailcut_scenario::record::{RunRecord, SessionOutcome, SessionSummary};

const LOADS: [Load; 4] = [
    Load {
        description: "1 MB, 4 per second and host",
        parts: ("overhead-1mb-light", ""),
        sizes: "fixed:1MB",
        per_host: 4,
    },
    Load {
        description: "1 MB, 8 per second and host",
        parts: ("overhead-1mb-heavy", ""),
        sizes: "fixed:1MB",
        per_host: 8,
    },
    Load {
        description: "4 MB, 4 per second and host",
        parts: ("overhead-4mb-light", ""),
        sizes: "fixed:4MB",
        per_host: 4,
    },
    Load {
        description: "4 MB, 8 per second and host",
        parts: ("overhead-4mb-heavy", ""),
        sizes: "fixed:4MB",
        per_host: 8,
    },
];

/// Returns the percentage of sessions in which a receiver received more than `least` useless symbols.
pub(super) fn share_above(run: &RunRecord, least: u32) -> f64 {
    let outcomes = SessionOutcome::of(&run.sessions);
    let above = outcomes.iter().filter(|session| session.in_vain > least);
    100.0 * above.count() as f64 / outcomes.len() as f64
}

/// Returns the percentage of received symbols that were useless for their receiver.
pub(super) fn share_in_vain(run: &RunRecord) -> f64 {
    let summary = SessionSummary::of(&run.sessions).unwrap_or_default();
    100.0 * summary.in_vain as f64 / summary.symbols as f64
}

/// Returns the percentage of received symbols that arrived after their receiver had the whole object.
fn share_late(run: &RunRecord) -> f64 {
    let summary = SessionSummary::of(&run.sessions).unwrap_or_default();
    100.0 * summary.late as f64 / (summary.symbols + summary.late) as f64
}

/// Reproduction of the figure about wasted symbols.
pub const OVERHEAD: Reproduction = Reproduction {
    name: "scdp-overhead",
    title: "Wasted symbols of one-to-many sessions (SCDP paper, figure 17)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let designs = &[("designs", "scdp, ndp")];
    let parts = LOADS.iter().map(|load| load.part(load.parts.0, designs));
    parts.collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for load in &LOADS {
        let (part, description) = (load.parts.0, load.description);
        let at = Selection::new(results, part, None);
        let count = at.measured("scdp", goodputs).sample().len();
        for least in [0, 10, 50, 100] {
            rows.push(row(
                format!("{description}: of {count} sessions with over {least} wasted symbols, %"),
                &at.by_seed("scdp", |run| share_above(run, least)),
                None,
                band::NO_BAND,
                "published as a CCDF",
            ));
        }
        let heaviest = part == "overhead-4mb-heavy";
        rows.push(row(
            format!("{description}: wasted symbols, as a share of all arrived symbols, %"),
            &at.by_seed("scdp", share_in_vain),
            heaviest.then_some(1.0),
            // The band allows zero to twice the published value.
            heaviest.then_some((0.0, 2.0)),
            "the published 1 % at heavy load",
        ));
        rows.push(row(
            format!("{description}: symbols that arrive too late, %"),
            &at.by_seed("scdp", share_late),
            None,
            band::NO_BAND,
            "not in the paper",
        ));
        rows.push(row(
            format!("{description}: scdp, mean goodput against ndp by multi-unicast, %"),
            at.change("scdp", "ndp", MEAN_GOODPUT),
            None,
            band::NOT_LESS,
            "published: significantly better",
        ));
    }
    rows
}
