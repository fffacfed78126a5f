//! Table of the links with the longest queues.

use crate::format::Quantity;
use crate::run::Run;
use crate::study::Study;
use crate::table::{Cell, Table};
use tailcut_record::link_numbers;

/// Number of rows for each design.
const LINKS: usize = 3;

/// Values of one link over the whole film.
#[derive(Clone, Copy, Default)]
struct Heat {
    /// Sums over all samples of the link.
    busy: f64,
    backlog: f64,
    /// Largest values of the link, each with its time.
    busiest: (f64, u64),
    longest: (u64, u64),
}

/// Returns a table with the links that have the longest mean queues, for each design.
/// If queues were not sampled, the table contains the busiest links.
pub(super) fn table(study: &Study, setting: usize, runs: &[(&str, &Run)]) -> Table {
    let rows = runs.iter().flat_map(|(design, run)| rows(design, run));
    let columns = [
        "design",
        "link",
        "rate",
        "mean queue",
        "longest queue",
        "at",
        "mean busy",
        "busiest interval",
        "ends at",
    ];
    Table {
        id: format!("links-{setting}"),
        title: format!(
            "Links with the longest queues, {}",
            study.analysis().setting_name(setting)
        ),
        caption: format!(
            "The {LINKS} links with the longest mean queue at their port, in each design's first seed. Means are \
             over all samples until the last byte was carried."
        ),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

fn rows(design: &str, run: &Run) -> Vec<Vec<Cell>> {
    let mut heats = vec![Heat::default(); run.topology.len()];
    for sample in &run.links {
        if let Some(heat) = heats.get_mut(sample.link as usize) {
            heat.busy += sample.utilisation;
            if sample.utilisation > heat.busiest.0 {
                heat.busiest = (sample.utilisation, sample.time.as_ns());
            }
        }
    }
    for sample in &run.queues {
        if let Some(heat) = heats.get_mut(sample.port as usize) {
            heat.backlog += sample.backlog.0 as f64;
            if sample.backlog.0 > heat.longest.0 {
                heat.longest = (sample.backlog.0, sample.time.as_ns());
            }
        }
    }
    // Ports of hosts are left out.
    // A host sends a packet only when its link is free, so the host's backlog does not appear at its port.
    let from_switches = |port: &usize| run.topology[*port].from_tier > 0;
    let mut ports: Vec<usize> = (0..heats.len()).filter(from_switches).collect();
    ports.sort_by(|&a, &b| {
        let by_busy = || heats[b].busy.total_cmp(&heats[a].busy);
        heats[b]
            .backlog
            .total_cmp(&heats[a].backlog)
            .then_with(by_busy)
    });
    let samples = run.instants().unwrap_or(1) as f64;
    let numbers = link_numbers(&run.topology);
    let shown = ports.into_iter().take(LINKS);
    shown
        .map(|port| {
            let (heat, link) = (heats[port], &run.topology[port]);
            let time = |ns: u64| Cell::new(Quantity::Time.text(ns as f64 / 1e3), ns as f64 / 1e3);
            let bytes = |bytes: f64| Cell::new(Quantity::Bytes.text(bytes), bytes);
            let share = |share: f64| Cell::new(Quantity::Share.text(share), share);
            vec![
                Cell::text(design),
                Cell::text(format!("{} → {}{}", link.from, link.to, numbers[port])),
                Cell::text(link.rate.to_string()),
                bytes(heat.backlog / samples),
                bytes(heat.longest.0 as f64),
                time(heat.longest.1),
                share(heat.busy / samples),
                share(heat.busiest.0.min(1.0)),
                time(heat.busiest.1),
            ]
        })
        .collect()
}
