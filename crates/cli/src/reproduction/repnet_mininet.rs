//! RepNet in Mininet (RepNet paper, section V and figure 12): a 6-pod fat-tree at 50 Mb/s.

use super::band::{self, Band};
use super::measure::{At, Statistic};
use super::{Part, Reproduction, Results, row};
use tailcut_report::ComparisonRow;

/// See the module.
pub struct RepNetMininet;

const PART: &str = "repnet-mininet";
const TCP: &str = "cubic";
const REPFLOW: &str = "repflow+cubic";
const REPSYN: &str = "repsyn+cubic";

impl Reproduction for RepNetMininet {
    fn name(&self) -> &'static str {
        PART
    }

    fn title(&self) -> &'static str {
        "RepNet in a 6-pod fat-tree of 54 hosts at 50 Mb/s (RepNet paper, section V)"
    }

    fn parts(&self) -> Vec<Part> {
        let quick = [("loads", "0.1, 0.5"), ("duration", "30s"), ("seeds", "3")];
        vec![Part {
            name: PART,
            scenario: include_str!("../../../../scenarios/reproduce/repnet-mininet.toml"),
            changes: Vec::new(),
            quick: quick.map(|(key, value)| (key, value.to_owned())).to_vec(),
        }]
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let row = |load,
                   design: &'static str,
                   base: &'static str,
                   statistic: Statistic,
                   band: Band,
                   why: &str| {
            let at = At::new(results, PART, Some(load));
            let (name, mice) = (statistic.name(), at.mice(design));
            let metric = format!("load {load}: {design}, {name} of {mice} mice against {base}, %");
            let ours = at.change(design, base, |run| statistic.of_mice(run));
            row(metric, &ours, None, band, why)
        };
        let mut rows = Vec::new();
        for design in [REPFLOW, REPSYN] {
            for statistic in [Statistic::Mean, Statistic::P99, Statistic::P999] {
                let why = "published as a chart: trends as on the testbed";
                rows.push(row(0.5, design, TCP, statistic, band::SOME_GAIN, why));
            }
        }
        rows.push(row(
            0.5,
            REPSYN,
            REPFLOW,
            Statistic::P99,
            // "Approximates or even outperforms RepFlow": less than on the testbed, where the p99 of
            // RepSYN is 26 % above that of RepFlow (0.842 / 0.67).
            (-95.0, 26.0),
            "published as a chart: RepSYN comes near RepFlow or is better",
        ));
        for design in [REPFLOW, REPSYN] {
            let why = "theirs pays for the controller that sets up each connection; ours has none";
            rows.push(row(0.1, design, TCP, Statistic::P99, band::NO_HARM, why));
        }
        rows
    }
}
