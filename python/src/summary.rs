//! Table of runs: one row for each run, with the values of its `run.json`.

use tailcut_scenario::record::{Column, FctStats, RunSummary, Table};

/// Returns the row of one run. Nested keys of `run.json` are joined with `_`, such as `mice_p99_us`.
pub fn table(run: &RunSummary) -> Table {
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
    let mut columns = vec![Column::same("record_hash", &run.record_hash, 1)];
    columns.extend(counts.map(|(name, count)| Column::same(name, &count, 1)));
    columns.push(Column::same("load_only", &run.load_only, 1));
    columns.push(Column::same("simulated_seconds", &run.simulated_seconds, 1));
    columns.push(Column::same("makespan_ns", &run.makespan_ns, 1));
    let latency = run.requests.as_ref().map(|requests| requests.latency);
    let groups = [
        ("mice", run.fct.mice),
        ("medium", run.fct.medium),
        ("elephants", run.fct.elephants),
        ("all", run.fct.all),
        ("requests", latency.unwrap_or_default()),
    ];
    columns.extend(
        groups
            .iter()
            .flat_map(|(group, stats)| of_group(group, stats)),
    );
    columns.push(Column::same("cpu_seconds", &run.cpu_seconds, 1));
    columns.push(Column::same("wall_seconds", &run.wall_seconds, 1));
    columns.push(Column::same("peak_rss_bytes", &run.peak_rss_bytes, 1));
    Table { columns }
}

fn of_group(group: &str, stats: &FctStats) -> [Column; 6] {
    let named = |name: &str| format!("{group}_{name}");
    [
        Column::same(named("n"), &stats.n, 1),
        Column::same(named("unfinished"), &stats.unfinished, 1),
        Column::same(named("mean_us"), &stats.mean_us, 1),
        Column::same(named("p50_us"), &stats.p50_us, 1),
        Column::same(named("p99_us"), &stats.p99_us, 1),
        Column::same(named("p999_us"), &stats.p999_us, 1),
    ]
}
