//! RepNet's incast (RepNet paper, section IV-B2): ten more flows of its size beside every mouse.

use crate::band;
use crate::measure::{At, Figure, mice};
use crate::ours::Ours;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};

/// See the module.
pub struct RepNetIncast;

const PART: &str = "repnet-incast";
const SCENARIO: &str = include_str!("../scenarios/reproduce/repnet-incast.toml");
const TCP: &str = "cubic";
const REPFLOW: &str = "repflow+cubic";
const REPSYN: &str = "repsyn+cubic";
const LOAD: f64 = 0.4;
const LOAD_UNKNOWN: &str = "the paper does not give this figure's load";

impl Reproduction for RepNetIncast {
    fn name(&self) -> &'static str {
        PART
    }

    fn title(&self) -> &'static str {
        "RepNet's 11-to-1 incast beside web search (RepNet paper, IV-B2)"
    }

    fn parts(&self) -> Vec<Part> {
        vec![Part {
            name: PART,
            scenario: SCENARIO,
            changes: Vec::new(),
            quick: keys(&[("flows", "1000")]),
        }]
    }

    fn parts_on_real_hosts(&self) -> Vec<Part> {
        vec![Part {
            name: PART,
            scenario: SCENARIO,
            // Ten times slower: 1 Gb/s is 100 Mb/s for the machine, and the kernels' 1 s is 100 ms.
            changes: keys(&[
                ("clock", "wall"),
                ("slowdown", "10"),
                ("tcp.initial_rto", "100ms"),
                ("flows", "3000"),
            ]),
            quick: keys(&[("flows", "300")]),
        }]
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let at = At::new(results, PART, Some(LOAD));
        let [repflow, tcp] = [REPFLOW, TCP].map(|design| at.measured(design, mice));
        let change = |design: &'static str, statistic: Statistic, theirs, band, why: &str| {
            let metric = format!("{design}, {} of mice against {TCP}, %", statistic.name());
            let ours = at.change(design, TCP, Figure::Of(statistic, &mice));
            row(metric, ours, theirs, band, why)
        };
        let gain = |design, statistic, theirs| {
            change(
                design,
                statistic,
                Some(theirs),
                band::of_gain(theirs),
                LOAD_UNKNOWN,
            )
        };
        vec![
            change(
                REPFLOW,
                Statistic::P50,
                None,
                // "Most flows experience longer delay": any loss.
                band::from(0.0),
                "22 flows meet at the receiver's link in place of 11",
            ),
            row(
                format!("{REPFLOW}, p99 of mice less that of {TCP}, us"),
                Ours::of_quantiles([&repflow, &tcp], 0.99, |[ours, base]| ours - base),
                Some(400.0),
                // Later, by up to four times theirs: it grows with the load, which is unknown.
                (100.0, 1_600.0),
                LOAD_UNKNOWN,
            ),
            gain(REPFLOW, Statistic::P999, -20.5),
            change(
                REPSYN,
                Statistic::Quantile(0.75),
                None,
                // "The slowest half of all flows are accelerated".
                band::up_to(0.0),
                "published as a chart: the slowest half is faster",
            ),
            gain(REPSYN, Statistic::P99, -8.7),
            gain(REPSYN, Statistic::P999, -6.0),
        ]
    }
}
