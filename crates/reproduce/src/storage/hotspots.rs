//! Web search traffic together with storage reads and writes (SCDP paper, section V-D, figure 10).

use crate::band;
use crate::case::Keys;
use crate::measure::{Figure, Selection, fcts};
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::{FlowRecord, RunRecord};
use tailcut_scenario::sim::workload::Class;

pub(super) const SCENARIO: &str = include_str!("../../scenarios/reproduce/scdp-hotspots.toml");

/// Scenario that has long flows instead of storage. Apart from that, it equals [`SCENARIO`].
pub(super) const WITHOUT: &str =
    include_str!("../../scenarios/reproduce/scdp-hotspots-without.toml");

const QUICK: Keys = &[
    ("topology.k", "4"),
    ("duration", "400ms"),
    ("drain", "200ms"),
];

/// Maximum size of short flows in bytes.
const SHORT: u64 = 10_000;

fn is_studied(flow: &FlowRecord) -> bool {
    flow.class != Class::Background as u8
}

/// 99th percentile of the completion times of flows of at most 10 KB, in microseconds.
pub(super) const SHORT_P99: Figure<'static> = Figure::Of(Statistic::P99, &short);

fn short(run: &RunRecord) -> Vec<f64> {
    fcts(run, |flow| is_studied(flow) && flow.bytes.0 <= SHORT)
}

/// Returns the goodputs of flows of 1 to 10 MB in Mb/s. The goodput of an unfinished flow is 0.
fn long(run: &RunRecord) -> Vec<f64> {
    let of_size =
        |flow: &&FlowRecord| is_studied(flow) && (1_000_001..=10_000_000).contains(&flow.bytes.0);
    let goodput = |flow: &FlowRecord| {
        let fct = flow.fct.map_or(f64::INFINITY, |fct| fct.as_us_f64());
        flow.bytes.0 as f64 * 8.0 / fct
    };
    run.flows.iter().filter(of_size).map(goodput).collect()
}

/// Published 99th percentiles at load 0.5 in microseconds: design, value without storage, and value with storage.
pub(super) const PUBLISHED: [(&str, f64, f64); 3] = [
    ("scdp", 277.0, 287.0),
    ("ndp", 306.0, 381.0),
    ("pias", 386.0, 480.0),
];

/// Reproduction of the figure about web search with storage traffic.
pub const HOTSPOTS: Reproduction = Reproduction {
    name: "scdp-hotspots",
    title: "Short and long flows with storage's reads and writes (SCDP paper, figure 10)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let part = |name, scenario, special: Keys| Part {
        name,
        scenario,
        changes: Vec::new(),
        quick: [keys(QUICK), keys(special)].concat(),
    };
    vec![
        part("scdp-hotspots-without", WITHOUT, &[]),
        // Each host has the same rate of sessions as in the full form.
        part(
            "scdp-hotspots",
            SCENARIO,
            &[("workload.sessions_per_second", "125")],
        ),
    ]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    let without = Selection::new(results, "scdp-hotspots-without", None);
    let with = Selection::new(results, "scdp-hotspots", None);
    for (design, before, after) in PUBLISHED {
        for (part, at, published) in [("long flows", &without, before), ("storage", &with, after)] {
            rows.push(row(
                format!("with {part}: {design}, p99 of flows up to 10 KB, us"),
                at.ours(design, SHORT_P99),
                Some(published),
                band::NO_BAND,
                "sizes below 10 KB and the network's delays are not published",
            ));
        }
        rows.push(row(
            format!("{design}: p99 of flows up to 10 KB with storage against long flows, %"),
            with.change_from(design, (without, design), SHORT_P99),
            Some((after / before - 1.0) * 100.0),
            band::NO_BAND,
            "the definition of load 0.5 for reads and writes is not published",
        ));
    }
    for other in ["ndp", "pias"] {
        rows.push(row(
            format!("with storage: scdp, p99 of flows up to 10 KB against {other}, %"),
            with.change("scdp", other, SHORT_P99),
            PUBLISHED
                .iter()
                .find(|(design, _, _)| *design == other)
                .map(|(_, _, after)| (287.0 / after - 1.0) * 100.0),
            band::SOME_GAIN,
            "the order is published",
        ));
        rows.push(row(
            format!("with storage: scdp, goodput of flows of 1 to 10 MB against {other}, %"),
            with.change("scdp", other, Figure::Of(Statistic::Mean, &long)),
            None,
            band::NOT_LESS,
            "published as a chart",
        ));
    }
    rows
}
