//! Testbed of RepNet (RepNet paper, sections IV-B1 and IV-B3): web search traffic between two racks.
//! The network is oversubscribed or not. The rows show all mice, groups of mice by size, and elephants.

use crate::band::{self, Band};
use crate::measure::{Figure, MICE, Selection, fcts, mice};
use crate::measured_value::MeasuredValue;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::RunRecord;

const TCP: &str = "cubic";
const REPFLOW: &str = "repflow+cubic";
const REPSYN: &str = "repsyn+cubic";
const NO_KERNEL: &str =
    "published times include kernel and node.js; our times only include the network";
const LOST_SYNS: &str = "tails depend on lost SYNs, and these on slow start and on the share of the buffer \
                         for a port, which are not published: see `tailcut reproduce repnet-sensitivity`";

/// Published changes at load 0.5 without oversubscription, in per cent.
const PUBLISHED: [(&str, [(Statistic, f64); 3]); 2] = [
    (
        REPFLOW,
        [
            (Statistic::Mean, -15.3),
            (Statistic::P99, -33.0),
            (Statistic::P999, -69.9),
        ],
    ),
    (
        REPSYN,
        [
            (Statistic::Mean, -10.0),
            (Statistic::P99, -15.8),
            (Statistic::P999, -57.8),
        ],
    ),
];

const ONE_TO_ONE: &str = "repnet-testbed-1to1";
const TWO_TO_ONE: &str = "repnet-testbed-2to1";

/// Number of segments that have been sent at the end of round trip r.
/// The initial window is 3 segments, and the window doubles, so the number is 3 (2^r - 1).
const LAST_SEGMENT_OF_ROUND: [u64; 5] = [3, 9, 21, 45, 93];
const MSS: u64 = 1_460;

/// Reproduction of RepNet's testbed.
pub const REPNET_TESTBED: Reproduction = Reproduction {
    name: "repnet-testbed",
    title: "RepNet's testbed: 12 hosts, 3 paths, 1 Gb/s, web search (RepNet paper, IV-B1 and IV-B3)",
    parts,
    parts_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let quick = |loads: &str| keys(&[("loads", loads), ("flows", "2000")]);
    vec![
        part(ONE_TO_ONE, &[], quick("0.1, 0.4, 0.5")),
        part(TWO_TO_ONE, &[], quick("0.5")),
    ]
}

fn parts_on_real_hosts() -> Vec<Part> {
    // One machine cannot run the hosts of the paper at 1 Gb/s, so the network is ten times slower.
    // The network has 100 Mb/s, and the kernel's initial timeout of 1 s corresponds to 100 ms.
    let slower = |loads: &'static str| {
        [
            ("clock", "wall"),
            ("slowdown", "10"),
            ("tcp.initial_rto", "100ms"),
            ("loads", loads),
            ("flows", "4000"),
        ]
    };
    let quick = || keys(&[("loads", "0.5"), ("flows", "300")]);
    vec![
        part(ONE_TO_ONE, &slower("0.1, 0.4, 0.5"), quick()),
        part(TWO_TO_ONE, &slower("0.5"), quick()),
    ]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = published(results);
    rows.extend(low_load(results));
    rows.extend(oversubscribed(results));
    rows.extend(by_size(results));
    rows.extend(elephants(results));
    rows
}

