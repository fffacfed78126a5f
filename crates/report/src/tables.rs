//! Tables of a report.

use crate::analysis::Row;
use crate::design_comparison::bytes_change;
use crate::estimate::{Ratio, SEEDS_FOR_QUANTILES, SEEDS_FOR_T};
use crate::figure::figure_cell;
use crate::format::{ON_A_GAP, Quantity, change, count, signed_percent};
use crate::group::Group;
use crate::headline::headline_group;
use crate::same_runs::nothing_varies;
use crate::sample::{Metric, Sample, Statistic};
use crate::screen::Screen;
use crate::study::Study;
use crate::table::{Cell, Table, Tendency};
use crate::{
    fixed_flows, lateness, load, measure, network, queue, requests, sensitivity, sessions, timers,
};
use serde_json::{Value, json};

/// Returns the tables for a terminal: the table with the figures of the answer, and the table of the loads.
pub fn text_table(study: &Study) -> String {
    text_table_on(study, Screen::default())
}

/// Maximum number of rows of a table in a terminal.
const MOST_ROWS: usize = 60;

/// Returns the text of [`text_table`] with line breaks for a screen.
pub fn text_table_on(study: &Study, screen: Screen) -> String {
    let mut text = String::new();
    let mut tables = headlines(study);
    tables.extend(requests::table(study));
    for table in &mut tables {
        *table = without_zeros(table.clone(), "unfinished");
        let more = table.rows.len().saturating_sub(MOST_ROWS);
        table.rows.truncate(MOST_ROWS);
        if more > 0 {
            table
                .caption
                .push_str(&format!("The report has {more} more rows."));
        }
        text.push_str(&table.to_text(screen));
        text.push('\n');
    }
    text.push_str(&screen.wrap(&method_note(study, &tables), ""));
    text.push('\n');
    text
}

/// Returns the table without the column `column` if all values in this column are zero.
fn without_zeros(table: Table, column: &str) -> Table {
    let place = table.columns.iter().position(|name| name == column);
    let is_zero = |place: usize| table.rows.iter().all(|row| row[place].text == "0");
    match place.is_some_and(is_zero) {
        true => table.without(column),
        false => table,
    }
}

/// Returns all tables of the report as JSON, for scripts.
pub fn json(study: &Study) -> Value {
    let analysis = study.analysis();
    let mut tables = headlines(study);
    for setting in 0..analysis.settings.len() {
        let known = [Metric::Fct, Metric::Slowdown].into_iter();
        let known = known.filter(|metric| is_known(study, setting, *metric));
        tables.extend(known.map(|metric| figures(study, setting, metric)));
    }
    tables.extend(requests::table(study));
    tables.extend(load::table(study));
    tables.extend(lateness::table(study));
    tables.extend(timers::table(study));
    tables.extend(sensitivity::table(study));
    tables.push(counts(study));
    tables.extend(unfinished(study));
    for headline in analysis.headlines() {
        tables.extend(queue::table(study, headline));
        tables.extend(network::tables(study, headline));
    }
    tables.extend(study.comparisons.iter().map(crate::Comparison::table));
    json!({
        "answer": crate::answer(study),
        "baseline": study.baseline(),
        "tables": tables.iter().map(Table::to_json).collect::<Vec<_>>(),
        "comparisons": study.comparisons,
    })
}

/// Returns a note that explains in a few sentences how the figures and intervals of `tables` were computed.
pub(crate) fn method_note(study: &Study, tables: &[Table]) -> String {
    let analysis = study.analysis();
    let seeds = analysis.rows.iter().map(|row| row.seeds).max();
    let seeds = seeds.unwrap_or(0);
    let mut settings = 0..analysis.settings.len();
    if seeds == 0 {
        return String::new();
    }
    let mut note = match seeds {
        1 => "All figures come from one seed and have no interval.".to_owned(),
        _ if settings.all(|setting| nothing_varies(study, setting)) => {
            "All seeds gave the same run, so that figures have no interval.".to_owned()
        }
        _ => format!(
            "Percentiles are over all flows of all {seeds} seeds together, means over all finished flows. The \
             95 % confidence interval is in brackets: for percentiles by resampling of seeds, for means by \
             Student's t over the seeds (at least {SEEDS_FOR_T}). Changes are paired by seed."
        ),
    };
    let cells = || tables.iter().flat_map(|table| table.rows.iter().flatten());
    if cells().any(|cell| cell.text.starts_with("too few")) {
        note.push_str(&format!(
            " \u{201c}Too few\u{201d}: a percentile needs {SEEDS_FOR_QUANTILES} seeds and ten flows beyond \
             it; the number of seeds of this size in the cell is enough."
        ));
    }
    if cells().any(|cell| cell.text.ends_with(ON_A_GAP)) {
        note.push_str(&format!(
            " {ON_A_GAP} The percentile lies on a gap of the distribution: chance decides on which side of \
             the gap it falls, and the interval spans the gap."
        ));
    }
    note
}

