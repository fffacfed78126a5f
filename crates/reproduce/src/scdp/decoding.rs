//! Short flows that lose a symbol and therefore need decoding (SCDP paper, section V-G, figure 15).
//! The rows contain several loads and several rates of short flows.

use super::figures::{is_of, per_cent};
use crate::case::{Case, cases};
use crate::measure::{Selection, mice};
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;
use tailcut_scenario::record::RunRecord;
use tailcut_scenario::sim::workload::Class;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/scdp-decoding.toml");

const PUBLISHED: &str = "rate-8000";

const RATES: &str = include_str!("../../cases/scdp-decoding.txt");

/// Returns the percentage of short flows that lost a symbol.
/// A flow that lost a symbol has sent at least one repair symbol.
fn lossy(run: &RunRecord) -> f64 {
    let flows = run
        .flows
        .iter()
        .filter(|flow| is_of(flow, Class::Foreground));
    per_cent(flows, |flow| flow.retransmissions > 0)
}

/// Reproduction of the share of short flows that need decoding.
pub const DECODING: Reproduction = Reproduction {
    name: "scdp-decoding",
    title: "Short flows that need decoding, by load (SCDP paper, figure 15)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
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

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for Case {
        name, description, ..
    } in cases(RATES)
    {
        for load in results.loads(name, "scdp") {
            let at = Selection::new(results, name, Some(load));
            let flows = at.measured("scdp", mice).sample().len();
            // The paper reports 0.44 % and 1.2 % at two loads that are not legible.
            // The limit is twice the larger value.
            let published = name == PUBLISHED;
            rows.push(row(
                format!(
                    "{description}, load {load}: of {flows} flows under 100 KB need decoding, %"
                ),
                &at.by_seed("scdp", lossy),
                None,
                published.then_some((0.0, 2.4)),
                "published for 8,000 flows per second: 0.44 and 1.2 % at two loads",
            ));
        }
    }
    rows
}
