//! The designs combined, in one network under the same flows. Nobody has published this: the rows are
//! ours alone, with what each design does, what two do together, and whether together is more or less
//! than one after the other.

use crate::band;
use crate::measure::{At, Figure, Metric, elephants, latencies, mice};
use crate::ours::{Ours, per_cent};
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::RunRecord;

/// See the module.
pub struct Interactions;

/// Flows between all hosts, and requests.
const PART: &str = "interactions";
const REQUESTS: &str = "interactions-requests";

/// What everything is compared with.
const BASE: &str = "dctcp";

/// Every design of the scenario but the base.
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

/// Every design of the scenario of requests but the base.
const OF_REQUESTS: [&str; 5] = [
    "dctcp@expeditus",
    "das+dctcp",
    "rans+dctcp",
    "das+dctcp@expeditus",
    "rans+dctcp@expeditus",
];

/// Two designs, and both together.
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

impl Reproduction for Interactions {
    fn name(&self) -> &'static str {
        PART
    }

    fn title(&self) -> &'static str {
        "RepFlow, Expeditus, HULL, RANS and SCDP, alone and together, against DCTCP, NDP, PIAS (new)"
    }

    fn parts(&self) -> Vec<Part> {
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

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for load in results.loads(PART, BASE) {
            let at = At::new(results, PART, Some(load));
            let place = format!("load {load}");
            rows.extend(table(&at, &place, &METRICS, &DESIGNS));
            rows.extend(PAIRS.map(|pair| beyond(&at, &place, pair, mice, "p99 of mice")));
        }
        for load in results.loads(REQUESTS, BASE) {
            let at = At::new(results, REQUESTS, Some(load));
            let place = format!("requests, load {load}");
            rows.extend(table(&at, &place, &METRICS_OF_REQUESTS, &OF_REQUESTS));
            let (pair, what) = (PAIR_OF_REQUESTS, "p99 of latency");
            rows.push(beyond(&at, &place, pair, latencies, what));
        }
        rows
    }
}

/// The figures of the base, and by how much those of the others differ.
fn table(
    at: &At<'_>,
    place: &str,
    metrics: &[Metric],
    designs: &'static [&str],
) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for &(what, figure) in metrics {
        let metric = format!("{place}: {BASE}, {what}");
        rows.push(row(metric, at.ours(BASE, figure), None, band::SHOWN, ""));
        for design in designs {
            let metric = format!("{place}: {design}, {what}, against {BASE}, %");
            let change = at.change(design, BASE, figure);
            rows.push(row(metric, change, None, band::SHOWN, ""));
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
        "bytes on all links for a byte of flows",
        Figure::Run(&bytes_for_one),
    ),
];

/// What all links together carried, headers included, for a byte that an application wanted.
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
        "bytes on all links for a byte of objects",
        Figure::Run(&bytes_for_one_of_objects),
    ),
];

fn bytes_for_one_of_objects(run: &RunRecord) -> f64 {
    let objects = run.requests.iter().map(|one| one.bytes.0 as f64);
    carried(run) / objects.sum::<f64>()
}

/// By how many per cent the p99 of two designs together is above what each alone takes off, one after
/// the other.
fn beyond(
    at: &At<'_>,
    place: &str,
    (one, other, both): Pair,
    values: fn(&RunRecord) -> Vec<f64>,
    what: &str,
) -> ComparisonRow {
    let designs = [both, one, other, BASE].map(|design| at.measured(design, values));
    let beyond = Ours::of_quantiles(designs.each_ref(), 0.99, |[both, one, other, base]| {
        per_cent((both / base) / (one / base * other / base))
    });
    row(
        format!("{place}: {both}, {what}, against {one} and {other} in a row, %"),
        beyond,
        None,
        band::SHOWN,
        "below zero: together they do more than one after the other",
    )
}
