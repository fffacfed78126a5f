//! Static experiment of HULL: two long flows through one port, with and without pacing.
//! The experiment has several drain rates and several thresholds of the phantom queue.

use super::figures::{below_zero, throughput_mbps, waits_at_busiest, within_factor};
use crate::band;
use crate::measure::{Figure, Metric, Selection};
use crate::measured_value::MeasuredValue;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use std::sync::LazyLock;
use tailcut_report::ComparisonRow;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/hull-static.toml");

/// Point of the published charts: a combination of threshold, drain rate and pacing.
struct Point {
    part: String,
    paced: bool,
    threshold_kb: u32,
    drain_mbps: u32,
}

/// Thresholds of the phantom queue in KB. The published charts have one line for each threshold.
const THRESHOLDS_KB: [u32; 5] = [1, 3, 6, 15, 30];

/// Drain rates of our points in Mb/s. Five rates are sufficient to show the shape of the lines.
/// The published rates are 600 to 1,000 Mb/s in steps of 50.
const DRAINS_MBPS: [u32; 5] = [600, 800, 900, 950, 1_000];

static POINTS: LazyLock<Vec<Point>> = LazyLock::new(|| {
    let mut points = Vec::new();
    for paced in [false, true] {
        for threshold_kb in THRESHOLDS_KB {
            for drain_mbps in DRAINS_MBPS {
                let pacing = if paced { "paced" } else { "unpaced" };
                points.push(Point {
                    part: format!("{pacing}-ecn{threshold_kb}k-pq{drain_mbps}"),
                    paced,
                    threshold_kb,
                    drain_mbps,
                });
            }
        }
    }
    points
});

/// Threshold in KB and drain rate in Mb/s of the last row in the table.
/// The slides give two numbers for the paced charts, but not the points of the numbers.
const MARKED: (u32, u32) = (6, 950);

/// Measurements that are made at each point.
const METRICS: [Metric; 3] = [
    (
        "switch latency, mean, us",
        Figure::Run(&|run| waits_at_busiest(run).mean_us),
    ),
    (
        "switch latency, p99, us",
        Figure::Run(&|run| waits_at_busiest(run).p99_us),
    ),
    ("throughput, Mb/s", Figure::Run(&throughput_mbps)),
];

const CHART: &str = "published as a chart";

/// Reproduction of HULL's static experiment.
pub const HULL_STATIC: Reproduction = Reproduction {
    name: "hull-static",
    title: "HULL, two long flows: latency and throughput by the phantom queue's drain rate (HULL slides)",
    parts,
    parts_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let parts = POINTS.iter();
    let parts = parts.map(|point| part(point, &[], &[("drain", "6s")]));
    parts.collect()
}

fn parts_on_real_hosts() -> Vec<Part> {
    // One machine cannot run the hosts of the paper at 1 Gb/s, so the network is ten times slower.
    // The network has 100 Mb/s, and the kernel's initial timeout of 1 s corresponds to 100 ms.
    let slower = [
        ("clock", "wall"),
        ("slowdown", "10"),
        ("tcp.initial_rto", "100ms"),
        ("host.queue", "1000"),
        ("drain", "1s"),
    ];
    let parts = POINTS.iter();
    let parts = parts.map(|point| part(point, &slower, &[("drain", "300ms"), ("seeds", "1")]));
    parts.collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = marked(results);
    rows.extend(shapes(results));
    for (metric, figure) in METRICS {
        for point in POINTS.iter() {
            let pacing = if point.paced { "paced" } else { "unpaced" };
            let (threshold, drain) = (point.threshold_kb, point.drain_mbps);
            rows.push(row(
                format!("{pacing}, {threshold} KB, drain {drain} Mb/s: {metric}"),
                at(results, point).ours("hull", figure),
                None,
                band::NO_BAND,
                CHART,
            ));
        }
    }
    rows
}

