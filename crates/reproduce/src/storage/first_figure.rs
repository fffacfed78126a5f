//! Goodput of TCP and NDP with one and with three replicas (SCDP paper, figure 1).
//! The figure motivates SCDP for storage.

use super::figures::{Load, MEAN_GOODPUT};
use crate::band;
use crate::case::Keys;
use crate::measure::Selection;
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;

/// Load and method of each bar in the figure. Each host has 8 writes of 1 MB per second, or 24 reads of 1 MB.
const WAYS: [(Load, Keys); 5] = [
    (
        way("writes of one replica", "figure-write-1", 8),
        &[("workload.replicas", "1"), ("designs", "tcp, ndp")],
    ),
    (
        way(
            "writes of three replicas, a flow to each",
            "figure-write-3",
            8,
        ),
        &[("designs", "tcp, ndp")],
    ),
    (
        way(
            "writes of three replicas, down a chain",
            "figure-chain-3",
            8,
        ),
        &[("workload.write", "daisy-chain"), ("designs", "tcp, ndp")],
    ),
    (
        way("reads of blocks of one replica", "figure-read-1", 24),
        &[
            ("workload.replicas", "1"),
            ("workload.read_share", "1"),
            ("designs", "tcp, ndp"),
        ],
    ),
    (
        way("reads of blocks of three replicas", "figure-read-3", 24),
        &[("workload.read_share", "1"), ("designs", "tcp, ndp")],
    ),
];

const fn way(description: &'static str, part: &'static str, per_host: u32) -> Load {
    Load {
        description,
        parts: (part, ""),
        sizes: "fixed:1MB",
        per_host,
    }
}

/// Band for a published order: the mean of NDP is higher than the mean of TCP.
const MORE: band::Band = band::from(5.0);
/// Band for a published order: the mean with three replicas is lower than the mean with one.
const LESS: band::Band = band::SOME_GAIN;

/// Reproduction of the figure that motivates SCDP for storage.
pub const FIRST_FIGURE: Reproduction = Reproduction {
    name: "scdp-storage-today",
    title: "Storage over TCP and NDP with one and three replicas (SCDP paper, figure 1)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let parts = WAYS
        .iter()
        .map(|(load, keys)| load.part(load.parts.0, keys));
    parts.collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for (load, _) in &WAYS {
        let at = Selection::new(results, load.parts.0, None);
        for design in ["tcp", "ndp"] {
            rows.push(row(
                format!(
                    "{}: {design}, mean goodput of sessions, Mb/s",
                    load.description
                ),
                at.ours(design, MEAN_GOODPUT),
                None,
                band::NO_BAND,
                "published as ranks",
            ));
        }
        rows.push(row(
            format!("{}: ndp, mean goodput against tcp, %", load.description),
            at.change("ndp", "tcp", MEAN_GOODPUT),
            None,
            MORE,
            "published as ranks: TCP performs poorly",
        ));
    }
    for (description, part) in [
        ("a flow to each", "figure-write-3"),
        ("a chain", "figure-chain-3"),
    ] {
        for design in ["tcp", "ndp"] {
            let [three, one] =
                [part, "figure-write-1"].map(|part| Selection::new(results, part, None));
            rows.push(row(
                format!("{design}, writes of three replicas by {description} against one, %"),
                three.change_from(design, (one, design), MEAN_GOODPUT),
                None,
                LESS,
                "published as ranks: both perform poorly",
            ));
        }
    }
    rows
}
