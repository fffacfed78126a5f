//! Table of requests: their latency, and the cost of their copies.

use crate::analysis::Analysis;
use crate::figure::figure_cell;
use crate::format::{Quantity, change};
use crate::group::Group;
use crate::sample::{Metric, Statistic};
use crate::study::Study;
use crate::table::{Cell, Table};
use tailcut_record::RequestSummary;

/// Returns a table with the latency of requests, the bytes, and the time of servers, for every setting.
/// Returns `None` for a study without requests.
pub(crate) fn table(study: &Study) -> Option<Table> {
    let analysis = study.analysis();
    let base = study.baseline().unwrap_or_default();
    let mut rows = Vec::new();
    for (setting, cell) in study.cells().iter().enumerate() {
        for (design, runs) in &cell.designs {
            let summaries = runs.iter().filter_map(|run| run.summary.requests.as_ref());
            let summaries: Vec<&RequestSummary> = summaries.collect();
            rows.extend(row(analysis, setting, design, &summaries));
        }
    }
    let columns = [
        "design",
        "mean",
        &format!("mean vs {base}"),
        "p50",
        "p99",
        "p99.9",
        "amplification",
        "bytes wasted",
        "server time",
        "purged",
        "requests",
        "unfinished",
    ];
    (!rows.is_empty()).then(|| Table {
        id: "requests".to_owned(),
        title: "Requests: latency and its price".to_owned(),
        caption: "Amplification is the answer bytes that servers sent, divided by the useful ones. Server time \
                  is the busy time of all servers, over all seeds."
            .to_owned(),
        columns: analysis.with_setting(&columns),
        rows,
    })
}

fn row(
    analysis: &Analysis,
    setting: usize,
    design: &str,
    summaries: &[&RequestSummary],
) -> Option<Vec<Cell>> {
    let row = analysis.row(setting, &Group::requests(), design)?;
    let figure = |statistic| figure_cell(row, Metric::Fct, statistic);
    let sum = |of: fn(&RequestSummary) -> u64| summaries.iter().map(|s| of(s)).sum::<u64>();
    let sent = sum(|s| s.sent_bytes);
    let useful = sum(|s| s.useful_bytes);
    let amplification = (useful > 0).then(|| sent as f64 / useful as f64);
    let wasted = sum(|s| s.wasted_bytes);
    let service: f64 = summaries.iter().map(|s| s.service_seconds).sum();
    let ratio = row.ratio(Metric::Fct, Statistic::Mean);
    let mut cells = analysis.setting_cells(setting);
    cells.extend([
        Cell::text(design),
        figure(Statistic::Mean),
        Cell::new(change(ratio), ratio),
        figure(Statistic::P50),
        figure(Statistic::P99),
        figure(Statistic::P999),
        Cell::new(
            amplification.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.3}")),
            amplification,
        ),
        Cell::new(Quantity::Bytes.text(wasted as f64), wasted),
        Cell::new(Quantity::Time.text(service * 1e6), service),
        Cell::count(sum(|s| s.purged)),
        Cell::count(row.flows as u64),
        Cell::count(row.unfinished as u64),
    ]);
    Some(cells)
}