/// Returns the tables with the figures of the answers, for all headlines, and the tables of the loads.
fn headlines(study: &Study) -> Vec<Table> {
    let of_place = |at| {
        let kinds = of_sessions(study, at);
        headline(study, at)
            .into_iter()
            .chain(kinds)
            .chain(sweep(study, at))
    };
    let headlines = study.analysis().headlines().into_iter();
    headlines.flat_map(of_place).collect()
}

/// Returns the table with the figures of the answer, for the topology and workload of this headline.
pub(crate) fn headline(study: &Study, setting: usize) -> Option<Table> {
    headline_of(study, setting, &headline_group(study.analysis(), setting))
}

/// Returns the table of a setting with the figures of any group.
pub(crate) fn headline_of(study: &Study, setting: usize, group: &Group) -> Option<Table> {
    let analysis = study.analysis();
    let base = study.baseline().unwrap_or_default();
    let elephants = Group::elephants();
    // In a study with sessions, most large flows belong to the sessions.
    let with_elephants =
        !group.is_of_sessions() && analysis.rows(setting, &elephants).next().is_some();
    let mut columns = vec![
        "design".to_owned(),
        format!("{} p99", group.short),
        format!("vs {base}"),
        format!("{} mean vs {base}", group.short),
    ];
    if with_elephants {
        columns.push(format!("elephants mean vs {base}"));
    }
    columns.push(format!("bytes vs {base}"));
    columns.push(group.noun().to_owned());
    columns.push(measure::COLUMN.to_owned());
    columns.push("unfinished".to_owned());
    let rows = analysis.rows(setting, group).map(|row| {
        let mut cells = vec![
            Cell::text(&row.design),
            figure_cell(row, Metric::Fct, Statistic::P99),
            change_cell(row, Statistic::P99),
            change_cell(row, Statistic::Mean),
        ];
        if with_elephants {
            let of_elephants = analysis.row(setting, &elephants, &row.design);
            cells.push(of_elephants.map_or_else(
                || Cell::new("–".to_owned(), Value::Null),
                |row| change_cell(row, Statistic::Mean),
            ));
        }
        let bytes = bytes_change(study, setting, &row.design, base).filter(|_| row.design != base);
        let text = bytes.map_or_else(
            || "–".to_owned(),
            |bytes| format!("{} %", signed_percent(bytes * 100.0)),
        );
        cells.push(Cell::new(text, bytes));
        cells.push(Cell::count(row.flows as u64));
        cells.push(measure::cell(study, setting, &row.design));
        cells.push(Cell::count(row.unfinished as u64));
        cells
    });
    let table = Table {
        id: format!("headline{}", analysis.suffix(setting)),
        title: format!(
            "{}, {}",
            capitalised(&group.name),
            analysis.settings[setting].describe(true)
        ),
        caption: String::new(),
        rows: rows.collect(),
        columns,
    };
    let table = timers::mark_timer_changes(study, setting, group, table);
    let table = fixed_flows::completed(study, setting, group, table);
    let of_rows = vec![setting; table.rows.len()];
    Some(load::without_gains(study, &of_rows, table).without_empty_columns())
}

