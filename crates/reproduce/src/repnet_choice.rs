//! Second motivation of RepNet (RepNet paper, section II-B and figure 2): one of three paths is congested.
//! A single connection uses the congested path with a probability of 1/3.
//! Two connections both use the congested path with a probability of 1/9.

use crate::measure::{Figure, Selection, fcts};
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::{FlowRecord, RunRecord};
use tailcut_scenario::sim::workload::Class;

const PART: &str = "repnet-choice";
const SCENARIO: &str = include_str!("../scenarios/reproduce/repnet-choice.toml");
const TCP: &str = "cubic";
const REPFLOW: &str = "repflow+cubic";
const REPSYN: &str = "repsyn+cubic";

/// Time in microseconds above which a handshake has used the congested path.
/// The limit is twice the round-trip time of an idle path, 178 us.
const SLOW_HANDSHAKE_US: f64 = 356.0;

/// Time in microseconds above which a flow of 100 KB has used the congested path: twice the time on an idle path.
/// On an idle path, six round trips of 178 us (one handshake, five with data) and the transmission (0.8 ms) are needed.
const SLOW_FLOW_US: f64 = 2.0 * (6.0 * 178.0 + 843.0);

/// Time that a flow spends in the kernels of the hosts in the paper, in microseconds (section IV-B).
/// The chart in the paper includes the time in the kernels.
const KERNEL_US: f64 = 6_820.0;

/// Permitted difference in percentage points. The path is random, because it depends on a hash of the ports.
/// With at least 3,000 probes, the standard error is at most 0.9 points.
/// The permitted difference is 3.5 times as large.
const POINTS: f64 = 3.0;

/// Reproduction of the probability that a flow uses the congested path.
pub const REPNET_CHOICE: Reproduction = Reproduction {
    name: PART,
    title: "One of three paths congested: who meets it (RepNet paper, figure 2)",
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
        quick: vec![("flows", "500".to_owned())],
    }]
}

fn parts_on_real_hosts() -> Vec<Part> {
    vec![Part {
        name: PART,
        scenario: SCENARIO,
        // One machine cannot run the hosts of the paper at 1 Gb/s, so the network is ten times slower.
        // The network has 100 Mb/s, and the kernel's initial timeout of 1 s corresponds to 100 ms.
        // The long flows last until the run ends.
        changes: keys(&[
            ("clock", "wall"),
            ("slowdown", "10"),
            ("tcp.initial_rto", "100ms"),
            ("workload[1].from", "300ms"),
            ("drain", "200ms"),
            ("flows", "2000"),
        ]),
        quick: keys(&[("flows", "250")]),
    }]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let at = Selection::new(results, PART, None);
    let expected = [
        (TCP, 100.0 / 3.0, "one connection"),
        (REPFLOW, 100.0 / 9.0, "the better of two"),
        (REPSYN, 100.0 / 9.0, "the better of two"),
    ];
    let mut rows = Vec::new();
    for (design, published, what) in expected {
        rows.push(row(
            format!("{design}: handshakes that meet the congested path, {what}, %"),
            &at.by_seed(design, |run| 100.0 * slow_handshakes(run)),
            Some(published),
            (published - POINTS, published + POINTS),
            "the draw of the ports",
        ));
    }
    for (design, published, what) in expected {
        rows.push(row(
            format!("{design}: flows of 100 KB that are slow, {what}, %"),
            &at.by_seed(design, |run| 100.0 * slow_flows(run)),
            Some(published),
            (published - POINTS, published + POINTS),
            "the draw of the ports",
        ));
    }
    rows.push(row(
        format!("median FCT of 100 KB with 6.82 ms of kernel: {REPFLOW} against {REPSYN}, %"),
        at.change(REPFLOW, REPSYN, Figure::Of(Statistic::P50, &with_kernel)),
        Some(0.0),
        // The paper says "similar in distribution".
        // The distance between the curves is less than the width of a line of the chart.
        (-10.0, 10.0),
        "both copies share the prober's own link",
    ));
    rows
}

fn is_probe(flow: &FlowRecord) -> bool {
    flow.class == Class::Probe as u8
}

/// Returns the completion times of the probes in microseconds. They include the time in the hosts' kernels.
fn with_kernel(run: &RunRecord) -> Vec<f64> {
    let network = fcts(run, is_probe).into_iter();
    network.map(|us| us + KERNEL_US).collect()
}

fn share(run: &RunRecord, slow: impl Fn(&FlowRecord) -> bool) -> f64 {
    let probes = run.flows.iter().filter(|flow| is_probe(flow));
    let (slow, all) = probes.fold((0u32, 0u32), |(s, n), flow| {
        (s + u32::from(slow(flow)), n + 1)
    });
    f64::from(slow) / f64::from(all)
}

fn slow_handshakes(run: &RunRecord) -> f64 {
    share(run, |flow| {
        flow.handshake
            .is_none_or(|rtt| rtt.as_us_f64() > SLOW_HANDSHAKE_US)
    })
}

fn slow_flows(run: &RunRecord) -> f64 {
    share(run, |flow| {
        flow.fct.is_none_or(|fct| fct.as_us_f64() > SLOW_FLOW_US)
    })
}
