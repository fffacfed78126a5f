//! Sensitivity of the figures about short flows, with web search at load 0.8.
//! Each study sets one parameter to another value that the SCDP paper permits.

use super::figures::concerned;
use super::short_flows::{QUICK, SCENARIO, long, short};
use crate::band;
use crate::case::{Case, cases};
use crate::measure::{Figure, Selection};
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};

const APART: &str = "apart";

const CASES: &str = include_str!("../../cases/scdp-sensitivity.txt");

/// Reproduction that shows the sensitivity of SCDP's results for short flows to parameters.
pub const SENSITIVITY: Reproduction = Reproduction {
    name: "scdp-sensitivity",
    title: "Short flows with long flows, load 0.8, with other values of parameters that the SCDP paper does not specify",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
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

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for case in cases(CASES) {
        let Case {
            name, description, ..
        } = case;
        let at = Selection::new(results, name, Some(0.8));
        for design in concerned(&case, &["scdp", "ndp-plus", "ndp", "pias"]) {
            let published = match design {
                "scdp" => Some(310.0),
                "ndp-plus" => Some(292.0),
                "pias" => Some(430.0),
                _ => None,
            };
            rows.push(row(
                format!("{description}: {design}, mean of flows up to 10 KB, us"),
                at.ours(design, Figure::Of(Statistic::Mean, &short)),
                published,
                band::NO_BAND,
                "each case changes one parameter",
            ));
            rows.push(row(
                format!("{description}: {design}, p99 of flows up to 10 KB, us"),
                at.ours(design, Figure::Of(Statistic::P99, &short)),
                None,
                band::NO_BAND,
                "each case changes one parameter",
            ));
            if ["scdp", "pias"].contains(&design) {
                rows.push(row(
                    format!("{description}: {design}, goodput of flows of 1 to 10 MB, Mb/s"),
                    at.ours(design, Figure::Of(Statistic::Mean, &long)),
                    (design == "pias").then_some(700.0),
                    band::NO_BAND,
                    "each case changes one parameter",
                ));
            }
        }
    }
    rows
}
