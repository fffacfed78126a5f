//! RepFlow's own simulations (RepFlow, INFOCOM 2014, and its slides of 2015): a 16-pod fat-tree of 1,024
//! hosts in ns-3, with DCTCP and pFabric beside.

use crate::band::{self, Band};
use crate::measure::{At, Figure, Metric, elephants, mice};
use crate::ours::Ours;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};

/// See the module.
pub struct RepNetDeck;

const SCENARIO: &str = include_str!("../scenarios/reproduce/repnet-deck.toml");

const TCP: &str = "tcp";
const REPFLOW: &str = "repflow";
const DCTCP: &str = "dctcp";
const REPFLOW_DCTCP: &str = "repflow+dctcp";
const PFABRIC: &str = "pfabric";

/// The curves of the slides.
const DESIGNS: [&str; 5] = [TCP, REPFLOW, DCTCP, REPFLOW_DCTCP, PFABRIC];

/// A workload: its part, what it is called, the keys that differ, and how much of it the quick form has.
struct Workload {
    part: &'static str,
    name: &'static str,
    changes: &'static [(&'static str, &'static str)],
    quick: [(&'static str, &'static str); 2],
    /// Whether the slides show it; the other was "not shown".
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

/// The published gain of mice, in the mean and at the 99th percentile, at all loads: 50 to 70 %; the
/// row shows its middle.
const PUBLISHED: f64 = -60.0;

/// The published range and 5 points on either side: one run of half a second holds some ten thousand
/// mice at the lowest load, so that a p99 is good to about that.
const GAIN: Band = (-75.0, -45.0);

/// Of the best of all designs against the best of the others.
const BEST: Band = band::up_to(0.0);

impl Reproduction for RepNetDeck {
    fn name(&self) -> &'static str {
        "repnet-deck"
    }

    fn title(&self) -> &'static str {
        "RepFlow, DCTCP and pFabric in a 16-pod fat-tree, 8 pods if quick (RepFlow, INFOCOM 2014)"
    }

    fn parts(&self) -> Vec<Part> {
        // 128 hosts with 16 paths in place of 1,024 with 64.
        let smaller = [("topology.k", "8"), ("topology.name", "8 pods")];
        let part = |workload: &Workload| Part {
            name: workload.part,
            scenario: SCENARIO,
            changes: keys(workload.changes),
            quick: [keys(&smaller), keys(&workload.quick)].concat(),
        };
        WORKLOADS.iter().map(part).collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for workload in &WORKLOADS {
            let part = workload.part;
            let topology = results.runs(part, TCP).map(|run| &run.key.topology).next();
            for load in results.loads(part, TCP) {
                let at = At::new(results, part, Some(load));
                let pods = topology.map_or("", String::as_str);
                let place = format!("{}, {pods}, load {load}", workload.name);
                rows.extend(published(&at, &place, workload.shown_there));
                rows.extend(curves(&at, &place));
            }
        }
        rows
    }
}

/// What the slides say in words or numbers, of a workload that they show.
fn published(at: &At<'_>, place: &str, shown_there: bool) -> Vec<ComparisonRow> {
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
        "copies of mice are about 1 % more bytes",
    ));
    rows
}

/// The curves of the slides' three charts at one load, in milliseconds.
fn curves(at: &At<'_>, place: &str) -> Vec<ComparisonRow> {
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
                band::SHOWN,
                "theirs is a chart without a scale that could be read",
            )
        })
        .collect()
}

/// By how many per cent pFabric's figure is above that of the best of the others.
fn pfabric_against_best(at: &At<'_>, figure: Figure<'_>) -> Ours {
    let of = |design: &&str| at.ours(design, figure).value.unwrap_or(f64::INFINITY);
    let others = [TCP, REPFLOW, DCTCP, REPFLOW_DCTCP];
    let best = others.into_iter().min_by(|a, b| of(a).total_cmp(&of(b)));
    at.change(PFABRIC, best.unwrap_or(TCP), figure)
}

const MEAN_OF_ELEPHANTS: Figure<'static> = Figure::Of(Statistic::Mean, &elephants);
