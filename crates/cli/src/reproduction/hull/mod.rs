//! HULL's experiments (slides of the HULL paper, NSDI 2012), and HULL where no figure was published.

mod bursts;
mod dynamic;
mod scale;
mod sensitivity;
mod static_flows;

pub use bursts::HullBursts;
pub use dynamic::HullDynamic;
pub use scale::HullScale;
pub use sensitivity::HullSensitivity;
pub use static_flows::HullStatic;

use super::band::Band;
use super::measure::{Statistic, fcts};
use tailcut_record::{RunRecord, WaitStats};

/// Of figures whose testbed has unpublished parameters (round trip, buffer, the pacer's unit): a factor of 1.5 either
/// way, what this project holds HULL's table to.
const FACTOR: f64 = 1.5;

/// The band of a published figure.
fn within_factor(theirs: f64) -> Band {
    (theirs / FACTOR, theirs * FACTOR)
}

/// How long packets waited at the port that carried the most bytes.
fn waits_at_busiest(run: &RunRecord) -> WaitStats {
    let waits = run.switch_waits.as_ref();
    waits.map(|waits| waits.busiest).unwrap_or_default()
}

/// A full packet's payload and what it takes on the wire, in bytes.
const FULL_PACKET: (f64, f64) = (1_460.0, 1_538.0);

/// The payload that the port with the most bytes carried over the run's time, of long flows.
fn throughput_mbps(run: &RunRecord) -> f64 {
    let (payload, wire) = FULL_PACKET;
    let most = run.ports.iter().map(|port| port.bytes.0).max();
    let bits = most.unwrap_or(0) as f64 * 8.0 * payload / wire;
    bits / run.totals.simulated.as_us_f64()
}

/// A row of the dynamic-flow table: its name, its design, the keys that make it, and its four published
/// figures.
struct TableRow {
    part: &'static str,
    name: &'static str,
    design: &'static str,
    keys: &'static [(&'static str, &'static str)],
    published: [f64; 4],
}

/// The table. Which threshold the phantom queue had is not said; 6 KB is that of the row above.
const TABLE: [TableRow; 4] = [
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

/// The columns of the table, with their units.
const COLUMNS: [&str; 4] = [
    "switch latency, mean, us",
    "switch latency, p99, us",
    "10 MB FCT, mean, ms",
    "10 MB FCT, p99, ms",
];

/// Flows from this size on are the large ones, which have 10 MB, in bytes.
const LARGE: u64 = 1_000_000;

/// A column's figure of one run. The latency is the wait at the port to the receiver.
fn cell(run: &RunRecord, column: usize) -> f64 {
    let waits = waits_at_busiest(run);
    let large_ms =
        |statistic: Statistic| statistic.of(&fcts(run, |f| f.bytes.0 >= LARGE)) / 1_000.0;
    match column {
        0 => waits.mean_us,
        1 => waits.p99_us,
        2 => large_ms(Statistic::Mean),
        _ => large_ms(Statistic::P99),
    }
}

/// By how much the ratio of two rows of a column differs from the published one where it differs most:
/// the factor, 1 or more, and the two rows, the one that is too high before the one that is too low.
fn worst_ratio(ours: [f64; 4], theirs: [f64; 4]) -> (f64, usize, usize) {
    let over = |row: usize| ours[row] / theirs[row];
    let by_over = |a: &usize, b: &usize| over(*a).total_cmp(&over(*b));
    let high = (0..4).max_by(by_over).unwrap_or(0);
    let low = (0..4).min_by(by_over).unwrap_or(0);
    (over(high) / over(low), high, low)
}

/// How many of the six pairs of rows stand in the published order.
fn pairs_in_order(ours: [f64; 4], theirs: [f64; 4]) -> usize {
    let pairs = (0..4).flat_map(|a| (0..a).map(move |b| (a, b)));
    pairs
        .filter(|&(a, b)| (ours[a] < ours[b]) == (theirs[a] < theirs[b]))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_ratio_is_that_of_the_most_and_the_least_exaggerated_row() {
        let (factor, high, low) = worst_ratio([2.0, 4.0, 6.0, 4.0], [1.0, 4.0, 3.0, 8.0]);
        assert_eq!((factor, low), (4.0, 3));
        assert!(high == 0 || high == 2);
        assert_eq!(worst_ratio([3.0; 4], [1.0; 4]).0, 1.0);
    }

    #[test]
    fn a_column_with_two_neighbours_swapped_has_five_pairs_in_order() {
        let theirs = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(pairs_in_order(theirs, theirs), 6);
        assert_eq!(pairs_in_order([1.0, 3.0, 2.0, 4.0], theirs), 5);
        assert_eq!(pairs_in_order([4.0, 3.0, 2.0, 1.0], theirs), 0);
    }
}
