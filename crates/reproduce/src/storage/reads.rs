//! Reads of blocks with three replicas (SCDP paper, figure 6).
//! A read transfers one block from all replicas, one block from one replica, or three blocks at the same time.
//! In a read of three blocks, each block comes from one replica.

use super::figures::{Load, ON_REAL_HOSTS, rows_of};
use crate::case::Keys;
use crate::part::{Part, Reproduction, Results};
use tailcut_report::ComparisonRow;

/// Loads of the figure. In the first part, a read is from all replicas, but some designs can only read from one.
/// In the second part, each read is of three blocks at the same time.
/// A write brings a block to three hosts, and a read to one host. There are therefore three times as many reads.
const LOADS: [Load; 4] = [
    Load {
        description: "reads of 1 MB, 12 per second and host",
        parts: ("reads-1mb-light", "ahead-1mb-light"),
        sizes: "fixed:1MB",
        per_host: 12,
    },
    Load {
        description: "reads of 1 MB, 24 per second and host",
        parts: ("reads-1mb-heavy", "ahead-1mb-heavy"),
        sizes: "fixed:1MB",
        per_host: 24,
    },
    Load {
        description: "reads of 4 MB, 12 per second and host",
        parts: ("reads-4mb-light", "ahead-4mb-light"),
        sizes: "fixed:4MB",
        per_host: 12,
    },
    Load {
        description: "reads of 4 MB, 24 per second and host",
        parts: ("reads-4mb-heavy", "ahead-4mb-heavy"),
        sizes: "fixed:4MB",
        per_host: 24,
    },
];

const READS_ONLY: Keys = &[("workload.read_share", "1")];

/// Published goodput of background flows at the highest load, in Gb/s, by design.
const BACKGROUND: &[(&str, f64)] = &[("ndp", 0.342), ("pias", 0.152)];

/// Reproduction of the figure about reads.
pub const READS: Reproduction = Reproduction {
    name: "scdp-storage-reads",
    title: "Reads of blocks with three replicas: SCDP, NDP, NDP+, PIAS (SCDP paper, figure 6)",
    parts,
    parts_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let ahead: Keys = &[
        ("workload.read_share", "1"),
        ("workload.read", "one-replica"),
        ("workload.blocks", "3"),
        ("designs", "ndp, ndp-plus, pias"),
    ];
    let parts = LOADS.iter().flat_map(|load| {
        let (own, other) = load.parts;
        [load.part(own, READS_ONLY), load.part(other, ahead)]
    });
    parts.collect()
}

/// Returns the parts in credit mode, with switches that do not trim.
/// In paper mode over UDP, SCDP supports only one sender, so it cannot read from all replicas.
fn parts_on_real_hosts() -> Vec<Part> {
    let blocks_of_1_mb = LOADS.iter().take(ON_REAL_HOSTS);
    let parts = blocks_of_1_mb.map(|load| load.part_on_real_hosts(READS_ONLY, "scdp-plain"));
    parts.collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
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
