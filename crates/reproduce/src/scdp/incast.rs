//! Incast (SCDP paper, section V-E, figures 12a and 12b).
//! The rows show the goodput for several numbers of senders, and the distribution of completion times with 70 senders.

use super::figures::{ON_REAL_HOSTS, concerned, is_of};
use crate::band;
use crate::case::{Case, cases};
use crate::measure::{Figure, Selection, fcts};
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::{FlowRecord, RunRecord};
use tailcut_scenario::sim::workload::Class;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/scdp-incast.toml");

const DESIGNS: [&str; 3] = ["scdp", "ndp", "tcp"];

const CROWDS: &str = include_str!("../../cases/scdp-incast-crowds.txt");
const MOST: &str = "senders-70";

/// Number of cases that also run on real hosts. With at most 10 senders, 16 hosts are enough.
const FEW: usize = 2;

const CHANGED: &str = include_str!("../../cases/scdp-incast-changed.txt");

fn is_studied(flow: &FlowRecord) -> bool {
    is_of(flow, Class::Incast)
}

/// Returns the completion times of the incast's flows in microseconds.
fn studied(run: &RunRecord) -> Vec<f64> {
    fcts(run, is_studied)
}

/// Returns the goodput of the incast in Mb/s: the bytes of all flows, divided by the time until the last flow ends.
fn goodput(run: &RunRecord) -> f64 {
    let last = studied(run).into_iter().fold(0.0, f64::max);
    let flows = run.flows.iter().filter(|flow| is_studied(flow));
    let bytes: u64 = flows.map(|flow| flow.bytes.0).sum();
    bytes as f64 * 8.0 / last
}

/// Reproduction of SCDP's incast.
pub const INCAST: Reproduction = Reproduction {
    name: "scdp-incast",
    title: "Incast of up to 70 senders: SCDP, NDP and TCP (SCDP paper, figures 12a and 12b)",
    parts,
    parts_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let cases = cases(CROWDS).chain(cases(CHANGED));
    cases.map(|case| case.part(SCENARIO, &[], &[])).collect()
}

fn parts_on_real_hosts() -> Vec<Part> {
    let small = cases(CROWDS).take(FEW);
    let part = |case: Case| {
        let mut part = case.part(SCENARIO, ON_REAL_HOSTS, &[]);
        part.changes.extend(keys(&[("topology.k", "4")]));
        part
    };
    small.map(part).collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for Case {
        name, description, ..
    } in cases(CROWDS)
    {
        let at = Selection::new(results, name, None);
        for design in DESIGNS
            .into_iter()
            .filter(|design| results.ran(name, design))
        {
            // Without collapse, the incast uses most of the link, because the background traffic needs only a tenth.
            // With collapse, the incast uses less than half of the link.
            // The goodput collapses if the windows of all senders together are larger than the buffer.
            let band = match (design, name) {
                (_, "senders-1") => None,
                ("tcp", "senders-10" | "senders-20") => None,
                ("tcp", _) => Some((0.0, 475.0)),
                _ => Some((650.0, 950.0)),
            };
            rows.push(row(
                format!("{description}: {design}, goodput of the incast, Mb/s"),
                &at.by_seed(design, goodput),
                None,
                band,
                "published as a chart: TCP collapses, SCDP and NDP do not",
            ));
        }
    }
    if !results.ran(MOST, "scdp") {
        return rows;
    }
    let most = Selection::new(results, MOST, None);
    for percentile in [0.1, 0.5, 0.9, 0.99] {
        let statistic = Statistic::Quantile(percentile);
        for design in DESIGNS {
            rows.push(row(
                format!(
                    "70 senders: {design}, {} of completion times, ms",
                    statistic.name()
                ),
                most.ours(design, Figure::Of(statistic, &studied))
                    .map(|us| us / 1e3),
                None,
                band::NO_BAND,
                "",
            ));
        }
    }
    rows.push(row(
        "70 senders: scdp, median completion time against ndp, %",
        most.change("scdp", "ndp", Figure::Of(Statistic::P50, &studied)),
        None,
        band::NOT_MORE,
        "published as a chart: SCDP is slightly better",
    ));
    for case in cases(CHANGED) {
        let Case {
            name, description, ..
        } = case;
        let at = Selection::new(results, name, None);
        for design in concerned(&case, &DESIGNS) {
            rows.push(row(
                format!("{description}: {design}, goodput of the incast, Mb/s"),
                &at.by_seed(design, goodput),
                None,
                band::NO_BAND,
                "each case changes one parameter",
            ));
        }
    }
    rows
}