/// Returns the part with this name, which is a study of the testbed.
fn part(
    name: &'static str,
    changes: &[(&'static str, &str)],
    quick: Vec<(&'static str, String)>,
) -> Part {
    let scenario = match name {
        ONE_TO_ONE => include_str!("../scenarios/reproduce/repnet-testbed-1to1.toml"),
        _ => include_str!("../scenarios/reproduce/repnet-testbed-2to1.toml"),
    };
    Part {
        name,
        scenario,
        changes: keys(changes),
        quick,
    }
}

/// Returns a row with the change of a statistic of mice against TCP, at one load.
fn change(
    at: &Selection<'_>,
    what: &str,
    (design, statistic): (&'static str, Statistic),
    (published, band): (Option<f64>, Band),
    why: &str,
) -> ComparisonRow {
    let ours = at.change(design, TCP, Figure::Of(statistic, &mice));
    let name = statistic.name();
    let metric = format!("{what}: {design}, {name} of mice against {TCP}, %");
    row(metric, ours, published, band, why)
}

fn published(results: &Results) -> Vec<ComparisonRow> {
    let at = Selection::new(results, ONE_TO_ONE, Some(0.5));
    let rows = PUBLISHED.iter().flat_map(|(design, figures)| {
        figures
            .iter()
            .map(|&(statistic, published)| (*design, statistic, published))
    });
    rows.map(|(design, statistic, published)| {
        let published = (Some(published), band::for_gain(published));
        let why = match statistic {
            Statistic::Mean => NO_KERNEL,
            Statistic::Quantile(_) => LOST_SYNS,
        };
        change(&at, "1:1, load 0.5", (design, statistic), published, why)
    })
    .collect()
}

fn low_load(results: &Results) -> Vec<ComparisonRow> {
    if !results.has(ONE_TO_ONE, TCP, 0.1) {
        return Vec::new();
    }
    let at = Selection::new(results, ONE_TO_ONE, Some(0.1));
    let why = "the possible gain is small; published as a chart in which hosts dominate";
    let cases = [REPFLOW, REPSYN]
        .into_iter()
        .flat_map(|design| [Statistic::Mean, Statistic::P99].map(|statistic| (design, statistic)));
    cases
        .map(|case| change(&at, "1:1, load 0.1", case, (None, band::NO_HARM), why))
        .collect()
}

fn oversubscribed(results: &Results) -> Vec<ComparisonRow> {
    let at = Selection::new(results, TWO_TO_ONE, Some(0.5));
    let cases = [REPFLOW, REPSYN].into_iter().flat_map(|design| {
        [Statistic::Mean, Statistic::P99, Statistic::P999].map(|statistic| (design, statistic))
    });
    let why = "published as a chart: similar to 1:1, with more benefit";
    cases
        .map(|case| change(&at, "2:1, load 0.5", case, (None, band::SOME_GAIN), why))
        .collect()
}

/// Returns the rows for groups of mice. A group contains the mice whose data need the same number of round trips.
fn by_size(results: &Results) -> Vec<ComparisonRow> {
    if !results.has(ONE_TO_ONE, TCP, 0.4) {
        return Vec::new();
    }
    let at = Selection::new(results, ONE_TO_ONE, Some(0.4));
    let p99 = |rounds: usize| {
        let group = |run: &RunRecord| {
            let is_of = |bytes: u64| bytes < MICE && rounds_of(bytes) == rounds;
            fcts(run, |flow| is_of(flow.bytes.0))
        };
        at.change(REPFLOW, TCP, Figure::Of(Statistic::P99, &group))
    };
    // Even the smallest flow of the size distribution takes two round trips.
    let groups: Vec<MeasuredValue> = (2..=LAST_SEGMENT_OF_ROUND.len()).map(p99).collect();
    let mut rows: Vec<ComparisonRow> = (2..)
        .zip(&groups)
        .map(|(rounds, change)| {
            let metric =
                format!("1:1, load 0.4: {REPFLOW}, p99 of mice of {rounds} round trips, %");
            row(
                metric,
                change.clone(),
                None,
                band::SOME_GAIN,
                "published as a chart: equally beneficial",
            )
        })
        .collect();
    rows.push(row(
        "1:1, load 0.4: spread of these changes over the groups, points",
        spread(&groups),
        Some(0.0),
        (0.0, 30.0),
        "a group contains a quarter of the mice, so its p99 is accurate to about ten points",
    ));
    rows
}

/// Returns the spread of values: the largest value minus the smallest value.
/// The lower end of the spread's interval is the gap between the intervals of the values.
/// The upper end of the spread's interval is the distance between the outer ends of the values' intervals.
fn spread(figures: &[MeasuredValue]) -> MeasuredValue {
    let least = |ends: &[f64]| ends.iter().copied().fold(f64::NAN, f64::min);
    let most = |ends: &[f64]| ends.iter().copied().fold(f64::NAN, f64::max);
    let values: Option<Vec<f64>> = figures.iter().map(|ours| ours.value).collect();
    let intervals: Option<Vec<(f64, f64)>> = figures.iter().map(|ours| ours.interval).collect();
    let interval = intervals.map(|intervals| {
        let (lows, highs): (Vec<f64>, Vec<f64>) = intervals.into_iter().unzip();
        let apart = most(&lows) - least(&highs);
        (apart.max(0.0), most(&highs) - least(&lows))
    });
    let would_do = figures.iter().filter_map(|ours| ours.seeds_that_would_do);
    MeasuredValue {
        value: values.map(|values| most(&values) - least(&values)),
        interval,
        seeds: figures.iter().map(|ours| ours.seeds).min().unwrap_or(0),
        flows: figures.iter().map(|ours| ours.flows).sum(),
        seeds_that_would_do: would_do.max(),
    }
}

/// Returns the number of round trips that the data of a flow need.
fn rounds_of(bytes: u64) -> usize {
    let segments = bytes.div_ceil(MSS);
    1 + LAST_SEGMENT_OF_ROUND.partition_point(|&last| last < segments)
}

fn elephants(results: &Results) -> Vec<ComparisonRow> {
    let loads = [0.1, 0.5].into_iter();
    let cases = loads
        .filter(|load| results.has(ONE_TO_ONE, TCP, *load))
        .flat_map(|load| [(load, REPFLOW), (load, REPSYN)]);
    cases
        .map(|(load, design)| {
            let at = Selection::new(results, ONE_TO_ONE, Some(load));
            row(
                format!("1:1, load {load}: {design}, throughput of elephants against {TCP}, %"),
                at.change(design, TCP, Figure::Of(Statistic::Mean, &throughputs)),
                Some(0.0),
                band::UNCHANGED,
                "copies of mice add about 1 % to the bytes",
            )
        })
        .collect()
}

/// Returns the throughput (size divided by completion time) of each flow of at least 100 KB, in bytes per microsecond.
fn throughputs(run: &RunRecord) -> Vec<f64> {
    let large = run.flows.iter().filter(|flow| flow.bytes.0 >= MICE);
    let rates = large.map(|flow| {
        flow.fct
            .map_or(0.0, |fct| flow.bytes.0 as f64 / fct.as_us_f64())
    });
    rates.collect()
}

#[cfg(test)]
mod tests {
    use super::rounds_of;

    #[test]
    fn a_flow_takes_one_more_round_trip_from_the_segment_after_a_full_window() {
        let ends = [
            (1, 1),
            (3, 1),
            (4, 2),
            (9, 2),
            (10, 3),
            (21, 3),
            (22, 4),
            (46, 5),
            (69, 5),
        ];
        for (segments, rounds) in ends {
            assert_eq!(rounds_of(segments * 1_460), rounds, "{segments} segments");
        }
    }
}
