//! RepNet in Mininet (RepNet paper, section V and figure 12): a 6-pod fat-tree at 50 Mb/s.

use crate::band::{self, Band};
use crate::measure::{Figure, Selection, mice};
use crate::measured_value::per_cent;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::RunRecord;

const SCENARIO: &str = include_str!("../scenarios/reproduce/repnet-mininet.toml");

const PART: &str = "repnet-mininet";

/// Part that uses the rate in the public scripts of the experiment: each of the 54 senders sends 19.5 Mb/s at load 1.
const AT_SCRIPTS_RATE: &str = "repnet-mininet-scripts-rate";

const TCP: &str = "cubic";
const REPFLOW: &str = "repflow+cubic";
const REPSYN: &str = "repsyn+cubic";

/// Loads, each with the p99 of TCP, RepFlow and RepSYN in ms, computed from the public raw data of the experiment.
/// The data contain 300 to 2,250 flows for each load and design. Flows that took [`LEFT_OUT_US`] or more are left out.
const RAW: [(f64, [f64; 3]); 8] = [
    (0.1, [13.0, 39.0, 37.0]),
    (0.2, [28.0, 44.0, 43.0]),
    (0.3, [44.0, 47.0, 46.0]),
    (0.4, [47.0, 47.0, 53.0]),
    (0.5, [60.0, 48.0, 54.0]),
    (0.6, [77.0, 57.0, 59.0]),
    (0.7, [105.0, 92.0, 95.0]),
    (0.8, [236.0, 180.0, 163.0]),
];

/// Upper limit of completion times in microseconds.
/// The figures of the experiment do not include times of 400 ms or more, so our values also exclude long times.
const LEFT_OUT_US: f64 = 400_000.0;

const HOSTS: &str = "the published times include the controller and hosts that share a machine, ours do not; \
                     other differences at the scripts' rate are unknown";

/// Reproduction of the Mininet experiment.
pub const REPNET_MININET: Reproduction = Reproduction {
    name: PART,
    title: "RepNet in a 6-pod fat-tree of 54 hosts at 50 Mb/s (RepNet paper, section V)",
    parts,
    parts_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let part = |name, changes: &[(&'static str, &str)], loads| Part {
        name,
        scenario: SCENARIO,
        changes: keys(changes),
        quick: keys(&[("loads", loads), ("duration", "15s")]),
    };
    let all_loads = [("loads", "0.1..0.8:0.1"), ("workload.load_of", "1053Mbps")];
    vec![
        part(PART, &[("loads", "0.5")], "0.5"),
        part(AT_SCRIPTS_RATE, &all_loads, "0.3, 0.5, 0.8"),
    ]
}

/// Returns only the study at the paper's rate. 54 hosts are many for one machine, so the network is four times slower.
/// In a network that is four times slower, the kernel's initial timeout of 1 s corresponds to 250 ms.
fn parts_on_real_hosts() -> Vec<Part> {
    vec![Part {
        name: PART,
        scenario: SCENARIO,
        changes: keys(&[
            ("loads", "0.5"),
            ("clock", "wall"),
            ("slowdown", "4"),
            ("tcp.initial_rto", "250ms"),
            ("duration", "30s"),
        ]),
        quick: keys(&[("duration", "3s")]),
    }]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = charts(results);
    for load in results.loads(AT_SCRIPTS_RATE, TCP) {
        rows.extend(beside_raw_data(results, load));
    }
    rows
}

/// Returns the rows for the charts in the paper, at the load of the charts.
fn charts(results: &Results) -> Vec<ComparisonRow> {
    let at = Selection::new(results, PART, Some(0.5));
    let change =
        |design: &'static str, base: &'static str, statistic: Statistic, band: Band, why| {
            row(
                format!(
                    "load 0.5: {design}, {} of mice against {base}, %",
                    statistic.name()
                ),
                at.change(design, base, Figure::Of(statistic, &mice)),
                None,
                band,
                why,
            )
        };
    let mut rows = Vec::new();
    for design in [REPFLOW, REPSYN] {
        for statistic in [Statistic::Mean, Statistic::P99, Statistic::P999] {
            let why = "published as a chart: trends as on the testbed";
            rows.push(change(design, TCP, statistic, band::SOME_GAIN, why));
        }
    }
    // The paper says "approximates or even outperforms RepFlow". The limit is the difference in the paper's testbed.
    // In the testbed, the p99 of RepSYN is 26 % higher than the p99 of RepFlow (0.842 / 0.67).
    let why = "published as a chart: RepSYN is close to RepFlow or better";
    rows.push(change(
        REPSYN,
        REPFLOW,
        Statistic::P99,
        band::up_to(26.0),
        why,
    ));
    rows
}

/// Returns rows that compare with raw data at a load of the scripts: the p99 of each design and its change against TCP.
fn beside_raw_data(results: &Results, load: f64) -> Vec<ComparisonRow> {
    let Some((_, published)) = RAW.iter().find(|(known, _)| (known - load).abs() < 1e-9) else {
        return Vec::new();
    };
    let at = Selection::new(results, AT_SCRIPTS_RATE, Some(load));
    let figure = Figure::Of(Statistic::P99, &counted);
    let mut rows = Vec::new();
    for (design, published_ms) in [TCP, REPFLOW, REPSYN].into_iter().zip(published) {
        rows.push(row(
            format!("scripts' load {load}: {design}, p99 of mice under 400 ms, ms"),
            at.ours(design, figure).map(|us| us / 1_000.0),
            Some(*published_ms),
            // The published times include times of the hosts and of the network's controller.
            // The band therefore allows half to twice the published value.
            (published_ms / 2.0, published_ms * 2.0),
            HOSTS,
        ));
    }
    for (design, published_ms) in [REPFLOW, REPSYN].into_iter().zip(&published[1..]) {
        let change = per_cent(published_ms / published[0]);
        rows.push(row(
            format!("scripts' load {load}: {design}, p99 of mice under 400 ms against {TCP}, %"),
            at.change(design, TCP, figure),
            Some(change),
            band::for_change(change),
            HOSTS,
        ));
    }
    rows
}

/// Returns the completion times of mice in microseconds. Mice that the experiment's figures leave out are not included.
fn counted(run: &RunRecord) -> Vec<f64> {
    let mice = mice(run).into_iter();
    mice.filter(|&us| us < LEFT_OUT_US).collect()
}
