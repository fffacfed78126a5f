//! The table of runs: one row each, the numbers of `run.json`.

use crate::columns::Columns;
use std::iter::once;
use tailcut_scenario::record::{FctStats, RunSummary};

/// The columns of one run. What `run.json` nests is named with `_` between: `sent_packets`,
/// `mice_p99_us`.
pub fn columns(columns: Columns, run: &RunSummary) -> Columns {
    let counts = [
        ("flows", run.flows),
        ("unfinished", run.unfinished),
        ("packet_hops", run.packet_hops),
        ("events", run.events),
        ("sent_packets", run.sent.packets),
        ("sent_bytes", run.sent.bytes),
        ("copied_packets", run.copied.packets),
        ("copied_bytes", run.copied.bytes),
        ("delivered_packets", run.delivered.packets),
        ("delivered_bytes", run.delivered.bytes),
        ("dropped_packets", run.dropped.packets),
        ("dropped_bytes", run.dropped.bytes),
        ("remaining_packets", run.remaining.packets),
        ("remaining_bytes", run.remaining.bytes),
        ("trimmed_packets", run.trimmed.packets),
        ("trimmed_bytes", run.trimmed.bytes),
        ("returned_packets", run.returned.packets),
        ("returned_bytes", run.returned.bytes),
        ("marks", run.marks),
        ("application_bytes", run.application_bytes),
        ("payload_sent_bytes", run.payload_sent_bytes),
        ("retransmissions", run.retransmissions),
        ("timeouts", run.timeouts),
        ("copies", run.copies),
    ];
    let columns = columns.text("record_hash", once(&run.record_hash));
    let columns = counts.into_iter().fold(columns, |columns, (name, count)| {
        columns.integer(name, once(count))
    });
    let columns = columns
        .real("simulated_seconds", once(run.simulated_seconds))
        .optional("makespan_ns", once(run.makespan_ns));
    let latency = run.requests.as_ref().map(|requests| requests.latency);
    let groups = [
        ("mice", run.fct.mice),
        ("medium", run.fct.medium),
        ("elephants", run.fct.elephants),
        ("all", run.fct.all),
        ("requests", latency.unwrap_or_default()),
    ];
    groups
        .iter()
        .fold(columns, |columns, (group, stats)| {
            group_columns(columns, group, stats)
        })
        .optional_real("cpu_seconds", once(run.cpu_seconds))
        .optional_real("wall_seconds", once(run.wall_seconds))
        .optional("peak_rss_bytes", once(run.peak_rss_bytes))
}

fn group_columns(columns: Columns, group: &str, stats: &FctStats) -> Columns {
    let columns = columns
        .integer(&format!("{group}_n"), once(stats.n))
        .integer(&format!("{group}_unfinished"), once(stats.unfinished));
    let times = [
        ("mean_us", stats.mean_us),
        ("p50_us", stats.p50_us),
        ("p99_us", stats.p99_us),
        ("p999_us", stats.p999_us),
    ];
    times.into_iter().fold(columns, |columns, (name, time)| {
        columns.optional_real(&format!("{group}_{name}"), once(time))
    })
}