/// Returns the table of the answer's figure at every setting of a sweep. Returns `None` for a single setting.
pub(crate) fn sweep(study: &Study, headline: usize) -> Option<Table> {
    let analysis = study.analysis();
    let group = headline_group(analysis, headline);
    let settings = analysis.sweep(headline);
    if settings.len() < 2 {
        return None;
    }
    let base = study.baseline().unwrap_or_default();
    let mut rows = Vec::new();
    let mut of_rows = Vec::new();
    for setting in settings {
        for row in analysis.rows(setting, &group) {
            let mut cells = analysis.setting_cells(setting);
            cells.extend([
                Cell::text(&row.design),
                figure_cell(row, Metric::Fct, Statistic::P99),
                change_cell(row, Statistic::P99),
                figure_cell(row, Metric::Fct, Statistic::P50),
                change_cell(row, Statistic::P50),
                Cell::count(row.flows as u64),
                measure::cell(study, setting, &row.design),
                Cell::count(row.unfinished as u64),
            ]);
            rows.push(cells);
            of_rows.push(setting);
        }
    }
    let mut columns = analysis.setting_columns();
    columns.extend([
        "design".to_owned(),
        "p99".to_owned(),
        format!("p99 vs {base}"),
        "p50".to_owned(),
        format!("p50 vs {base}"),
        group.noun().to_owned(),
        measure::COLUMN.to_owned(),
        "unfinished".to_owned(),
    ]);
    let table = Table {
        id: format!("settings{}", analysis.suffix(headline)),
        title: format!("{} at every setting", capitalised(&group.name)),
        caption: String::new(),
        columns,
        rows,
    };
    Some(load::without_gains(study, &of_rows, table).without_empty_columns())
}

/// Returns whether a metric has figures. Requests have no ideal time, and therefore no slowdown.
pub(crate) fn is_known(study: &Study, setting: usize, metric: Metric) -> bool {
    let rows = study.analysis().rows.iter();
    let mut rows = rows.filter(|row| row.setting == setting);
    rows.any(|row| row.estimate(metric, Statistic::Mean).is_some())
}

