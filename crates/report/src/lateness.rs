//! Lateness of packets in runs on real hosts, and validity of the runs.

use crate::caveat::Caveat;
use crate::format::list;
use crate::study::Study;
use crate::table::{Cell, Table};
use tailcut_record::WallClock;

/// Returns the sentence about runs on real hosts.
/// An answer starts with this sentence if some runs are invalid, and otherwise ends with it.
pub(crate) fn sentence(study: &Study, setting: usize) -> Option<String> {
    let cells = study.cells();
    let cell = cells.get(setting)?;
    let (mut all, mut worst): (u32, Option<&WallClock>) = (0, None);
    let mut invalid: Vec<String> = Vec::new();
    for (design, runs) in &cell.designs {
        for run in runs {
            let Some(wall) = &run.summary.wall else {
                continue;
            };
            all += 1;
            if !wall.is_valid {
                let name = format!("{design} with seed {}", run.summary.key.seed);
                invalid.push(name);
            }
            if worst.is_none_or(|worst| {
                (worst.is_valid, -worst.late_p99_us) > (wall.is_valid, -wall.late_p99_us)
            }) {
                worst = Some(wall);
            }
        }
    }
    let worst = worst?;
    Some(match invalid.len() {
        0 => format!(
            "Runs on real hosts: {all}, all valid: 99 of 100 packets were delivered at most {:.0} us late.",
            worst.late_p99_us
        ),
        count => format!(
            "NOT VALID: {count} of {all} runs on real hosts ({}): {}.{}",
            list(&invalid),
            worst.why_not,
            Caveat::NotValid.see()
        ),
    })
}

/// Returns the table with the lateness of each run on real hosts. Returns `None` without runs on real hosts.
pub(crate) fn table(study: &Study) -> Option<Table> {
    let analysis = study.analysis();
    let mut rows = Vec::new();
    for (setting, cell) in study.cells().iter().enumerate() {
        for (design, runs) in &cell.designs {
            for run in runs {
                let Some(wall) = &run.summary.wall else {
                    continue;
                };
                let us = |value: f64| Cell::new(format!("{value:.1}"), value);
                let count = |value: u64| Cell::new(value.to_string(), value);
                let mut row = analysis.setting_cells(setting);
                row.push(Cell::text(*design));
                row.push(count(run.summary.key.seed));
                row.push(Cell::text(if wall.is_valid { "yes" } else { "NO" }));
                row.push(us(wall.late_p50_us));
                row.push(us(wall.late_p99_us));
                row.push(us(wall.late_mean_us));
                row.push(us(wall.late_max_us));
                row.push(us(wall.unloaded_us));
                row.push(count(wall.lost_frames));
                row.push(count(wall.slowdown.into()));
                rows.push(row);
            }
        }
    }
    let mut columns = analysis.setting_columns();
    let own = [
        "design",
        "seed",
        "valid",
        "late p50 (us)",
        "late p99 (us)",
        "late mean (us)",
        "late longest (us)",
        "unloaded (us)",
        "lost frames",
        "slowdown",
    ];
    columns.extend(own.map(str::to_owned));
    (!rows.is_empty()).then(|| Table {
        id: "punctuality".to_owned(),
        title: "Runs on real hosts".to_owned(),
        caption: "Delay with which packets were delivered to their hosts after their due time, by the network's \
                  clock. This clock is slower than the wall clock by the slowdown. A run is valid if no frame \
                  was lost between a host's kernel and the network, and if the 99th percentile of the delay is \
                  at most a fifth of an unloaded packet's time over the longest path, and its mean a \
                  twentieth."
            .to_owned(),
        columns,
        rows,
    })
}
