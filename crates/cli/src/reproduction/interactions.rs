//! The designs combined, in one network under the same flows. Nobody has published this: the rows are
//! ours alone, with what each design does, what two do together, and whether together is more or less
//! than one after the other.

use super::band;
use super::measure::{At, MICE, Metric, Statistic, fcts, latencies, mean, mean_latency};
use super::{Part, Reproduction, Results, row};
use tailcut_record::RunRecord;
use tailcut_report::ComparisonRow;

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
            quick: [("loads", load), ("seeds", "3"), ("flows", "1000")]
                .map(|(key, value)| (key, value.to_owned()))
                .to_vec(),
        };
        vec![
            part(
                PART,
                include_str!("../../../../scenarios/reproduce/interactions.toml"),
                "0.6",
            ),
            part(
                REQUESTS,
                include_str!("../../../../scenarios/reproduce/interactions-requests.toml"),
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
            rows.extend(PAIRS.map(|pair| beyond(&at, &place, pair, p99, "p99 of mice")));
        }
        for load in results.loads(REQUESTS, BASE) {
            let at = At::new(results, REQUESTS, Some(load));
            let place = format!("requests, load {load}");
            rows.extend(table(&at, &place, &METRICS_OF_REQUESTS, &OF_REQUESTS));
            let (pair, what) = (PAIR_OF_REQUESTS, "p99 of latency");
            rows.push(beyond(&at, &place, pair, p99_of_latency, what));
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
        let base = at.by_seed(BASE, figure);
        let metric = format!("{place}: {BASE}, {what}");
        rows.push(row(metric, &base, None, band::SHOWN, ""));
        for design in designs {
            let metric = format!("{place}: {design}, {what}, against {BASE}, %");
            let change = at.change(design, BASE, figure);
            rows.push(row(metric, &change, None, band::SHOWN, ""));
        }
    }
    rows
}

const METRICS: [Metric; 4] = [
    ("mean of mice, us", |run| Statistic::Mean.of_mice(run)),
    ("p99 of mice, us", p99),
    ("mean of elephants, us", |run| {
        mean(&fcts(run, |flow| flow.bytes.0 >= MICE))
    }),
    ("bytes on all links for a byte of flows", bytes_for_one),
];

fn p99(run: &RunRecord) -> f64 {
    Statistic::P99.of_mice(run)
}

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
    ("mean latency, ms", mean_latency),
    ("p99 of latency, ms", p99_of_latency),
    ("bytes on all links for a byte of objects", |run| {
        carried(run)
            / run
                .requests
                .iter()
                .map(|one| one.bytes.0 as f64)
                .sum::<f64>()
    }),
];

fn p99_of_latency(run: &RunRecord) -> f64 {
    Statistic::P99.of(&latencies(run))
}

/// By how many per cent the figure of two designs together is above what each alone takes off, one after
/// the other.
fn beyond(
    at: &At<'_>,
    place: &str,
    (one, other, both): Pair,
    figure: fn(&RunRecord) -> f64,
    what: &str,
) -> ComparisonRow {
    let ratio = |design| {
        let changes = at.change(design, BASE, figure);
        changes.into_iter().map(|change| 1.0 + change / 100.0)
    };
    let alone = ratio(one).zip(ratio(other)).map(|(a, b)| a * b);
    let together = ratio(both).zip(alone);
    let beyond: Vec<f64> = together
        .map(|(both, alone)| (both / alone - 1.0) * 100.0)
        .collect();
    row(
        format!("{place}: {both}, {what}, against {one} and {other} in a row, %"),
        &beyond,
        None,
        band::SHOWN,
        "below zero: together they do more than one after the other",
    )
}
