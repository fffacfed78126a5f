//! Queue occupancy: its table and its plot.

use crate::format::Quantity;
use crate::plot::{Axis, Mark, Plot, Point, Scale, Series};
use crate::study::{Run, Study};
use crate::table::{Cell, Table};
use std::collections::BTreeMap;
use tailcut_record::quantile_rank;

/// Points of a line over time; more would lie on the same pixels.
const BINS: u64 = 240;

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

/// The fullest sampled queue over time, by design; `None` without samples.
pub(crate) fn plot(study: &Study) -> Option<Plot> {
    let runs = sampled_runs(study);
    let ports = runs.iter().map(|(_, run)| port_count(run)).max()?;
    let end_us = runs
        .iter()
        .filter_map(|(_, run)| run.queues.last())
        .map(|sample| sample.time.as_ps() / 1_000_000 + 1)
        .max()?;
    let designs = study.designs();
    let series = runs.iter().map(|(design, run)| {
        let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
        for sample in &run.queues {
            let bin = sample.time.as_ps() / 1_000_000 * BINS / end_us;
            let fullest = bins.entry(bin).or_default();
            *fullest = sample.backlog.0.max(*fullest);
        }
        let points = bins.into_iter().map(|(bin, backlog)| {
            let time_us = (bin as f64 + 0.5) * end_us as f64 / BINS as f64;
            Point::new(time_us, backlog as f64)
        });
        Series {
            name: (*design).to_owned(),
            colour: designs.iter().position(|d| d == design).unwrap_or(0),
            mark: Mark::Line,
            points: points.collect(),
        }
    });
    let caption = match ports {
        1 => "The one sampled port, first seed; each point is the longest backlog of its interval."
            .to_owned(),
        _ => format!(
            "The fullest of {ports} sampled ports, first seed; each point is the longest backlog of its \
             interval."
        ),
    };
    Some(Plot {
        id: "queue-occupancy".to_owned(),
        title: "Queue occupancy over time".to_owned(),
        caption,
        x: Axis::new("time since the start", Quantity::Time, Scale::Linear),
        y: Axis::new("backlog", Quantity::Bytes, Scale::Linear),
        series: series.collect(),
        reference: None,
    })
}

fn port_count(run: &Run) -> usize {
    let mut ports: Vec<u32> = run.queues.iter().map(|sample| sample.port).collect();
    ports.sort_unstable();
    ports.dedup();
    ports.len()
}
