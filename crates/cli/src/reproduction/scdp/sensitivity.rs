//! What the figures of short flows depend on: web search at load 0.8, with one parameter at a time set to another
//! value that the SCDP paper leaves possible.

use super::short_flows::{QUICK, SCENARIO, long, short};
use super::{Case, case, concerned};
use crate::reproduction::measure::{At, Figure};
use crate::reproduction::{Part, Reproduction, Results, band, row};
use tailcut_report::{ComparisonRow, Statistic};

/// See the module.
pub struct Sensitivity;

const APART: &str = "apart";

const CASES: [Case; 15] = [
    case("as-is", "as reproduced", &[]),
    case(APART, "no long flow on the same hosts", &[]),
    case("delay-5us", "links of 5 us", &[("topology.delay", "5us")]),
    case(
        "delay-10us",
        "links of 10 us",
        &[("topology.delay", "10us")],
    ),
    case("k-6", "k = 6", &[("topology.k", "6")]),
    case(
        "sessions-1000",
        "1,000 sessions a second",
        &[("workload.load", "0.053")],
    ),
    case(
        "sessions-5000",
        "5,000 sessions a second",
        &[("workload.load", "0.267")],
    ),
    case(
        "ndp-queue",
        "NDP's own queue, 8 packets",
        &[("ndp.queue", "8 packets")],
    ),
    case(
        "pias-window-10",
        "10 segments at first",
        &[("tcp.initial_window", "10 segments")],
    ),
    case(
        "pias-unmarked",
        "PIAS without marking",
        &[("queue.mark_above", "off")],
    ),
    case(
        "pias-unmarked-buffer",
        "PIAS without marking, buffers that never fill",
        &[("queue.mark_above", "off"), ("pias.limit", "10GB")],
    ),
    case(
        "block-20",
        "blocks of 20 symbols",
        &[("scdp.block_symbols", "20")],
    ),
    case(
        "in-turn",
        "hosts serve all their classes in turn",
        &[
            ("scdp.host_order", "false"),
            ("ndp.host_order", "false"),
            ("pias.host_order", "false"),
        ],
    ),
    case(
        "shared-buffer",
        "classes of NDP+ and PIAS share the buffer",
        &[("ndp.buffer", "shared"), ("pias.buffer", "shared")],
    ),
    case(
        "resends",
        "resends do not count in NDP+, and do in PIAS",
        &[
            ("ndp.resends_count", "false"),
            ("pias.resends_count", "true"),
        ],
    ),
];

impl Reproduction for Sensitivity {
    fn name(&self) -> &'static str {
        "scdp-sensitivity"
    }

    fn title(&self) -> &'static str {
        "Short flows beside long ones, load 0.8, with other values of what the SCDP paper leaves open"
    }

    fn parts(&self) -> Vec<Part> {
        let apart = include_str!("../../../../../scenarios/reproduce/scdp-short-flows-apart.toml");
        let part = |case: &Case| {
            let scenario = if case.name == APART { apart } else { SCENARIO };
            let mut part = case.part(scenario, &[("loads", "0.8")], QUICK);
            if case.name == "k-6" {
                part.quick.retain(|(key, _)| *key != "topology.k");
            }
            part
        };
        CASES.iter().map(part).collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for Case {
            name,
            what,
            changes,
        } in &CASES
        {
            let at = At::new(results, name, Some(0.8));
            for design in concerned(changes, &["scdp", "ndp-plus", "ndp", "pias"]) {
                let theirs = match design {
                    "scdp" => Some(310.0),
                    "ndp-plus" => Some(292.0),
                    "pias" => Some(430.0),
                    _ => None,
                };
                rows.push(row(
                    format!("{what}: {design}, mean of flows up to 10 KB, us"),
                    at.ours(design, Figure::Of(Statistic::Mean, &short)),
                    theirs,
                    band::SHOWN,
                    "one parameter at a time",
                ));
                rows.push(row(
                    format!("{what}: {design}, p99 of flows up to 10 KB, us"),
                    at.ours(design, Figure::Of(Statistic::P99, &short)),
                    None,
                    band::SHOWN,
                    "one parameter at a time",
                ));
                if ["scdp", "pias"].contains(&design) {
                    rows.push(row(
                        format!("{what}: {design}, goodput of flows of 1 to 10 MB, Mb/s"),
                        at.ours(design, Figure::Of(Statistic::Mean, &long)),
                        (design == "pias").then_some(700.0),
                        band::SHOWN,
                        "one parameter at a time",
                    ));
                }
            }
        }
        rows
    }
}