/// Returns the table of mean and percentiles of one metric in one setting, by group and design.
pub(crate) fn figures(study: &Study, setting: usize, metric: Metric) -> Table {
    let analysis = study.analysis();
    let (id, name) = match metric {
        Metric::Fct => ("fct", "Completion time"),
        Metric::Slowdown => ("slowdown", "Slowdown (completion time over the ideal one)"),
    };
    let rows = analysis
        .rows
        .iter()
        .filter(|row| row.setting == setting)
        .map(|row| {
            let mut cells = vec![
                Cell::text(&row.group.name),
                Cell::text(&row.design),
                Cell::count(row.flows as u64),
            ];
            cells.extend(Statistic::ALL.map(|statistic| figure_cell(row, metric, statistic)));
            cells
        });
    let columns = ["flows of", "design", "flows", "mean", "p50", "p99", "p99.9"];
    Table {
        id: format!("{id}-{setting}"),
        title: format!("{name}, {}", analysis.setting_name(setting)),
        caption: String::new(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// Returns the table of the counters of the network and the transports, over all seeds.
pub(crate) fn counts(study: &Study) -> Table {
    let analysis = study.analysis();
    let mut rows = Vec::new();
    for (setting, cell) in study.cells().iter().enumerate() {
        for (design, runs) in &cell.designs {
            let sum = |of: fn(&tailcut_record::RunSummary) -> u64| -> u64 {
                runs.iter().map(|run| of(&run.summary)).sum()
            };
            let mut reasons = tailcut_record::DropCounts::default();
            for run in runs {
                for (reason, dropped) in &run.summary.drops.0 {
                    reasons.0.entry(reason.clone()).or_default().packets += dropped.packets;
                }
            }
            let by_reason: Vec<String> = reasons
                .0
                .iter()
                .filter(|(_, dropped)| dropped.packets > 0)
                .map(|(reason, dropped)| format!("{reason} {}", count(dropped.packets)))
                .collect();
            let drops = match by_reason.is_empty() {
                true => "0".to_owned(),
                false => by_reason.join(", "),
            };
            let bytes = sum(|s| s.sent.bytes);
            let mut row = analysis.setting_cells(setting);
            row.extend([
                Cell::text(*design),
                Cell::count(runs.len() as u64),
                Cell::count(sum(|s| s.sent.packets)),
                Cell::new(Quantity::Bytes.text(bytes as f64), bytes),
                Cell::new(drops, &reasons),
                Cell::count(sum(|s| s.trimmed.packets)),
                Cell::count(sum(|s| s.returned.packets)),
                Cell::count(sum(|s| s.marks)),
                Cell::count(sum(|s| s.retransmissions)),
                Cell::count(sum(|s| s.timeouts)),
                Cell::count(sum(|s| s.copies)),
            ]);
            rows.push(row);
        }
    }
    let columns = [
        "design",
        "runs",
        "packets sent",
        "bytes sent",
        "drops by reason",
        "trimmed",
        "returned",
        "marks",
        "retransmissions",
        "timeouts",
        "copies",
    ];
    Table {
        id: "counts".to_owned(),
        title: "Counters of the network and the transports".to_owned(),
        caption:
            "Sums over all seeds. Bytes include headers. A packet is trimmed if a switch removes its payload. It is \
             returned if there is no room for its header either. A copy is a further connection of a flow."
                .to_owned(),
        columns: analysis.with_setting(&columns),
        rows,
    }
}

/// Returns the table that shows the effect of unfinished flows on the 99th percentile.
/// Returns `None` if all flows finished.
pub(crate) fn unfinished(study: &Study) -> Option<Table> {
    let analysis = study.analysis();
    let cells = study.cells();
    let rows: Vec<Vec<Cell>> = analysis
        .rows
        .iter()
        .filter(|row| row.unfinished > 0 && !row.group.is_fine())
        .map(|row| {
            let sample = Sample::of(
                cells[row.setting].runs(&row.design),
                &row.group,
                Metric::Fct,
            );
            let time = |value: Option<f64>| match value {
                None => Cell::new("–".to_owned(), value),
                Some(v) if v.is_infinite() => Cell::new("unfinished".to_owned(), None::<f64>),
                Some(v) => Cell::new(Quantity::Time.text(v), value),
            };
            let mut cells = analysis.setting_cells(row.setting);
            cells.extend([
                Cell::text(&row.group.name),
                Cell::text(&row.design),
                Cell::count(row.flows as u64),
                Cell::count(row.unfinished as u64),
                time(sample.finished_quantile(0.99)),
                time(sample.quantile(0.99)),
            ]);
            cells
        })
        .collect();
    let columns = [
        "flows of",
        "design",
        "flows",
        "unfinished",
        "p99 of the finished ones",
        "p99 of all",
    ];
    (!rows.is_empty()).then(|| Table {
        id: "unfinished".to_owned(),
        title: "Effect of unfinished flows on the 99th percentile".to_owned(),
        caption: "A flow that has not finished at the end of its run counts as the slowest in all percentiles \
                  of this report. Means are over finished flows only. A percentile that falls among the \
                  unfinished flows is shown as \u{201c}unfinished\u{201d}. Both percentiles of this table \
                  are over all seeds together."
            .to_owned(),
        columns: analysis.with_setting(&columns),
        rows,
    })
}

fn change_cell(row: &Row, statistic: Statistic) -> Cell {
    let ratio = row.ratio(Metric::Fct, statistic);
    let tendency = ratio
        .filter(Ratio::is_significant)
        .map(|ratio| match ratio.value < 1.0 {
            true => Tendency::Better,
            false => Tendency::Worse,
        });
    Cell {
        tendency,
        ..Cell::new(change(ratio), ratio)
    }
}

/// Returns the headline's table once for each kind of session.
pub(crate) fn of_sessions(study: &Study, setting: usize) -> Vec<Table> {
    let kinds = sessions::kinds(study, setting);
    let tables = kinds.iter().filter_map(|group| {
        let table = headline_of(study, setting, group)?;
        Some(Table {
            id: format!("{}-{}", table.id, group.short),
            ..table
        })
    });
    tables.collect()
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// Returns the table of all finished runs, with the cost and the hash of each run.
pub(crate) fn runs(study: &Study) -> Table {
    let rows = study.runs().iter().map(|run| {
        let summary = &run.summary;
        let key = &summary.key;
        let load = key
            .load
            .map_or_else(|| "–".to_owned(), |load| load.to_string());
        let cpu = summary.cpu_seconds;
        let cpu_text = cpu.map_or_else(|| "–".to_owned(), |s| Quantity::Time.text(s * 1e6));
        let parameters: Vec<String> = key.parameters.iter().map(|one| one.to_string()).collect();
        vec![
            Cell::text(&key.design),
            Cell::text(&key.topology),
            Cell::text(&key.workload),
            Cell::new(load, key.load),
            Cell::new(
                parameters.join(", "),
                Some(parameters).filter(|all| !all.is_empty()),
            ),
            Cell::new(key.seed.to_string(), key.seed),
            Cell::count(summary.flows),
            Cell::count(summary.packet_hops),
            Cell::new(cpu_text, cpu),
            Cell::text(&summary.record_hash),
        ]
    });
    let columns = [
        "design",
        "topology",
        "workload",
        "load",
        "parameters",
        "seed",
        "flows",
        "packet hops",
        "CPU time",
        "record hash",
    ];
    Table {
        id: "runs".to_owned(),
        title: "Runs".to_owned(),
        caption: String::new(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
    .without_empty_columns()
}
