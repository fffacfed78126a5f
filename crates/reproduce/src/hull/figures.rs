//! Functions that all figures of HULL share.

use crate::band::Band;
use crate::measure::{Figure, Metric, Selection, fcts};
use crate::measured_value::MeasuredValue;
use crate::part::Results;
use tailcut_report::Statistic;
use tailcut_scenario::record::{RunRecord, WaitStats};

/// Maximum factor between our value and the published value, in either direction.
/// The testbed's round-trip time, its buffer, and the unit of its pacer are not published.
pub const FACTOR: f64 = 1.5;

/// Returns the band of values that differ from a published value by at most [`FACTOR`].
pub fn within_factor(published: f64) -> Band {
    (published / FACTOR, published * FACTOR)
}

/// Returns the waiting times of packets at the port that carried the most bytes.
pub fn waits_at_busiest(run: &RunRecord) -> WaitStats {
    let waits = run.switch_waits.as_ref();
    waits.map(|waits| waits.busiest).unwrap_or_default()
}

/// Payload of a full packet, and its length on the wire, in bytes.
pub const FULL_PACKET: (f64, f64) = (1_460.0, 1_538.0);

/// Returns the payload rate of the long flows at the port that carried the most bytes.
/// The rate is in Mb/s, averaged over the whole run.
pub fn throughput_mbps(run: &RunRecord) -> f64 {
    let (payload, wire) = FULL_PACKET;
    let most = run.ports.iter().map(|port| port.bytes.0).max();
    let bits = most.unwrap_or(0) as f64 * 8.0 * payload / wire;
    bits / run.totals.simulated.as_us_f64()
}

/// Row of the table of dynamic flows: part, name, design, changed keys, and the four published values.
pub struct TableRow {
    pub part: &'static str,
    pub name: &'static str,
    pub design: &'static str,
    pub keys: &'static [(&'static str, &'static str)],
    pub published: [f64; 4],
}

/// Published table of dynamic flows. The threshold of the phantom queue in the row of HULL is not published.
/// The previous row has a threshold of 6 KB, and we use it for HULL, too.
pub const TABLE: [TableRow; 4] = [
    TableRow {
        part: "tcp",
        name: "TCP",
        design: "tcp",
        keys: &[("designs", "tcp")],
        published: [111.5, 1_224.8, 110.2, 349.6],
    },
    TableRow {
        part: "dctcp-30k",
        name: "DCTCP-30K",
        design: "dctcp",
        keys: &[("designs", "dctcp"), ("queue.mark_above", "30KB")],
        published: [38.4, 295.2, 106.8, 301.7],
    },
    TableRow {
        part: "dctcp-6k-pacer",
        name: "DCTCP-6K-Pacer",
        design: "hull",
        keys: &[
            ("designs", "hull"),
            ("hull.phantom_drain", "off"),
            ("queue.mark_above", "6KB"),
        ],
        published: [6.6, 59.7, 111.8, 320.0],
    },
    TableRow {
        part: "dctcp-pq950-pacer",
        name: "DCTCP-PQ950-Pacer",
        design: "hull",
        keys: &[("designs", "hull")],
        published: [2.8, 18.6, 125.4, 359.9],
    },
];

/// Columns of the table with their units. The latency is the waiting time at the port to the receiver.
pub const COLUMNS: [Metric; 4] = [
    (
        "switch latency, mean, us",
        Figure::Run(&|run| waits_at_busiest(run).mean_us),
    ),
    (
        "switch latency, p99, us",
        Figure::Run(&|run| waits_at_busiest(run).p99_us),
    ),
    (
        "10 MB FCT, mean, ms",
        Figure::Of(Statistic::Mean, &large_ms),
    ),
    ("10 MB FCT, p99, ms", Figure::Of(Statistic::P99, &large_ms)),
];

/// Minimum size of large flows in bytes. In the table, all large flows have 10 MB.
pub const LARGE: u64 = 1_000_000;

