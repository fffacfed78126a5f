//! Short flows that lose a symbol and need decoding (SCDP paper, section V-G, figure 15), by load and by the rate of
//! short flows.

use super::figures::{is_of, per_cent};
use crate::case::{Case, cases};
use crate::measure::{At, mice};
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;
use tailcut_scenario::record::RunRecord;
use tailcut_scenario::sim::workload::Class;

/// See the module.
pub struct Decoding;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/scdp-decoding.toml");

const PUBLISHED: &str = "rate-8000";

const RATES: &str = include_str!("../../cases/scdp-decoding.txt");

/// The share of the short flows that lost a symbol, in per cent: any that sent a repair symbol.
fn lossy(run: &RunRecord) -> f64 {
    let flows = run
        .flows
        .iter()
        .filter(|flow| is_of(flow, Class::Foreground));
    per_cent(flows, |flow| flow.retransmissions > 0)
}

impl Reproduction for Decoding {
    fn name(&self) -> &'static str {
        "scdp-decoding"
    }

    fn title(&self) -> &'static str {
        "Short flows that need decoding, by load (SCDP paper, figure 15)"
    }

    fn parts(&self) -> Vec<Part> {
        let quick = &[
            ("topology.k", "4"),
            ("loads", "0.5, 0.9"),
            ("seeds", "6"),
            ("duration", "200ms"),
            ("drain", "100ms"),
        ];
        cases(RATES)
            .map(|case| case.part(SCENARIO, &[], quick))
            .collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for Case { name, what, .. } in cases(RATES) {
            for load in results.loads(name, "scdp") {
                let at = At::new(results, name, Some(load));
                let flows = at.measured("scdp", mice).sample().len();
                // 0.44 and 1.2 % at two loads that are not legible: at most twice the larger.
                let published = name == PUBLISHED;
                rows.push(row(
                    format!("{what}, load {load}: of {flows} flows under 100 KB need decoding, %"),
                    &at.by_seed("scdp", lossy),
                    None,
                    published.then_some((0.0, 2.4)),
                    "published for 8,000 a second: 0.44 and 1.2 % at two loads",
                ));
            }
        }
        rows
    }
}
