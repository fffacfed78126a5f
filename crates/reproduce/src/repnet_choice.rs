//! RepNet's second motivation (RepNet paper, section II-B and figure 2): one of three paths is
//! congested; a connection meets it one time in three, the better of two one time in nine.

use crate::measure::{At, Figure, fcts};
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::{FlowRecord, RunRecord};
use tailcut_scenario::sim::workload::Class;

/// See the module.
pub struct RepNetChoice;

const PART: &str = "repnet-choice";
const SCENARIO: &str = include_str!("../scenarios/reproduce/repnet-choice.toml");
const TCP: &str = "cubic";
const REPFLOW: &str = "repflow+cubic";
const REPSYN: &str = "repsyn+cubic";

/// A handshake that takes more than twice the idle 178 us met the congested path, in microseconds.
const SLOW_HANDSHAKE_US: f64 = 356.0;

/// A flow of 100 KB takes five round trips of data and its handshake: six times 178 us and 0.8 ms of
/// line time. One that takes more than twice that met the congested path.
const SLOW_FLOW_US: f64 = 2.0 * (6.0 * 178.0 + 843.0);

/// What a flow spends in the hosts' kernels in the paper, whose chart does not subtract it (section
/// IV-B), in microseconds.
const KERNEL_US: f64 = 6_820.0;

/// Ports are hashed, so that meeting the path is a draw: with 3,000 probes or more its standard error is
/// at most 0.9 points; this is 3.5 of them.
const POINTS: f64 = 3.0;

impl Reproduction for RepNetChoice {
    fn name(&self) -> &'static str {
        PART
    }

    fn title(&self) -> &'static str {
        "One of three paths congested: who meets it (RepNet paper, figure 2)"
    }

    fn parts(&self) -> Vec<Part> {
        vec![Part {
            name: PART,
            scenario: SCENARIO,
            changes: Vec::new(),
            quick: vec![("flows", "500".to_owned())],
        }]
    }

    fn parts_on_real_hosts(&self) -> Vec<Part> {
        vec![Part {
            name: PART,
            scenario: SCENARIO,
            // Ten times slower: 1 Gb/s is 100 Mb/s for the machine, and the kernels' 1 s is 100 ms. The
            // long flows go on until the run ends.
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

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let at = At::new(results, PART, None);
        let expected = [
            (TCP, 100.0 / 3.0, "one connection"),
            (REPFLOW, 100.0 / 9.0, "the better of two"),
            (REPSYN, 100.0 / 9.0, "the better of two"),
        ];
        let mut rows = Vec::new();
        for (design, theirs, what) in expected {
            rows.push(row(
                format!("{design}: handshakes that meet the congested path, {what}, %"),
                &at.by_seed(design, |run| 100.0 * slow_handshakes(run)),
                Some(theirs),
                (theirs - POINTS, theirs + POINTS),
                "the draw of the ports",
            ));
        }
        for (design, theirs, what) in expected {
            rows.push(row(
                format!("{design}: flows of 100 KB that are slow, {what}, %"),
                &at.by_seed(design, |run| 100.0 * slow_flows(run)),
                Some(theirs),
                (theirs - POINTS, theirs + POINTS),
                "the draw of the ports",
            ));
        }
        rows.push(row(
            format!("median FCT of 100 KB with 6.82 ms of kernel: {REPFLOW} against {REPSYN}, %"),
            at.change(REPFLOW, REPSYN, Figure::Of(Statistic::P50, &with_kernel)),
            Some(0.0),
            // "Similar in distribution": within the width of a line of the chart.
            (-10.0, 10.0),
            "both copies share the prober's own link",
        ));
        rows
    }
}

fn is_probe(flow: &FlowRecord) -> bool {
    flow.class == Class::Probe as u8
}

/// Completion times of the probes at an application, in microseconds.
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