/// Returns the completion times of large flows in milliseconds.
pub fn large_ms(run: &RunRecord) -> Vec<f64> {
    let us = fcts(run, |flow| flow.bytes.0 >= LARGE);
    us.into_iter().map(|us| us / 1_000.0).collect()
}

/// Compares the ratio of each pair of rows in a column with the published ratio.
/// For the pair that differs most, returns our ratio divided by the published ratio, and the names of the two rows.
/// `parts` contains the name of the part for each row.
pub fn farthest_ratio(
    results: &Results,
    parts: [&str; 4],
    column: usize,
) -> (MeasuredValue, &'static str, &'static str) {
    let figure = COLUMNS[column].1;
    let at = parts.map(|part| Selection::new(results, part, None));
    let published = TABLE.each_ref().map(|row| row.published[column]);
    let lines = [0, 1, 2, 3];
    let ours = lines.map(|line| at[line].ours(TABLE[line].design, figure));
    let ours = ours.map(|ours| ours.value.unwrap_or(f64::NAN));
    let (high, low) = worst_ratio(ours, published);
    let change = at[high].change_from(TABLE[high].design, (at[low], TABLE[low].design), figure);
    let published = published[high] / published[low];
    let factor = change.map(|per_cent| (1.0 + per_cent / 100.0) / published);
    (factor, TABLE[high].name, TABLE[low].name)
}

/// Returns the number of changes that are below zero.
/// A change is uncertain if its interval contains zero.
/// The interval of the result contains all possible numbers of changes.
/// The interval starts at the number without the uncertain changes, and ends at the number with all uncertain changes.
pub fn below_zero(changes: &[MeasuredValue]) -> MeasuredValue {
    let count =
        |holds: &dyn Fn(&MeasuredValue) -> bool| changes.iter().filter(|c| holds(c)).count() as f64;
    let surely = count(&|change| change.interval.is_some_and(|(_, high)| high < 0.0));
    let surely_not = count(&|change| change.interval.is_some_and(|(low, _)| low >= 0.0));
    let would_do = changes
        .iter()
        .filter_map(|change| change.seeds_that_would_do);
    MeasuredValue {
        value: Some(count(&|change| {
            change.value.is_some_and(|change| change < 0.0)
        })),
        interval: Some((surely, changes.len() as f64 - surely_not)),
        seeds: changes.iter().map(|change| change.seeds).min().unwrap_or(0),
        flows: None,
        seeds_that_would_do: would_do.max(),
    }
}

/// Returns the two rows of a column whose ratio differs most from the published ratio.
/// Relative to the published values, the first row has the highest value, and the second row has the lowest value.
pub fn worst_ratio(ours: [f64; 4], published: [f64; 4]) -> (usize, usize) {
    let over = |row: usize| ours[row] / published[row];
    let by_over = |a: &usize, b: &usize| over(*a).total_cmp(&over(*b));
    let high = (0..4).max_by(by_over).unwrap_or(0);
    let low = (0..4).min_by(by_over).unwrap_or(0);
    (high, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_ratio_is_that_of_the_most_and_the_least_exaggerated_row() {
        let (high, low) = worst_ratio([2.0, 4.0, 6.0, 4.0], [1.0, 4.0, 2.0, 8.0]);
        assert_eq!((high, low), (2, 3));
    }

    #[test]
    fn a_change_whose_interval_holds_zero_counts_as_open() {
        let change = |low: f64, high: f64| MeasuredValue {
            value: Some((low + high) / 2.0),
            interval: Some((low, high)),
            seeds: 6,
            ..MeasuredValue::default()
        };
        let ours = below_zero(&[change(-9.0, -1.0), change(-3.0, 1.0), change(2.0, 4.0)]);
        assert_eq!((ours.value, ours.interval), (Some(2.0), Some((1.0, 2.0))));
        let none_known = below_zero(&[MeasuredValue::default()]);
        assert_eq!(none_known.interval, Some((0.0, 1.0)));
    }
}
