//! HULL in a large network: a leaf-spine network of 10 Gb/s with web search traffic.
//! HULL is compared with DCTCP and TCP for several marking thresholds and buffer sizes.
//! No results are published for this network.

use crate::band;
use crate::measure::{Figure, Metric, Selection, elephants, mice};
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::{RunRecord, SwitchWaits};

const SCENARIO: &str = include_str!("../../scenarios/reproduce/hull-scale.toml");

/// Part: name, design, description, and changed keys.
type Variant = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const VARIANTS: [Variant; 12] = [
    ("tcp", "tcp", "TCP, 300 KB per port", &[]),
    (
        "tcp-100k",
        "tcp",
        "TCP, 100 KB per port",
        &[("queue.limit", "100KB")],
    ),
    (
        "tcp-1m",
        "tcp",
        "TCP, 1 MB per port",
        &[("queue.limit", "1MB")],
    ),
    (
        "dctcp-30k",
        "dctcp",
        "DCTCP, marks above 30 KB",
        &[("queue.mark_above", "30KB")],
    ),
    (
        "dctcp-100k",
        "dctcp",
        "DCTCP, marks above 100 KB",
        &[("queue.mark_above", "100KB")],
    ),
    (
        "hull-3k",
        "hull",
        "HULL, marks above 3 KB",
        &[("hull.phantom_mark_above", "3KB")],
    ),
    (
        "hull-6k",
        "hull",
        "HULL, marks above 6 KB",
        &[("hull.phantom_mark_above", "6KB")],
    ),
    (
        "hull-15k",
        "hull",
        "HULL, marks above 15 KB",
        &[("hull.phantom_mark_above", "15KB")],
    ),
    (
        "hull-30k",
        "hull",
        "HULL, marks above 30 KB",
        &[("hull.phantom_mark_above", "30KB")],
    ),
    (
        "hull-15k-fast-pacer",
        "hull",
        "HULL, marks above 15 KB, pacer ten times as fast",
        &[
            ("hull.phantom_mark_above", "15KB"),
            ("hull.pacer_interval", "6.4us"),
            ("hull.pacer_backlog_gain", "160"),
        ],
    ),
    (
        "hull-15k-unpaced",
        "hull",
        "HULL, marks above 15 KB, no pacer",
        &[("hull.phantom_mark_above", "15KB"), ("hull.pacer", "false")],
    ),
    (
        "hull-15k-100k",
        "hull",
        "HULL, marks above 15 KB, 100 KB per port",
        &[
            ("hull.phantom_mark_above", "15KB"),
            ("queue.limit", "100KB"),
        ],
    ),
];

/// Measurements that are made for each variant.
const METRICS: [Metric; 5] = [
    (
        "wait at a switch port, mean, us",
        Figure::Run(&|run| waits(run, |waits| waits.all.mean_us)),
    ),
    (
        "wait at a switch port, p99, us",
        Figure::Run(&|run| waits(run, |waits| waits.all.p99_us)),
    ),
    ("FCT of mice, mean, us", Figure::Of(Statistic::Mean, &mice)),
    ("FCT of mice, p99, us", Figure::Of(Statistic::P99, &mice)),
    (
        "FCT of flows of at least 100 KB, mean, ms",
        Figure::Of(Statistic::Mean, &elephants_ms),
    ),
];

fn elephants_ms(run: &RunRecord) -> Vec<f64> {
    elephants(run).into_iter().map(|us| us / 1_000.0).collect()
}

fn waits(run: &RunRecord, figure: fn(&SwitchWaits) -> f64) -> f64 {
    run.switch_waits.as_ref().map_or(f64::NAN, figure)
}

/// Reproduction in a 10 Gb/s leaf-spine network.
pub const HULL_SCALE: Reproduction = Reproduction {
    name: "hull-scale",
    title: "HULL, DCTCP and TCP in a 10 Gb/s leaf-spine, web search (no published figures)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let part = |&(name, design, _, changes): &Variant| Part {
        name,
        scenario: SCENARIO,
        changes: [keys(&[("designs", design)]), keys(changes)].concat(),
        quick: keys(&[("loads", "0.2, 0.6"), ("duration", "15ms")]),
    };
    VARIANTS.iter().map(part).collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for load in results.loads(VARIANTS[0].0, VARIANTS[0].1) {
        for (metric, figure) in METRICS {
            for &(part, design, what, _) in &VARIANTS {
                let at = Selection::new(results, part, Some(load));
                rows.push(row(
                    format!("load {load}: {what}: {metric}"),
                    at.ours(design, figure),
                    None,
                    band::NO_BAND,
                    "",
                ));
            }
        }
    }
    rows
}
