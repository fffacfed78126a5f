//! TCP and NDP under one and three replicas (SCDP paper, figure 1): why storage wants more.

use super::figures::{Load, MEAN_GOODPUT};
use crate::band;
use crate::case::Keys;
use crate::measure::At;
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;

/// See the module.
pub struct FirstFigure;

/// A write or a read of 1 MB, 8 and 24 a second a host, in every way of the figure.
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

const fn way(what: &'static str, part: &'static str, per_host: u32) -> Load {
    Load {
        what,
        parts: (part, ""),
        sizes: "fixed:1MB",
        per_host,
    }
}

/// The published orders: how much NDP's mean is above TCP's, and three replicas above one.
const MORE: band::Band = band::from(5.0);
const LESS: band::Band = band::SOME_GAIN;

impl Reproduction for FirstFigure {
    fn name(&self) -> &'static str {
        "scdp-storage-today"
    }

    fn title(&self) -> &'static str {
        "Storage over TCP and NDP with one and three replicas (SCDP paper, figure 1)"
    }

    fn parts(&self) -> Vec<Part> {
        let parts = WAYS
            .iter()
            .map(|(load, keys)| load.part(load.parts.0, keys));
        parts.collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for (load, _) in &WAYS {
            let at = At::new(results, load.parts.0, None);
            for design in ["tcp", "ndp"] {
                rows.push(row(
                    format!("{}: {design}, mean goodput of sessions, Mb/s", load.what),
                    at.ours(design, MEAN_GOODPUT),
                    None,
                    band::SHOWN,
                    "published as ranks",
                ));
            }
            rows.push(row(
                format!("{}: ndp, mean goodput against tcp, %", load.what),
                at.change("ndp", "tcp", MEAN_GOODPUT),
                None,
                MORE,
                "published as ranks: TCP performs poorly",
            ));
        }
        for (what, part) in [
            ("a flow to each", "figure-write-3"),
            ("a chain", "figure-chain-3"),
        ] {
            for design in ["tcp", "ndp"] {
                let [three, one] =
                    [part, "figure-write-1"].map(|part| At::new(results, part, None));
                rows.push(row(
                    format!("{design}, writes of three replicas by {what} against one, %"),
                    three.against(design, (one, design), MEAN_GOODPUT),
                    None,
                    LESS,
                    "published as ranks: both perform poorly",
                ));
            }
        }
        rows
    }
}
