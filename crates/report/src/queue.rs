//! Table and plots of queue lengths.

use crate::curves::Designs;
use crate::format::Quantity;
use crate::plot::{Axis, Mark, Plot, Point, Scale, Series};
use crate::run::Run;
use crate::study::Study;
use crate::table::{Cell, Table};
use std::collections::BTreeMap;
use tailcut_record::{QueueSample, quantile_rank};

/// Number of intervals of a line over time. With more intervals, the peaks of the line would overlap.
const BINS: u64 = 100;

/// Returns the first run of each design in `setting` that has queue samples.
fn sampled_runs(study: &Study, setting: usize) -> Vec<(&str, &Run)> {
    let cells = study.cells();
    cells[setting]
        .designs
        .iter()
        .filter_map(|(design, runs)| {
            let run = runs.iter().find(|run| !run.queues.is_empty())?;
            Some((*design, *run))
        })
        .collect()
}

/// Returns the table of the mean, 99th percentile and maximum of the sampled backlogs.
/// Returns `None` without samples.
pub(crate) fn table(study: &Study, setting: usize) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = sampled_runs(study, setting)
        .into_iter()
        .map(|(design, run)| {
            let Backlogs { n, waiting } = Backlogs::of(run);
            let mean = waiting.iter().map(|&b| b as f64).sum::<f64>() / n as f64;
            let empty = 1.0 - waiting.len() as f64 / n as f64;
            let p99 = quantile_rank(n, 0.99)
                .and_then(|rank| waiting.get(rank.checked_sub(n - waiting.len())?))
                .copied()
                .unwrap_or(0);
            let largest = waiting.last().copied().unwrap_or(0);
            let bytes = |b: f64| Cell::new(Quantity::Bytes.text(b), b);
            vec![
                Cell::text(design),
                Cell::count(n as u64),
                Cell::new(Quantity::Share.text(empty), empty),
                bytes(mean),
                bytes(p99 as f64),
                bytes(largest as f64),
            ]
        })
        .collect();
    let columns = ["design", "samples", "empty", "mean", "p99", "largest"];
    (!rows.is_empty()).then(|| Table {
        id: format!("queues{}", study.analysis().suffix(setting)),
        title: "Queue occupancy over all sampled ports".to_owned(),
        caption: "Samples of all switch ports in each design's first seed, until the last byte was carried. \
                  Empty queues are included."
            .to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    })
}

/// Returns plots of the longest sampled queue over time, and of the distribution of queue lengths.
/// The list is empty without samples.
pub(crate) fn plots(study: &Study, setting: usize) -> Vec<Plot> {
    let runs = sampled_runs(study, setting);
    let Some(ports) = runs.iter().map(|(_, run)| port_count(run)).max() else {
        return Vec::new();
    };
    let suffix = study.analysis().suffix(setting);
    let which = match ports {
        1 => "The one sampled port".to_owned(),
        _ => format!("{ports} sampled ports"),
    };
    let designs = Designs(study.designs());
    let of_all = |mark: Mark, points: &dyn Fn(&Run) -> Vec<Point>| -> Vec<Series> {
        let series = runs
            .iter()
            .map(|(design, run)| designs.series(design, mark, points(run)));
        series.filter(|series| !series.points.is_empty()).collect()
    };
    let ends = runs.iter().filter_map(|(_, run)| run.queues.last());
    let end_us = ends.map(|sample| time_us(sample) + 1).max().unwrap_or(1);
    let over_time = Plot {
        id: format!("queue-occupancy{suffix}"),
        title: "The fullest queue over time".to_owned(),
        caption: format!("{which}, first seed; each point is the longest backlog of its interval."),
        x: Axis::new("time since the start", Quantity::Time, Scale::Linear),
        y: Axis::new("backlog", Quantity::Bytes, Scale::Linear),
        series: of_all(Mark::Line, &|run| over_time(run, end_us)),
        reference: None,
    };
    let how_long = Plot {
        id: format!("queue-distribution{suffix}"),
        title: "CCDF of queue length".to_owned(),
        caption: format!("{which}, first seed, all samples."),
        x: Axis::new("backlog", Quantity::Bytes, Scale::Linear),
        y: Axis::new(
            "share of samples as long or longer",
            Quantity::Share,
            Scale::Log,
        ),
        series: of_all(Mark::StepBefore, &how_long),
        reference: None,
    };
    [over_time, how_long]
        .into_iter()
        .filter(Plot::has_points)
        .collect()
}

/// Returns the longest backlog of any port in each of [`BINS`] intervals.
fn over_time(run: &Run, end_us: u64) -> Vec<Point> {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for sample in run.queues.iter().filter(|s| run.is_switch_port(s.port)) {
        let fullest = bins.entry(time_us(sample) * BINS / end_us).or_default();
        *fullest = sample.backlog.0.max(*fullest);
    }
    let width_us = end_us as f64 / BINS as f64;
    bins.into_iter()
        .map(|(bin, backlog)| Point::new((bin as f64 + 0.5) * width_us, backlog as f64))
        .collect()
}

/// Returns, for at most a thousand of the backlogs that occurred, the share of samples that are at least as long.
fn how_long(run: &Run) -> Vec<Point> {
    let Backlogs { n, waiting } = Backlogs::of(run);
    let mut distinct = waiting.clone();
    distinct.dedup();
    let every = distinct.len().div_ceil(1_000).max(1);
    let last = distinct.last().copied();
    distinct
        .into_iter()
        .step_by(every)
        .chain(last)
        .map(|backlog| {
            let shorter = waiting.partition_point(|&other| other < backlog);
            Point::new(backlog as f64, (waiting.len() - shorter) as f64 / n as f64)
        })
        .collect()
}

/// Sampled backlogs of a run's switch ports.
struct Backlogs {
    /// Number of samples, including samples in which the queue was empty.
    n: usize,
    /// Backlogs of samples in which the queue was not empty, in ascending order.
    waiting: Vec<u64>,
}

impl Backlogs {
    fn of(run: &Run) -> Self {
        let samples = run.queues.iter().filter(|s| run.is_switch_port(s.port));
        let rows = samples.clone().count();
        let mut waiting: Vec<u64> = samples.map(|s| s.backlog.0).filter(|b| *b > 0).collect();
        waiting.sort_unstable();
        // The record has no rows for empty queues.
        // The number of samples is therefore computed from the number of sampling times.
        let links = run.topology.iter();
        let ports = links.filter(|link| run.is_switch_port(link.port)).count();
        let taken = run
            .instants()
            .map_or(0, |instants| instants as usize * ports);
        Self {
            n: taken.max(rows).max(1),
            waiting,
        }
    }
}

fn time_us(sample: &QueueSample) -> u64 {
    sample.time.as_ps() / 1_000_000
}

fn port_count(run: &Run) -> usize {
    let switch_ports = run
        .topology
        .iter()
        .filter(|link| run.is_switch_port(link.port));
    let mut sampled: Vec<u32> = run.queues.iter().map(|sample| sample.port).collect();
    sampled.sort_unstable();
    sampled.dedup();
    switch_ports.count().max(sampled.len())
}