/// Returns the study of a point. `more` contains further changed keys.
/// `quick` contains the changed keys of the quick form.
fn part(
    point: &'static Point,
    more: &[(&'static str, &str)],
    quick: &[(&'static str, &str)],
) -> Part {
    let drain = f64::from(point.drain_mbps) / 1_000.0;
    let mut changes = vec![
        ("hull.pacer", point.paced.to_string()),
        (
            "hull.phantom_mark_above",
            format!("{}KB", point.threshold_kb),
        ),
        ("hull.phantom_drain", drain.to_string()),
    ];
    changes.extend(keys(more));
    Part {
        name: point.part.as_str(),
        scenario: SCENARIO,
        changes,
        quick: keys(quick),
    }
}

fn at<'a>(results: &'a Results, point: &'static Point) -> Selection<'a> {
    Selection::new(results, &point.part, None)
}

/// Returns rows for the two values that the slides give as numbers.
fn marked(results: &Results) -> Vec<ComparisonRow> {
    let is_marked =
        |point: &&Point| point.paced && (point.threshold_kb, point.drain_mbps) == MARKED;
    let Some(point) = POINTS.iter().find(is_marked) else {
        return Vec::new();
    };
    let (threshold, drain) = MARKED;
    let published = METRICS.iter().zip([5.0, 21.0]);
    published
        .map(|((metric, figure), published)| {
            row(
                format!("paced, {threshold} KB, drain {drain} Mb/s: {metric}"),
                at(results, point).ours("hull", *figure),
                Some(published),
                within_factor(published),
                "not published: the round trip, and the point of the chart with this number",
            )
        })
        .collect()
}

/// Returns rows for the properties that all lines of the charts share.
/// Each row shows the share of points with the property.
/// The line of 1 KB is left out: 1 KB is less than a packet, so every packet is marked.
/// At 1,000 Mb/s, no packet is marked, so nothing is paced.
fn shapes(results: &Results) -> Vec<ComparisonRow> {
    // Returns the change of a value from one point to another.
    let change = |point: &'static Point, other: &'static Point, metric: usize| {
        at(results, point).change_from("hull", (at(results, other), "hull"), METRICS[metric].1)
    };
    let lines: Vec<&'static [Point]> = POINTS
        .chunks(DRAINS_MBPS.len())
        .filter(|line| line[0].threshold_kb > 1)
        .collect();
    let throughput_rises = lines.iter().flat_map(|line| {
        let steps = line.windows(2);
        steps.map(|step| change(&step[0], &step[1], 2))
    });
    let highest_at_the_end = lines.iter().flat_map(|line| {
        let (end, others) = line.split_last().expect("a line has points");
        others.iter().map(|point| change(point, end, 0))
    });
    let (unpaced, paced) = lines.split_at(lines.len() / 2);
    let pacing_lowers = |metric: usize| {
        let lines = unpaced.iter().zip(paced);
        let points = lines.flat_map(|(unpaced, paced)| unpaced.iter().zip(*paced));
        points
            .filter(|(unpaced, _)| unpaced.drain_mbps < 1_000)
            .map(move |(unpaced, paced)| change(paced, unpaced, metric))
            .collect()
    };
    let share = |what: &str, changes: Vec<MeasuredValue>| {
        let points = changes.len();
        row(
            format!("{what}, % of {points} points"),
            below_zero(&changes).map(|count| 100.0 * count / points as f64),
            Some(100.0),
            // Lines of a chart may cross where two values are almost equal.
            (90.0, 100.0),
            CHART,
        )
    };
    vec![
        share(
            "throughput rises with the drain rate",
            throughput_rises.collect(),
        ),
        share(
            "mean latency is highest at 1000 Mb/s, without headroom",
            highest_at_the_end.collect(),
        ),
        share("pacing lowers the mean latency", pacing_lowers(0)),
        share("pacing lowers the p99 of the latency", pacing_lowers(1)),
    ]
}
