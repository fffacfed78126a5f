//! Combinations of two designs in one network with the same flows.
//! We found no published results, so the rows contain only our values.
//! The rows show the effect of each design, and the effect of two designs together.
//! Further rows show whether this effect is larger or smaller than the product of the two single effects.

use crate::band;
use crate::measure::{Figure, Metric, Selection, elephants, latencies, mice};
use crate::measured_value::{MeasuredValue, per_cent};
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::RunRecord;

/// Name of the part in which flows go between all hosts.
const PART: &str = "interactions";
/// Name of the part that contains requests.
const REQUESTS: &str = "interactions-requests";

/// Design with which all other designs are compared.
const BASE: &str = "dctcp";

/// Designs of the scenario with flows, without the base.
const DESIGNS: [&str; 11] = [
    "hull",
    "pias",
    "ndp",
    "scdp",
    "repflow+dctcp",
    "dctcp@expeditus",
    "repflow+hull",
    "repflow+pias",
    "hull@expeditus",
    "repflow+dctcp@expeditus",
    "repflow+hull@expeditus",
];

/// Designs of the scenario with requests, without the base.
const OF_REQUESTS: [&str; 5] = [
    "dctcp@expeditus",
    "das+dctcp",
    "rans+dctcp",
    "das+dctcp@expeditus",
    "rans+dctcp@expeditus",
];

/// Pairs of designs, each with the design that combines them.
const PAIRS: [Pair; 4] = [
    (
        "repflow+dctcp",
        "dctcp@expeditus",
        "repflow+dctcp@expeditus",
    ),
    ("repflow+dctcp", "hull", "repflow+hull"),
    ("repflow+dctcp", "pias", "repflow+pias"),
    ("hull", "dctcp@expeditus", "hull@expeditus"),
];

const PAIR_OF_REQUESTS: Pair = ("rans+dctcp", "dctcp@expeditus", "rans+dctcp@expeditus");

type Pair = (&'static str, &'static str, &'static str);

/// Reproduction: effects of combinations of two designs.
pub const INTERACTIONS: Reproduction = Reproduction {
    name: PART,
    title: "RepFlow, Expeditus, HULL, RANS and SCDP, alone and together, against DCTCP, NDP, PIAS (new)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let part = |name, scenario, load: &str| Part {
        name,
        scenario,
        changes: Vec::new(),
        quick: [("loads", load), ("flows", "500")]
            .map(|(key, value)| (key, value.to_owned()))
            .to_vec(),
    };
    vec![
        part(
            PART,
            include_str!("../scenarios/reproduce/interactions.toml"),
            "0.6",
        ),
        part(
            REQUESTS,
            include_str!("../scenarios/reproduce/interactions-requests.toml"),
            "0.3",
        ),
    ]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for load in results.loads(PART, BASE) {
        let at = Selection::new(results, PART, Some(load));
        let place = format!("load {load}");
        rows.extend(table(&at, &place, &METRICS, &DESIGNS));
        rows.extend(PAIRS.map(|pair| beyond(&at, &place, pair, mice, "p99 of mice")));
    }
    for load in results.loads(REQUESTS, BASE) {
        let at = Selection::new(results, REQUESTS, Some(load));
        let place = format!("requests, load {load}");
        rows.extend(table(&at, &place, &METRICS_OF_REQUESTS, &OF_REQUESTS));
        let (pair, what) = (PAIR_OF_REQUESTS, "p99 of latency");
        rows.push(beyond(&at, &place, pair, latencies, what));
    }
    rows
}

/// Returns the values of the base design, and the changes of all other designs against the base.
fn table(
    at: &Selection<'_>,
    place: &str,
    metrics: &[Metric],
    designs: &'static [&str],
) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for &(what, figure) in metrics {
        let metric = format!("{place}: {BASE}, {what}");
        rows.push(row(metric, at.ours(BASE, figure), None, band::NO_BAND, ""));
        for design in designs {
            let metric = format!("{place}: {design}, {what}, against {BASE}, %");
            let change = at.change(design, BASE, figure);
            rows.push(row(metric, change, None, band::NO_BAND, ""));
        }
    }
    rows
}

const METRICS: [Metric; 4] = [
    ("mean of mice, us", Figure::Of(Statistic::Mean, &mice)),
    ("p99 of mice, us", Figure::Of(Statistic::P99, &mice)),
    (
        "mean of elephants, us",
        Figure::Of(Statistic::Mean, &elephants),
    ),
    (
        "bytes on all links per byte of flows",
        Figure::Run(&bytes_for_one),
    ),
];

/// Returns the bytes, including headers, that all links together have carried for each byte of a flow.
fn bytes_for_one(run: &RunRecord) -> f64 {
    carried(run)
        / run
            .flows
            .iter()
            .map(|flow| flow.bytes.0 as f64)
            .sum::<f64>()
}

fn carried(run: &RunRecord) -> f64 {
    run.ports.iter().map(|port| port.bytes.0 as f64).sum()
}

const METRICS_OF_REQUESTS: [Metric; 3] = [
    ("mean latency, ms", Figure::Of(Statistic::Mean, &latencies)),
    ("p99 of latency, ms", Figure::Of(Statistic::P99, &latencies)),
    (
        "bytes on all links per byte of objects",
        Figure::Run(&bytes_for_one_of_objects),
    ),
];

fn bytes_for_one_of_objects(run: &RunRecord) -> f64 {
    let objects = run.requests.iter().map(|one| one.bytes.0 as f64);
    carried(run) / objects.sum::<f64>()
}

/// Returns a row that compares the effect of two designs together with their expected effect, for the p99, in per cent.
/// The expected effect is the product of the single effects of the two designs.
fn beyond(
    at: &Selection<'_>,
    place: &str,
    (one, other, both): Pair,
    values: fn(&RunRecord) -> Vec<f64>,
    what: &str,
) -> ComparisonRow {
    let designs = [both, one, other, BASE].map(|design| at.measured(design, values));
    let beyond =
        MeasuredValue::of_quantiles(designs.each_ref(), 0.99, |[both, one, other, base]| {
            per_cent((both / base) / (one / base * other / base))
        });
    row(
        format!("{place}: {both}, {what}, against {one} and {other} in a row, %"),
        beyond,
        None,
        band::NO_BAND,
        "below zero: both designs together gain more than the product of both gains",
    )
}
