//! Reads of blocks with three replicas (SCDP paper, figure 6): from all of them, from one, and of three blocks at once
//! from one of each.

use super::figures::{Load, ON_REAL_HOSTS, rows_of};
use crate::case::Keys;
use crate::part::{Part, Reproduction, Results};
use tailcut_report::ComparisonRow;

/// See the module.
pub struct Reads;

/// Each from all replicas (from one in designs without that), and of three blocks at once. A read takes a link a
/// third of the time that a write does, so that three times as many come.
const LOADS: [Load; 4] = [
    Load {
        what: "reads of 1 MB, 12 a second a host",
        parts: ("reads-1mb-light", "ahead-1mb-light"),
        sizes: "fixed:1MB",
        per_host: 12,
    },
    Load {
        what: "reads of 1 MB, 24 a second a host",
        parts: ("reads-1mb-heavy", "ahead-1mb-heavy"),
        sizes: "fixed:1MB",
        per_host: 24,
    },
    Load {
        what: "reads of 4 MB, 12 a second a host",
        parts: ("reads-4mb-light", "ahead-4mb-light"),
        sizes: "fixed:4MB",
        per_host: 12,
    },
    Load {
        what: "reads of 4 MB, 24 a second a host",
        parts: ("reads-4mb-heavy", "ahead-4mb-heavy"),
        sizes: "fixed:4MB",
        per_host: 24,
    },
];

const READS: Keys = &[("workload.read_share", "1")];

/// With the heaviest load, in Gb/s.
const BACKGROUND: &[(&str, f64)] = &[("ndp", 0.342), ("pias", 0.152)];

impl Reproduction for Reads {
    fn name(&self) -> &'static str {
        "scdp-storage-reads"
    }

    fn title(&self) -> &'static str {
        "Reads of blocks with three replicas: SCDP, NDP, NDP+, PIAS (SCDP paper, figure 6)"
    }

    fn parts(&self) -> Vec<Part> {
        let ahead: Keys = &[
            ("workload.read_share", "1"),
            ("workload.read", "one-replica"),
            ("workload.blocks", "3"),
            ("designs", "ndp, ndp-plus, pias"),
        ];
        let parts = LOADS.iter().flat_map(|load| {
            let (own, other) = load.parts;
            [load.part(own, READS), load.part(other, ahead)]
        });
        parts.collect()
    }

    /// Over UDP paper mode has one sender, so these are reads in credit mode, on switches that drop.
    fn parts_on_real_hosts(&self) -> Vec<Part> {
        let blocks_of_1_mb = LOADS.iter().take(ON_REAL_HOSTS);
        let parts = blocks_of_1_mb.map(|load| load.part_on_real_hosts(READS, "scdp-plain"));
        parts.collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let rows = LOADS.iter().flat_map(|load| {
            let heaviest = load.parts.0 == "reads-4mb-heavy";
            let published = if heaviest { BACKGROUND } else { &[] };
            rows_of(
                results,
                load,
                ("one replica", "three blocks at once"),
                published,
            )
        });
        rows.collect()
    }
}
