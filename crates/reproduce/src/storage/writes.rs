//! Writes to three replicas (SCDP paper, figure 5).
//! The methods are multicast, one flow to each replica, and a chain of replicas.

use super::figures::{Load, ON_REAL_HOSTS, rows_of};
use crate::case::Keys;
use crate::part::{Part, Reproduction, Results};
use tailcut_report::ComparisonRow;

/// Loads of the figure. The first part uses multicast. Designs without multicast use one flow to each replica.
/// The second part uses a chain of replicas.
const LOADS: [Load; 4] = [
    Load {
        description: "writes of 1 MB, 4 per second and host",
        parts: ("writes-1mb-light", "chains-1mb-light"),
        sizes: "fixed:1MB",
        per_host: 4,
    },
    Load {
        description: "writes of 1 MB, 8 per second and host",
        parts: ("writes-1mb-heavy", "chains-1mb-heavy"),
        sizes: "fixed:1MB",
        per_host: 8,
    },
    Load {
        description: "writes of 4 MB, 4 per second and host",
        parts: ("writes-4mb-light", "chains-4mb-light"),
        sizes: "fixed:4MB",
        per_host: 4,
    },
    Load {
        description: "writes of 4 MB, 8 per second and host",
        parts: ("writes-4mb-heavy", "chains-4mb-heavy"),
        sizes: "fixed:4MB",
        per_host: 8,
    },
];

/// Published goodput of background flows at the highest load, in Gb/s, by design.
const BACKGROUND: &[(&str, f64)] = &[("scdp", 0.408), ("ndp", 0.252), ("pias", 0.182)];

/// Reproduction of the figure about writes.
pub const WRITES: Reproduction = Reproduction {
    name: "scdp-storage-writes",
    title: "Writes to three replicas: SCDP, NDP, NDP+, PIAS (SCDP paper, figure 5)",
    parts,
    parts_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let chains: Keys = &[
        ("workload.write", "daisy-chain"),
        ("designs", "ndp, ndp-plus, pias"),
    ];
    let parts = LOADS.iter().flat_map(|load| {
        let (own, other) = load.parts;
        [load.part(own, &[]), load.part(other, chains)]
    });
    parts.collect()
}

fn parts_on_real_hosts() -> Vec<Part> {
    let blocks_of_1_mb = LOADS.iter().take(ON_REAL_HOSTS);
    let parts = blocks_of_1_mb.map(|load| load.part_on_real_hosts(&[], "scdp"));
    parts.collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let rows = LOADS.iter().flat_map(|load| {
        let heaviest = load.parts.0 == "writes-4mb-heavy";
        let published = if heaviest { BACKGROUND } else { &[] };
        rows_of(results, load, ("multi-unicast", "daisy chain"), published)
    });
    rows.collect()
}
