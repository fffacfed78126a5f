//! Incast of RepNet (RepNet paper, section IV-B2): together with every mouse, ten more flows of the same size start.

use crate::band;
use crate::measure::{Figure, Selection, mice};
use crate::measured_value::MeasuredValue;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};

const PART: &str = "repnet-incast";
const SCENARIO: &str = include_str!("../scenarios/reproduce/repnet-incast.toml");
const TCP: &str = "cubic";
const REPFLOW: &str = "repflow+cubic";
const REPSYN: &str = "repsyn+cubic";
const LOAD: f64 = 0.4;
const LOAD_UNKNOWN: &str = "the paper does not give this figure's load";

/// Reproduction of RepNet's incast.
pub const REPNET_INCAST: Reproduction = Reproduction {
    name: PART,
    title: "RepNet's 11-to-1 incast with web search (RepNet paper, IV-B2)",
    parts,
    parts_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    vec![Part {
        name: PART,
        scenario: SCENARIO,
        changes: Vec::new(),
        quick: keys(&[("flows", "1000")]),
    }]
}

fn parts_on_real_hosts() -> Vec<Part> {
    vec![Part {
        name: PART,
        scenario: SCENARIO,
        // One machine cannot run the hosts of the paper at 1 Gb/s, so the network is ten times slower.
        // The network has 100 Mb/s, and the kernel's initial timeout of 1 s corresponds to 100 ms.
        changes: keys(&[
            ("clock", "wall"),
            ("slowdown", "10"),
            ("tcp.initial_rto", "100ms"),
            ("flows", "3000"),
        ]),
        quick: keys(&[("flows", "300")]),
    }]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let at = Selection::new(results, PART, Some(LOAD));
    let [repflow, tcp] = [REPFLOW, TCP].map(|design| at.measured(design, mice));
    let change = |design: &'static str, statistic: Statistic, published, band, why: &str| {
        let metric = format!("{design}, {} of mice against {TCP}, %", statistic.name());
        let ours = at.change(design, TCP, Figure::Of(statistic, &mice));
        row(metric, ours, published, band, why)
    };
    let gain = |design, statistic, published| {
        change(
            design,
            statistic,
            Some(published),
            band::for_gain(published),
            LOAD_UNKNOWN,
        )
    };
    vec![
        change(
            REPFLOW,
            Statistic::P50,
            None,
            // The paper says "most flows experience longer delay", so any loss is within the band.
            band::from(0.0),
            "22 flows share the receiver's link, not 11",
        ),
        row(
            format!("{REPFLOW}, p99 of mice minus {TCP}'s, us"),
            MeasuredValue::of_quantiles([&repflow, &tcp], 0.99, |[ours, base]| ours - base),
            Some(400.0),
            // The published value is 400 us. The value depends on the load, which is not published.
            // The band therefore allows a quarter to four times the published value.
            (100.0, 1_600.0),
            LOAD_UNKNOWN,
        ),
        gain(REPFLOW, Statistic::P999, -20.5),
        change(
            REPSYN,
            Statistic::Quantile(0.75),
            None,
            // The paper says "the slowest half of all flows are accelerated", so any gain is within the band.
            band::up_to(0.0),
            "published as a chart: the slowest half is faster",
        ),
        gain(REPSYN, Statistic::P99, -8.7),
        gain(REPSYN, Statistic::P999, -6.0),
    ]
}
