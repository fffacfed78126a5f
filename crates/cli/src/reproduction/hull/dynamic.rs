//! The dynamic-flow table: nine hosts send 1 KB and 10 MB flows to a tenth at load 0.2.

use super::{
    COLUMNS, FACTOR, LARGE, TABLE, cell, pairs_in_order, waits_at_busiest, within_factor,
    worst_ratio,
};
use crate::reproduction::measure::{At, Statistic, fcts, mean};
use crate::reproduction::{Part, Reproduction, Results, band, keys, row};
use tailcut_record::RunRecord;
use tailcut_report::ComparisonRow;

/// See the module.
pub struct HullDynamic;

const SCENARIO: &str = include_str!("../../../../../scenarios/reproduce/hull-dynamic.toml");

/// The comparison with two priorities, of which the slides have no figures.
const QOS: (&str, &str) = ("qos", "ideal QoS");

const LATENCY: &str = "queueing only, without store-and-forward; buffer and round trip are not \
                       published: `tailcut reproduce hull-sensitivity`";
const FCT: &str = "a lone paced flow loses throughput to the pacer's lag: docs/designs/hull.md";

impl Reproduction for HullDynamic {
    fn name(&self) -> &'static str {
        "hull-dynamic"
    }

    fn title(&self) -> &'static str {
        "HULL, dynamic flows: switch latency and 10 MB FCT (HULL slides, NSDI 2012)"
    }

    fn parts(&self) -> Vec<Part> {
        let part = |name, changes| Part {
            name,
            scenario: SCENARIO,
            changes,
            quick: keys(&[("duration", "240s"), ("seeds", "4")]),
        };
        let published = TABLE.iter().map(|row| part(row.part, keys(row.keys)));
        published
            .chain([part(QOS.0, keys(&[("designs", "qos")]))])
            .collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for (column, what) in COLUMNS.iter().enumerate() {
            let by_seed = |part, design| {
                At::new(results, part, None).by_seed(design, |run| cell(run, column))
            };
            let metric = |name, part, design| {
                format!(
                    "{name}: {what}, of {}",
                    samples(results, part, design, column)
                )
            };
            let mut ours = [f64::NAN; 4];
            for (line, table_row) in TABLE.iter().enumerate() {
                let figures = by_seed(table_row.part, table_row.design);
                ours[line] = mean(&figures);
                let theirs = table_row.published[column];
                rows.push(row(
                    metric(table_row.name, table_row.part, table_row.design),
                    &figures,
                    Some(theirs),
                    within_factor(theirs),
                    if column < 2 { LATENCY } else { FCT },
                ));
            }
            rows.push(row(
                metric(QOS.1, QOS.0, "qos"),
                &by_seed(QOS.0, "qos"),
                None,
                band::SHOWN,
                "compared in the slides without figures; its latency is that of both classes",
            ));
            rows.extend(of_column(
                what,
                ours,
                TABLE.each_ref().map(|row| row.published[column]),
            ));
        }
        rows.extend(small_flows(results));
        rows
    }
}

/// What a column's figure is over, all seeds together.
fn samples(results: &Results, part: &str, design: &'static str, column: usize) -> String {
    let runs = || results.runs(part, design);
    if column < 2 {
        let packets: u64 = runs().map(|run| waits_at_busiest(run).packets).sum();
        return format!("{:.1} M packets", packets as f64 / 1e6);
    }
    let large = |run: &RunRecord| fcts(run, |flow| flow.bytes.0 >= LARGE).len();
    format!("{} flows", runs().map(large).sum::<usize>())
}

/// The order of a column's rows, and how far their ratios are from the published ones.
fn of_column(what: &str, ours: [f64; 4], theirs: [f64; 4]) -> [ComparisonRow; 2] {
    let (factor, high, low) = worst_ratio(ours, theirs);
    let (high, low) = (TABLE[high].name, TABLE[low].name);
    [
        row(
            format!("order of the rows by {what}: pairs of rows in the published order"),
            &[pairs_in_order(ours, theirs) as f64],
            Some(6.0),
            (6.0, 6.0),
            "",
        ),
        row(
            format!("ratios of the rows by {what}: factor off at most, {high} over {low}"),
            &[factor],
            Some(1.0),
            (1.0, FACTOR),
            "`tailcut reproduce hull-sensitivity` shows what it depends on",
        ),
    ]
}

/// What the small flows get: not in the table.
fn small_flows(results: &Results) -> Vec<ComparisonRow> {
    let published = TABLE.iter().map(|row| (row.part, row.name, row.design));
    let designs = published.chain([(QOS.0, QOS.1, "qos")]);
    let cases = designs.flat_map(|case| [(case, Statistic::Mean), (case, Statistic::P99)]);
    cases
        .map(|((part, name, design), statistic)| {
            let at = At::new(results, part, None);
            let small = |run: &RunRecord| fcts(run, |flow| flow.bytes.0 < LARGE);
            let flows: f64 = at
                .by_seed(design, |run| small(run).len() as f64)
                .iter()
                .sum();
            let what = statistic.name();
            row(
                format!("{name}: FCT of {flows} flows of 1 KB, {what}, us"),
                &at.by_seed(design, |run| statistic.of(&small(run))),
                None,
                band::SHOWN,
                "handshake included; not in the table",
            )
        })
        .collect()
}
