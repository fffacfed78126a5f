//! Reproduction of the table of dynamic flows: nine hosts send flows of 1 KB and 10 MB to the tenth host at load 0.2.

use super::figures::{
    COLUMNS, FACTOR, LARGE, TABLE, below_zero, farthest_ratio, waits_at_busiest, within_factor,
};
use crate::band;
use crate::measure::{Figure, Selection, fcts};
use crate::measured_value::MeasuredValue;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::RunRecord;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/hull-dynamic.toml");

/// Additional part with two priorities, for comparison. The slides contain no values for it.
const QOS: (&str, &str) = ("qos", "ideal QoS");

const LATENCY: &str = "queueing only, without store-and-forward; buffer and round trip are not \
                       published: see `tailcut reproduce hull-sensitivity`";
const FCT: &str =
    "a single paced flow loses throughput, because the pacer lags: docs/designs/hull.md";

/// Reproduction of HULL's table of dynamic flows.
pub const HULL_DYNAMIC: Reproduction = Reproduction {
    name: "hull-dynamic",
    title: "HULL, dynamic flows: switch latency and 10 MB FCT (HULL slides, NSDI 2012)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let part = |name, changes| Part {
        name,
        scenario: SCENARIO,
        changes,
        quick: keys(&[("duration", "160s"), ("seeds", "6")]),
    };
    let published = TABLE.iter().map(|row| part(row.part, keys(row.keys)));
    published
        .chain([part(QOS.0, keys(&[("designs", "qos")]))])
        .collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for (column, &(what, figure)) in COLUMNS.iter().enumerate() {
        let ours =
            |part, design: &'static str| Selection::new(results, part, None).ours(design, figure);
        let metric = |name, part, design| match figure {
            Figure::Run(_) => format!("{name}: {what}, of {}", packets(results, part, design)),
            Figure::Of(..) => format!("{name}: {what}"),
        };
        for table_row in &TABLE {
            let published = table_row.published[column];
            rows.push(row(
                metric(table_row.name, table_row.part, table_row.design),
                ours(table_row.part, table_row.design),
                Some(published),
                within_factor(published),
                if column < 2 { LATENCY } else { FCT },
            ));
        }
        rows.push(row(
            metric(QOS.1, QOS.0, "qos"),
            ours(QOS.0, "qos"),
            None,
            band::NO_BAND,
            "the slides compare without values; the latency includes both classes",
        ));
        rows.extend(of_column(results, column));
    }
    rows.extend(small_flows(results));
    rows
}

/// Returns the number of packets from which a latency is computed, summed over all seeds, as text.
fn packets(results: &Results, part: &str, design: &'static str) -> String {
    let runs = results.runs(part, design);
    let packets: u64 = runs.map(|run| waits_at_busiest(run).packets).sum();
    format!("{:.1} M packets", packets as f64 / 1e6)
}

/// Returns two rows for a column of the table.
/// The first row compares the order of the designs with the published order.
/// The second row compares the ratios between the designs with the published ratios.
fn of_column(results: &Results, column: usize) -> [ComparisonRow; 2] {
    let (what, figure) = COLUMNS[column];
    let (factor, high, low) = farthest_ratio(results, TABLE.each_ref().map(|row| row.part), column);
    [
        row(
            format!("order of the rows by {what}: number of pairs of rows in the published order"),
            in_order(results, column, figure),
            Some(6.0),
            (6.0, 6.0),
            "",
        ),
        row(
            format!("ratios of the rows by {what}: largest deviation factor, {high} over {low}"),
            factor,
            Some(1.0),
            (1.0, FACTOR),
            "`tailcut reproduce hull-sensitivity` shows what it depends on",
        ),
    ]
}

/// Returns the number of pairs of designs, out of six, whose order is the same as in the published table.
fn in_order(results: &Results, column: usize, figure: Figure<'_>) -> MeasuredValue {
    let pairs = TABLE.iter().flat_map(|a| TABLE.iter().map(move |b| (a, b)));
    let pairs = pairs.filter(|(a, b)| a.published[column] < b.published[column]);
    let changes = pairs.map(|(low, high)| {
        let base = (Selection::new(results, high.part, None), high.design);
        Selection::new(results, low.part, None).change_from(low.design, base, figure)
    });
    below_zero(&changes.collect::<Vec<MeasuredValue>>())
}

/// Returns rows for the small flows, for which the published table has no values.
fn small_flows(results: &Results) -> Vec<ComparisonRow> {
    let published = TABLE.iter().map(|row| (row.part, row.name, row.design));
    let designs = published.chain([(QOS.0, QOS.1, "qos")]);
    let cases = designs.flat_map(|case| [(case, Statistic::Mean), (case, Statistic::P99)]);
    cases
        .map(|((part, name, design), statistic)| {
            let at = Selection::new(results, part, None);
            let small = |run: &RunRecord| fcts(run, |flow| flow.bytes.0 < LARGE);
            let what = statistic.name();
            row(
                format!("{name}: FCT of flows of 1 KB, {what}, us"),
                at.ours(design, Figure::Of(statistic, &small)),
                None,
                band::NO_BAND,
                "handshake included; not in the table",
            )
        })
        .collect()
}
