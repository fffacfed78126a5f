//! What hedging libraries do beside priorities and purging. Nothing is published to compare with: the rows
//! show where each is better and where it harms.

use crate::band;
use crate::measure::{At, Figure, Metric, latencies};
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::RunRecord;

/// See the module.
pub struct RansHedging;

/// A variant: its name, what it is, the keys that differ.
type Variant = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const VARIANTS: [Variant; 3] = [
    (
        "rans-hedging-percentile",
        "a hedge after the client's own p95",
        &[],
    ),
    // The 95th percentile of an idle server: 0.95 exp(-t) + 0.05 exp(-t / 10) = 0.05 at t = 4.35.
    (
        "rans-hedging-fixed",
        "a hedge after 4.35 ms, the p95 of an idle server",
        &[("rans.hedge_after", "4350us")],
    ),
    (
        "rans-hedging-queued",
        "a purge spares what is being served",
        &[("rans.purge", "queued")],
    ),
];

const LOADS: [f64; 4] = [0.2, 0.5, 0.8, 0.9];

impl Reproduction for RansHedging {
    fn name(&self) -> &'static str {
        "rans-hedging"
    }

    fn title(&self) -> &'static str {
        "Hedging, budgets, purging and priorities beside each other (40 servers, stragglers; nothing published)"
    }

    fn parts(&self) -> Vec<Part> {
        let part = |(name, _, changes): &Variant| Part {
            name,
            scenario: include_str!("../scenarios/reproduce/rans-hedging.toml"),
            changes: changes
                .iter()
                .map(|&(key, value)| (key, value.to_owned()))
                .collect(),
            quick: vec![("flows", "10000".to_owned())],
        };
        VARIANTS.iter().map(part).collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for (index, (part, what, _)) in VARIANTS.into_iter().enumerate() {
            for load in LOADS {
                let at = At::new(results, part, Some(load));
                for design in designs(index) {
                    for (name, figure) in METRICS {
                        let metric = format!("{what}, load {load}: {design}, {name}");
                        rows.push(row(metric, at.ours(design, figure), None, band::SHOWN, ""));
                    }
                }
            }
        }
        rows
    }
}

const METRICS: [Metric; 3] = [
    ("mean, ms", Figure::Of(Statistic::Mean, &latencies)),
    ("p99, ms", Figure::Of(Statistic::P99, &latencies)),
    (
        "server time over the work of one copy a request",
        Figure::Run(&server_time),
    ),
];

/// The designs that a variant makes a difference to; all of them in the first.
fn designs(variant: usize) -> &'static [&'static str] {
    match variant {
        0 => &[
            "stations",
            "hedge",
            "hedge-budget",
            "hedge-purge",
            "duplicate",
            "duplicate-purge",
            "duplicate-low",
            "das",
        ],
        1 => &["hedge", "hedge-budget", "hedge-purge"],
        _ => &["hedge-purge", "duplicate-purge", "das"],
    }
}

/// What the servers' stations worked a request, over the mean work of one copy: 1.45 ms.
fn server_time(run: &RunRecord) -> f64 {
    let worked: f64 = run.requests.iter().map(|r| r.service.as_secs_f64()).sum();
    worked / run.requests.len() as f64 / 1.45e-3
}
