//! Sensitivity of the table of dynamic flows.
//! Each variant runs the four rows with another value of one parameter. The sources permit all values.

use super::figures::{COLUMNS, TABLE, farthest_ratio};
use crate::band;
use crate::measure::Selection;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use std::sync::LazyLock;
use tailcut_report::ComparisonRow;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/hull-dynamic.toml");

/// Variant: description and changed keys.
type Variant = (&'static str, &'static [(&'static str, &'static str)]);

/// All variants. The paper gives a gain (beta) of 16 without a clear unit. The variants contain three other gains:
/// 16 as a number per second, the default of public ns-2 code, and four times the value that we use.
const VARIANTS: [Variant; 22] = [
    ("as reproduced", &[]),
    ("round trip 100 us", &[("topology.delay", "25us")]),
    ("round trip 400 us", &[("topology.delay", "100us")]),
    ("100 KB a port", &[("queue.limit", "100KB")]),
    ("300 KB a port", &[("queue.limit", "300KB")]),
    ("no SACK", &[("tcp.sack", "false")]),
    ("an ACK a segment", &[("tcp.delayed_ack", "off")]),
    (
        "RTOmin 200 ms",
        &[("tcp.min_rto", "200ms"), ("tcp.initial_rto", "200ms")],
    ),
    ("a FIFO of 1000 packets a host", &[("host.queue", "1000")]),
    (
        "a FIFO of 1000 and windows of 256 KB",
        &[("host.queue", "1000"), ("tcp.max_cwnd", "256KB")],
    ),
    ("large sends of 32 KB", &[("tcp.lso", "32768")]),
    ("no large sends", &[("tcp.lso", "off")]),
    (
        "beta 16 a second",
        &[("hull.pacer_backlog_gain", "0.131072")],
    ),
    ("beta 1 Mb/s per KB", &[("hull.pacer_backlog_gain", "1")]),
    ("beta 64 Mb/s per KB", &[("hull.pacer_backlog_gain", "64")]),
    ("bucket of one packet", &[("hull.pacer_bucket", "1538")]),
    (
        "the packet counted before it is compared",
        &[("hull.phantom_compare", "after")],
    ),
    (
        "phantom queue parallel to the port",
        &[("hull.phantom_placement", "parallel")],
    ),
    ("marks above 1 KB", &[("hull.phantom_mark_above", "1KB")]),
    ("marks above 3 KB", &[("hull.phantom_mark_above", "3KB")]),
    ("T_r 16 us", &[("hull.pacer_interval", "16us")]),
    ("no pacer", &[("hull.pacer", "false")]),
];

/// Index of HULL's row in the table. Only the worst ratio of all other rows is shown.
const HULL: usize = 3;

/// Names of the parts, one for each variant and row of the table.
static NAMES: LazyLock<Vec<[String; 4]>> = LazyLock::new(|| {
    let name = |what: &str, row: &str| format!("{}-{row}", what.replace([' ', '/'], "-"));
    let variants = VARIANTS.iter();
    variants
        .map(|(what, _)| TABLE.each_ref().map(|row| name(what, row.part)))
        .collect()
});

/// Reproduction that shows the sensitivity of HULL's results to parameters.
pub const HULL_SENSITIVITY: Reproduction = Reproduction {
    name: "hull-sensitivity",
    title: "HULL's dynamic flows with other values of unpublished parameters",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let common = [("duration", "400s"), ("seeds", "6")];
    let part = |variant: usize, line: usize| Part {
        name: NAMES[variant][line].as_str(),
        scenario: SCENARIO,
        changes: [
            keys(&common),
            keys(TABLE[line].keys),
            keys(VARIANTS[variant].1),
        ]
        .concat(),
        quick: keys(&[("duration", "40s")]),
    };
    let parts = (0..VARIANTS.len()).flat_map(|variant| (0..4).map(move |row| (variant, row)));
    parts.map(|(variant, line)| part(variant, line)).collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for (variant, (what, _)) in VARIANTS.iter().enumerate() {
        for (column, &(metric, figure)) in COLUMNS.iter().enumerate() {
            let parts = NAMES[variant].each_ref().map(String::as_str);
            let hull = &TABLE[HULL];
            rows.push(row(
                format!("{what}: {}: {metric}", hull.name),
                Selection::new(results, parts[HULL], None).ours(hull.design, figure),
                Some(hull.published[column]),
                band::NO_BAND,
                "",
            ));
            let (factor, high, low) = farthest_ratio(results, parts, column);
            rows.push(row(
                format!("{what}: ratios by {metric}: largest deviation factor, {high} over {low}"),
                factor,
                Some(1.0),
                band::NO_BAND,
                "",
            ));
        }
    }
    rows
}
