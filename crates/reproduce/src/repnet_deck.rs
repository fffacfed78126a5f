//! Simulations by the authors of RepFlow (RepFlow, INFOCOM 2014, and slides of 2015).
//! RepFlow is compared with DCTCP and pFabric on a 16-pod fat-tree of 1,024 hosts in ns-3.

use crate::band::{self, Band};
use crate::measure::{Figure, Metric, Selection, elephants, mice};
use crate::measured_value::MeasuredValue;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};

const SCENARIO: &str = include_str!("../scenarios/reproduce/repnet-deck.toml");

const TCP: &str = "tcp";
const REPFLOW: &str = "repflow";
const DCTCP: &str = "dctcp";
const REPFLOW_DCTCP: &str = "repflow+dctcp";
const PFABRIC: &str = "pfabric";

/// Designs for which the slides show a curve.
const DESIGNS: [&str; 5] = [TCP, REPFLOW, DCTCP, REPFLOW_DCTCP, PFABRIC];

/// Workload: its part, its name, the changed keys, and the changed keys of the quick form.
struct Workload {
    part: &'static str,
    name: &'static str,
    changes: &'static [(&'static str, &'static str)],
    quick: [(&'static str, &'static str); 2],
    /// Whether the slides show results of this workload. The slides mention one workload as "not shown".
    shown_there: bool,
}

const WORKLOADS: [Workload; 2] = [
    Workload {
        part: "repnet-deck-web-search",
        name: "web search",
        changes: &[],
        quick: [("loads", "0.2, 0.6"), ("duration", "200ms")],
        shown_there: true,
    },
    Workload {
        part: "repnet-deck-data-mining",
        name: "data mining",
        changes: &[("workload.sizes", "datamining")],
        quick: [("loads", "0.6"), ("duration", "125ms")],
        shown_there: false,
    },
];

/// Middle of the published range of changes in per cent.
/// At all loads, the mean and the 99th percentile of mice are 50 to 70 % lower.
const PUBLISHED: f64 = -60.0;

/// Band for a gain: the published range, with 5 points added at either end.
/// At the lowest load, a run of half a second contains about ten thousand mice.
/// The change of a p99 is therefore accurate to about 5 points.
const GAIN: Band = (-75.0, -45.0);

/// Band for a design that the slides call the best. The design is compared with the second best design.
const BEST: Band = band::up_to(0.0);

/// Reproduction of the simulations in the slides.
pub const REPNET_DECK: Reproduction = Reproduction {
    name: "repnet-deck",
    title: "RepFlow, DCTCP and pFabric in a 16-pod fat-tree, 8 pods if quick (RepFlow, INFOCOM 2014)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    // The quick form has 128 hosts with 16 paths instead of 1,024 hosts with 64 paths.
    let smaller = [("topology.k", "8"), ("topology.name", "8 pods")];
    let part = |workload: &Workload| Part {
        name: workload.part,
        scenario: SCENARIO,
        changes: keys(workload.changes),
        quick: [keys(&smaller), keys(&workload.quick)].concat(),
    };
    WORKLOADS.iter().map(part).collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for workload in &WORKLOADS {
        let part = workload.part;
        let topology = results.runs(part, TCP).map(|run| &run.key.topology).next();
        for load in results.loads(part, TCP) {
            let at = Selection::new(results, part, Some(load));
            let pods = topology.map_or("", String::as_str);
            let place = format!("{}, {pods}, load {load}", workload.name);
            rows.extend(published(&at, &place, workload.shown_there));
            rows.extend(curves(&at, &place));
        }
    }
    rows
}

/// Returns the rows for the statements and numbers in the slides.
/// `shown_there` is false for the workload whose results the slides do not show.
fn published(at: &Selection<'_>, place: &str, shown_there: bool) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for statistic in [Statistic::Mean, Statistic::P99] {
        let name = statistic.name();
        let figure = Figure::Of(statistic, &mice);
        rows.push(row(
            format!("{place}: {REPFLOW}, {name} of mice against {TCP}, %"),
            at.change(REPFLOW, TCP, figure),
            shown_there.then_some(PUBLISHED),
            shown_there.then_some(GAIN),
            "the timeouts are not published, and lost SYNs decide both figures",
        ));
        rows.push(row(
            format!("{place}: {REPFLOW_DCTCP}, {name} of mice against {DCTCP}, %"),
            at.change(REPFLOW_DCTCP, DCTCP, figure),
            None,
            shown_there.then_some(band::NO_HARM),
            "published as a chart: lower than DCTCP",
        ));
        rows.push(row(
            format!("{place}: {PFABRIC}, {name} of mice against the best of the others, %"),
            pfabric_against_best(at, figure),
            None,
            shown_there.then_some(BEST),
            "published as near-optimal",
        ));
    }
    rows.push(row(
        format!("{place}: {REPFLOW}, mean of elephants against {TCP}, %"),
        at.change(REPFLOW, TCP, MEAN_OF_ELEPHANTS),
        shown_there.then_some(0.0),
        shown_there.then_some(band::UNCHANGED),
        "copies of mice add about 1 % to the bytes",
    ));
    rows
}

/// Returns rows with the curves of the three charts in the slides, at one load, in milliseconds.
fn curves(at: &Selection<'_>, place: &str) -> Vec<ComparisonRow> {
    let charts: [Metric; 3] = [
        ("mean of mice", Figure::Of(Statistic::Mean, &mice)),
        ("p99 of mice", Figure::Of(Statistic::P99, &mice)),
        ("mean of elephants", MEAN_OF_ELEPHANTS),
    ];
    let cases = charts
        .into_iter()
        .flat_map(|chart| DESIGNS.map(|design| (chart, design)));
    cases
        .map(|((chart, figure), design)| {
            row(
                format!("{place}: {design}, {chart}, ms"),
                at.ours(design, figure).map(|us| us / 1_000.0),
                None,
                band::NO_BAND,
                "published as a chart without a legible scale",
            )
        })
        .collect()
}

/// Returns the change of pFabric's value against the second best design, in per cent.
fn pfabric_against_best(at: &Selection<'_>, figure: Figure<'_>) -> MeasuredValue {
    let of = |design: &&str| at.ours(design, figure).value.unwrap_or(f64::INFINITY);
    let others = [TCP, REPFLOW, DCTCP, REPFLOW_DCTCP];
    let best = others.into_iter().min_by(|a, b| of(a).total_cmp(&of(b)));
    at.change(PFABRIC, best.unwrap_or(TCP), figure)
}

const MEAN_OF_ELEPHANTS: Figure<'static> = Figure::Of(Statistic::Mean, &elephants);
