//! RepFlow's own simulations (RepFlow, INFOCOM 2014): a 16-pod fat-tree of 1,024 hosts in ns-3.

use super::band;
use super::measure::{At, MICE, Statistic, fcts, mean};
use super::{Part, Reproduction, Results, row};
use tailcut_record::RunRecord;
use tailcut_report::ComparisonRow;

/// See the module.
pub struct RepFlowFatTree;

const PART: &str = "repflow-fat-tree";

/// The published gain of mice, in the mean and at the 99th percentile, at all loads: 50 to 70 %; the
/// row shows its middle.
const PUBLISHED: f64 = -60.0;

/// The published range and 5 points on either side: one run of half a second holds some ten thousand
/// mice at the lowest load, so that a p99 is good to about that.
const GAIN: band::Band = (-75.0, -45.0);

impl Reproduction for RepFlowFatTree {
    fn name(&self) -> &'static str {
        PART
    }

    fn title(&self) -> &'static str {
        "RepFlow in a 16-pod fat-tree of 1,024 hosts, NewReno and DCTCP (RepFlow, INFOCOM 2014)"
    }

    fn parts(&self) -> Vec<Part> {
        // 8 pods and 128 hosts with 16 paths in place of 64.
        let quick = [("topology.k", "8"), ("loads", "0.2, 0.6"), ("seeds", "5")];
        vec![Part {
            name: PART,
            scenario: include_str!("../../../../scenarios/reproduce/repflow-fat-tree.toml"),
            changes: Vec::new(),
            quick: quick.map(|(key, value)| (key, value.to_owned())).to_vec(),
        }]
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for load in loads(results) {
            let at = At::new(results, PART, Some(load));
            for statistic in [Statistic::Mean, Statistic::P99] {
                let (name, mice) = (statistic.name(), at.mice("repflow"));
                rows.push(row(
                    format!("load {load}: repflow, {name} of {mice} mice against tcp, %"),
                    &at.change("repflow", "tcp", |run| statistic.of_mice(run)),
                    Some(PUBLISHED),
                    GAIN,
                    "the timeouts are not published, and lost SYNs decide both figures",
                ));
                rows.push(row(
                    format!("load {load}: repflow+dctcp, {name} of mice against dctcp, %"),
                    &at.change("repflow+dctcp", "dctcp", |run| statistic.of_mice(run)),
                    None,
                    band::NO_HARM,
                    "published as a chart: lower than DCTCP",
                ));
            }
            rows.push(row(
                format!("load {load}: repflow, mean of elephants against tcp, %"),
                &at.change("repflow", "tcp", mean_of_elephants),
                Some(0.0),
                band::UNCHANGED,
                "copies of mice are about 1 % more bytes",
            ));
        }
        rows
    }
}

/// The loads that were run, ascending.
fn loads(results: &Results) -> Vec<f64> {
    let mut loads: Vec<f64> = results
        .runs(PART, "tcp")
        .filter_map(|run| run.key.load)
        .collect();
    loads.sort_unstable_by(f64::total_cmp);
    loads.dedup();
    loads
}

/// Elephants are all flows from 100 KB on, in microseconds.
fn mean_of_elephants(run: &RunRecord) -> f64 {
    mean(&fcts(run, |flow| flow.bytes.0 >= MICE))
}
