//! Incast (SCDP paper, section V-E, figures 12a and 12b): goodput by the number of senders, and the distribution of
//! completion times with 70.

use super::{Case, case, concerned, is_of};
use crate::reproduction::measure::{At, Figure, fcts};
use crate::reproduction::{Part, Reproduction, Results, band, row};
use tailcut_record::{FlowRecord, RunRecord};
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_sim::workload::Class;

/// See the module.
pub struct Incast;

const SCENARIO: &str = include_str!("../../../../../scenarios/reproduce/scdp-incast.toml");

const DESIGNS: [&str; 3] = ["scdp", "ndp", "tcp"];

const CROWDS: [Case; 7] = [
    case("senders-1", "1 sender", &[("workload.senders", "1")]),
    case("senders-10", "10 senders", &[("workload.senders", "10")]),
    case("senders-20", "20 senders", &[("workload.senders", "20")]),
    case("senders-30", "30 senders", &[("workload.senders", "30")]),
    case("senders-40", "40 senders", &[("workload.senders", "40")]),
    case("senders-50", "50 senders", &[("workload.senders", "50")]),
    case(MOST, "70 senders", &[]),
];
const MOST: &str = "senders-70";

/// The largest crowd with one thing changed.
const CHANGED: [Case; 4] = [
    case(
        "size-256KB",
        "70 senders of 256 KB",
        &[("workload.sizes", "fixed:256KB")],
    ),
    case(
        "no-repair",
        "70 senders, no symbols beyond K and decoding in no time",
        &[
            ("scdp.overhead", "0"),
            ("scdp.decode_failure", "0,0,0"),
            ("scdp.decode_rate", "1000Tbps"),
        ],
    ),
    case(
        "rto-10ms",
        "70 senders, RTOmin 10 ms",
        &[("tcp.min_rto", "10ms")],
    ),
    case(
        "ndp-queue",
        "70 senders, NDP's own queue of 8 packets",
        &[("ndp.queue", "8 packets")],
    ),
];

fn is_studied(flow: &FlowRecord) -> bool {
    is_of(flow, Class::Incast)
}

/// Completion times of the incast's flows, in microseconds.
fn studied(run: &RunRecord) -> Vec<f64> {
    fcts(run, is_studied)
}

/// All bytes of the incast over the time until its last flow ends, in Mb/s.
fn goodput(run: &RunRecord) -> f64 {
    let last = studied(run).into_iter().fold(0.0, f64::max);
    let flows = run.flows.iter().filter(|flow| is_studied(flow));
    let bytes: u64 = flows.map(|flow| flow.bytes.0).sum();
    bytes as f64 * 8.0 / last
}

impl Reproduction for Incast {
    fn name(&self) -> &'static str {
        "scdp-incast"
    }

    fn title(&self) -> &'static str {
        "Incast of up to 70 senders: SCDP, NDP and TCP (SCDP paper, figures 12a and 12b)"
    }

    fn parts(&self) -> Vec<Part> {
        let cases = CROWDS.iter().chain(&CHANGED);
        cases.map(|case| case.part(SCENARIO, &[], &[])).collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for Case { name, what, .. } in &CROWDS {
            let at = At::new(results, name, None);
            for design in DESIGNS {
                // No collapse: most of the link, of which the background takes a tenth. Collapse: less than
                // half, as soon as many windows together are longer than the buffer.
                let band = match (design, *name) {
                    (_, "senders-1") => None,
                    ("tcp", "senders-10" | "senders-20") => None,
                    ("tcp", _) => Some((0.0, 475.0)),
                    _ => Some((650.0, 950.0)),
                };
                rows.push(row(
                    format!("{what}: {design}, goodput of the incast, Mb/s"),
                    &at.by_seed(design, goodput),
                    None,
                    band,
                    "published as a chart: TCP collapses, SCDP and NDP do not",
                ));
            }
        }
        let most = At::new(results, MOST, None);
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
                    band::SHOWN,
                    "",
                ));
            }
        }
        rows.push(row(
            "70 senders: scdp, median completion time against ndp, %",
            most.change("scdp", "ndp", Figure::Of(Statistic::P50, &studied)),
            None,
            super::NOT_MORE,
            "published as a chart: SCDP is slightly better",
        ));
        for Case {
            name,
            what,
            changes,
        } in &CHANGED
        {
            let at = At::new(results, name, None);
            for design in concerned(changes, &DESIGNS) {
                rows.push(row(
                    format!("{what}: {design}, goodput of the incast, Mb/s"),
                    &at.by_seed(design, goodput),
                    None,
                    band::SHOWN,
                    "one parameter at a time",
                ));
            }
        }
        rows
    }
}
