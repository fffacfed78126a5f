//! Hedging as common libraries implement it, compared with priorities and purging. No results are published.
//! The rows show at which loads each method is a gain or a loss.

use crate::band;
use crate::measure::{Figure, Metric, Selection, latencies};
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::RunRecord;

/// Variant: name, description, and changed keys.
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
    // The hedge delay is the 95th percentile of an idle server: 0.95 exp(-t) + 0.05 exp(-t / 10) = 0.05 at t = 4.35.
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

/// Reproduction: RANS compared with hedging.
pub const RANS_HEDGING: Reproduction = Reproduction {
    name: "rans-hedging",
    title: "Hedging, budgets, purging and priorities compared (40 servers, stragglers; nothing published)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
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

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for (index, (part, what, _)) in VARIANTS.into_iter().enumerate() {
        for load in LOADS {
            let at = Selection::new(results, part, Some(load));
            for design in designs(index) {
                for (name, figure) in METRICS {
                    let metric = format!("{what}, load {load}: {design}, {name}");
                    rows.push(row(
                        metric,
                        at.ours(design, figure),
                        None,
                        band::NO_BAND,
                        "",
                    ));
                }
            }
        }
    }
    rows
}

const METRICS: [Metric; 3] = [
    ("mean, ms", Figure::Of(Statistic::Mean, &latencies)),
    ("p99, ms", Figure::Of(Statistic::P99, &latencies)),
    (
        "server time per request, divided by the work of one copy",
        Figure::Run(&server_time),
    ),
];

/// Returns the designs that a variant affects. The first variant contains all designs.
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

/// Returns the working time of the servers for each request, divided by the mean work of one copy.
/// The mean work is 1.45 ms, because 19 of 20 copies take 1 ms on average, and one takes 10 ms.
fn server_time(run: &RunRecord) -> f64 {
    let worked: f64 = run.requests.iter().map(|r| r.service.as_secs_f64()).sum();
    worked / run.requests.len() as f64 / 1.45e-3
}
