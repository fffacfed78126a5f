//! What the figures of short flows depend on: web search at load 0.8, with one parameter at a time set to another
//! value that the SCDP paper leaves possible.

use super::figures::concerned;
use super::short_flows::{QUICK, SCENARIO, long, short};
use crate::band;
use crate::case::{Case, cases};
use crate::measure::{At, Figure};
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};

/// See the module.
pub struct Sensitivity;

const APART: &str = "apart";

const CASES: &str = include_str!("../../cases/scdp-sensitivity.txt");

impl Reproduction for Sensitivity {
    fn name(&self) -> &'static str {
        "scdp-sensitivity"
    }

    fn title(&self) -> &'static str {
        "Short flows beside long ones, load 0.8, with other values of what the SCDP paper leaves open"
    }

    fn parts(&self) -> Vec<Part> {
        let apart = include_str!("../../scenarios/reproduce/scdp-short-flows-apart.toml");
        let part = |case: Case| {
            let scenario = if case.name == APART { apart } else { SCENARIO };
            let mut part = case.part(scenario, &[("loads", "0.8")], QUICK);
            if case.name == "k-6" {
                part.quick.retain(|(key, _)| *key != "topology.k");
            }
            part
        };
        cases(CASES).map(part).collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for case in cases(CASES) {
            let Case { name, what, .. } = case;
            let at = At::new(results, name, Some(0.8));
            for design in concerned(&case, &["scdp", "ndp-plus", "ndp", "pias"]) {
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
