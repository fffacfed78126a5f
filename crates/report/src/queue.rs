//! Queue occupancy: its table and its plot.

use crate::format::Quantity;
use crate::plot::{Axis, Mark, Plot, Point, Scale, Series};
use crate::study::{Run, Study};
use crate::table::{Cell, Table};
use std::collections::BTreeMap;
use tailcut_record::{QueueSample, quantile_rank};

/// Intervals of a line over time; with more its peaks would lie on one another.
const BINS: u64 = 100;

/// The first run of each design in the answer's setting, if it has queue samples.
fn sampled_runs(study: &Study) -> Vec<(&str, &Run)> {
    let Some(setting) = study.analysis().headline() else {
        return Vec::new();
    };
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

/// Mean, 99th percentile and maximum of the sampled backlogs; `None` without samples.
pub(crate) fn table(study: &Study) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = sampled_runs(study)
        .into_iter()
        .map(|(design, run)| {
            let mut backlogs: Vec<u64> = run.queues.iter().map(|s| s.backlog.0).collect();
            backlogs.sort_unstable();
            let n = backlogs.len();
            let mean = backlogs.iter().map(|&b| b as f64).sum::<f64>() / n as f64;
            let p99 = quantile_rank(n, 0.99).map_or(0, |rank| backlogs[rank]);
            let empty = backlogs.partition_point(|&b| b == 0) as f64 / n as f64;
            let largest = backlogs.last().copied().unwrap_or(0);
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
        id: "queues".to_owned(),
        title: "Queue occupancy over all sampled ports".to_owned(),
        caption: String::new(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    })
}

/// The fullest sampled queue over time, and how often a queue is how long; none without samples.
pub(crate) fn plots(study: &Study) -> Vec<Plot> {
    let runs = sampled_runs(study);
    let Some(ports) = runs.iter().map(|(_, run)| port_count(run)).max() else {
        return Vec::new();
    };
    let which = match ports {
        1 => "The one sampled port".to_owned(),
        _ => format!("{ports} sampled ports"),
    };
    let designs = study.designs();
    let of_all = |points: &dyn Fn(&Run) -> Vec<Point>| -> Vec<Series> {
        let series = runs.iter().map(|(design, run)| Series {
            name: (*design).to_owned(),
            colour: designs.iter().position(|d| d == design).unwrap_or(0),
            mark: Mark::Line,
            points: points(run),
        });
        series.filter(|series| !series.points.is_empty()).collect()
    };
    let ends = runs.iter().filter_map(|(_, run)| run.queues.last());
    let end_us = ends.map(|sample| time_us(sample) + 1).max().unwrap_or(1);
    let over_time = Plot {
        id: "queue-occupancy".to_owned(),
        title: "The fullest queue over time".to_owned(),
        caption: format!("{which}, first seed; each point is the longest backlog of its interval."),
        x: Axis::new("time since the start", Quantity::Time, Scale::Linear),
        y: Axis::new("backlog", Quantity::Bytes, Scale::Linear),
        series: of_all(&|run| over_time(run, end_us)),
        reference: None,
    };
    let how_long = Plot {
        id: "queue-distribution".to_owned(),
        title: "How often a queue is how long".to_owned(),
        caption: format!("{which}, first seed, all samples."),
        x: Axis::new("backlog", Quantity::Bytes, Scale::Linear),
        y: Axis::new(
            "share of samples as long or longer",
            Quantity::Share,
            Scale::Log,
        ),
        series: of_all(&how_long),
        reference: None,
    };
    [over_time, how_long]
        .into_iter()
        .filter(Plot::has_points)
        .collect()
}

/// The longest backlog of any port in each of [`BINS`] intervals.
fn over_time(run: &Run, end_us: u64) -> Vec<Point> {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for sample in &run.queues {
        let fullest = bins.entry(time_us(sample) * BINS / end_us).or_default();
        *fullest = sample.backlog.0.max(*fullest);
    }
    let width_us = end_us as f64 / BINS as f64;
    bins.into_iter()
        .map(|(bin, backlog)| Point::new((bin as f64 + 0.5) * width_us, backlog as f64))
        .collect()
}

/// For each backlog that occurred, up to a hundred of them, the share of samples that reach it.
fn how_long(run: &Run) -> Vec<Point> {
    let mut backlogs: Vec<u64> = run.queues.iter().map(|sample| sample.backlog.0).collect();
    backlogs.sort_unstable();
    let mut distinct = backlogs.clone();
    distinct.dedup();
    let every = distinct.len().div_ceil(100).max(1);
    let last = distinct.last().copied();
    let n = backlogs.len() as f64;
    distinct
        .into_iter()
        .step_by(every)
        .chain(last)
        .map(|backlog| {
            let shorter = backlogs.partition_point(|&other| other < backlog);
            Point::new(backlog as f64, (n - shorter as f64) / n)
        })
        .collect()
}

fn time_us(sample: &QueueSample) -> u64 {
    sample.time.as_ps() / 1_000_000
}

fn port_count(run: &Run) -> usize {
    let mut ports: Vec<u32> = run.queues.iter().map(|sample| sample.port).collect();
    ports.sort_unstable();
    ports.dedup();
    ports.len()
}
