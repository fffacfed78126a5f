//! HULL at scale: a 10 Gb/s leaf-spine under web search, beside DCTCP and TCP, by marking threshold and
//! buffer size. Nothing was published that it could be held to.

use crate::band;
use crate::measure::{At, Figure, Metric, elephants, mice};
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::{RunRecord, SwitchWaits};

/// See the module.
pub struct HullScale;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/hull-scale.toml");

/// A part: its name, the design, what it is, the keys that differ.
type Variant = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const VARIANTS: [Variant; 12] = [
    ("tcp", "tcp", "TCP, 300 KB a port", &[]),
    (
        "tcp-100k",
        "tcp",
        "TCP, 100 KB a port",
        &[("queue.limit", "100KB")],
    ),
    (
        "tcp-1m",
        "tcp",
        "TCP, 1 MB a port",
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
        "HULL, marks above 15 KB, 100 KB a port",
        &[
            ("hull.phantom_mark_above", "15KB"),
            ("queue.limit", "100KB"),
        ],
    ),
];

/// What a variant is measured by.
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
        "FCT of flows from 100 KB on, mean, ms",
        Figure::Of(Statistic::Mean, &elephants_ms),
    ),
];

fn elephants_ms(run: &RunRecord) -> Vec<f64> {
    elephants(run).into_iter().map(|us| us / 1_000.0).collect()
}

fn waits(run: &RunRecord, figure: fn(&SwitchWaits) -> f64) -> f64 {
    run.switch_waits.as_ref().map_or(f64::NAN, figure)
}

impl Reproduction for HullScale {
    fn name(&self) -> &'static str {
        "hull-scale"
    }

    fn title(&self) -> &'static str {
        "HULL beside DCTCP and TCP in a 10 Gb/s leaf-spine, web search (no published figures)"
    }

    fn parts(&self) -> Vec<Part> {
        let part = |&(name, design, _, changes): &Variant| Part {
            name,
            scenario: SCENARIO,
            changes: [keys(&[("designs", design)]), keys(changes)].concat(),
            quick: keys(&[("loads", "0.2, 0.6"), ("duration", "15ms")]),
        };
        VARIANTS.iter().map(part).collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for load in results.loads(VARIANTS[0].0, VARIANTS[0].1) {
            for (metric, figure) in METRICS {
                for &(part, design, what, _) in &VARIANTS {
                    let at = At::new(results, part, Some(load));
                    rows.push(row(
                        format!("load {load}: {what}: {metric}"),
                        at.ours(design, figure),
                        None,
                        band::SHOWN,
                        "",
                    ));
                }
            }
        }
        rows
    }
}
