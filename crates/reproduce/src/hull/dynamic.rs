//! The dynamic-flow table: nine hosts send 1 KB and 10 MB flows to a tenth at load 0.2.

use super::figures::{
    COLUMNS, FACTOR, LARGE, TABLE, below_zero, farthest_ratio, waits_at_busiest, within_factor,
};
use crate::band;
use crate::measure::{At, Figure, fcts};
use crate::ours::Ours;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::RunRecord;

/// See the module.
pub struct HullDynamic;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/hull-dynamic.toml");

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
            quick: keys(&[("duration", "160s"), ("seeds", "6")]),
        };
        let published = TABLE.iter().map(|row| part(row.part, keys(row.keys)));
        published
            .chain([part(QOS.0, keys(&[("designs", "qos")]))])
            .collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for (column, &(what, figure)) in COLUMNS.iter().enumerate() {
            let ours =
                |part, design: &'static str| At::new(results, part, None).ours(design, figure);
            let metric = |name, part, design| match figure {
                Figure::Run(_) => format!("{name}: {what}, of {}", packets(results, part, design)),
                Figure::Of(..) => format!("{name}: {what}"),
            };
            for table_row in &TABLE {
                let theirs = table_row.published[column];
                rows.push(row(
                    metric(table_row.name, table_row.part, table_row.design),
                    ours(table_row.part, table_row.design),
                    Some(theirs),
                    within_factor(theirs),
                    if column < 2 { LATENCY } else { FCT },
                ));
            }
            rows.push(row(
                metric(QOS.1, QOS.0, "qos"),
                ours(QOS.0, "qos"),
                None,
                band::SHOWN,
                "compared in the slides without figures; its latency is that of both classes",
            ));
            rows.extend(of_column(results, column));
        }
        rows.extend(small_flows(results));
        rows
    }
}

/// The packets that a latency is of, all seeds together.
fn packets(results: &Results, part: &str, design: &'static str) -> String {
    let runs = results.runs(part, design);
    let packets: u64 = runs.map(|run| waits_at_busiest(run).packets).sum();
    format!("{:.1} M packets", packets as f64 / 1e6)
}

/// The order of a column's rows, and how far their ratios are from the published ones.
fn of_column(results: &Results, column: usize) -> [ComparisonRow; 2] {
    let (what, figure) = COLUMNS[column];
    let (factor, high, low) = farthest_ratio(results, TABLE.each_ref().map(|row| row.part), column);
    [
        row(
            format!("order of the rows by {what}: pairs of rows in the published order"),
            in_order(results, column, figure),
            Some(6.0),
            (6.0, 6.0),
            "",
        ),
        row(
            format!("ratios of the rows by {what}: factor off at most, {high} over {low}"),
            factor,
            Some(1.0),
            (1.0, FACTOR),
            "`tailcut reproduce hull-sensitivity` shows what it depends on",
        ),
    ]
}

/// How many of the six pairs of rows stand in the published order.
fn in_order(results: &Results, column: usize, figure: Figure<'_>) -> Ours {
    let pairs = TABLE.iter().flat_map(|a| TABLE.iter().map(move |b| (a, b)));
    let pairs = pairs.filter(|(a, b)| a.published[column] < b.published[column]);
    let changes = pairs.map(|(low, high)| {
        let base = (At::new(results, high.part, None), high.design);
        At::new(results, low.part, None).against(low.design, base, figure)
    });
    below_zero(&changes.collect::<Vec<Ours>>())
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
            let what = statistic.name();
            row(
                format!("{name}: FCT of flows of 1 KB, {what}, us"),
                at.ours(design, Figure::Of(statistic, &small)),
                None,
                band::SHOWN,
                "handshake included; not in the table",
            )
        })
        .collect()
}
