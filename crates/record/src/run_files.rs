//! The files of one run, in a folder of their own.

use crate::layout::{RUN, RunFile, TABLES, TableFormat};
use crate::manifest::Origin;
use crate::table::Table;
use crate::table_file::{self, AT_ONCE};
use crate::whole_file::{PARTIAL, write_json};
use crate::{Error, FlowRecord, FlowRows, LinkFailure, RunRecord, RunSummary, network_rows, rows};
use std::fs;
use std::path::Path;

/// Writes a run's files into `dir`, and waits until the disk has them.
pub(crate) fn write<F: FlowRows>(
    dir: &Path,
    format: TableFormat,
    origin: Option<Origin>,
    run: &RunRecord<F>,
) -> Result<RunSummary, Error> {
    fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
    let (key, classes) = (&run.key, &run.classes);
    let links = network_rows::LinkNames::of(&run.topology);
    let mut rows = run.flows.rows().peekable();
    // An empty table of flows is a result; empty samples only say that none were asked for.
    let mut is_first = true;
    let flows = std::iter::from_fn(|| {
        let is_due = std::mem::take(&mut is_first) || rows.peek().is_some();
        let piece: Vec<FlowRecord> = rows.by_ref().take(AT_ONCE).collect();
        is_due.then(|| rows::flows_table(key, classes, &piece))
    });
    let is_lossy = |failure: &LinkFailure| failure.trouble.loss().is_some();
    let (lossy, failures): (Vec<_>, Vec<_>) = run.failures.iter().copied().partition(is_lossy);
    let tables: [&mut dyn Iterator<Item = Table>; 10] = [
        &mut { flows },
        &mut pieces(&run.requests, |rows| rows::requests_table(key, rows)),
        &mut pieces(&run.sessions, |rows| rows::sessions_table(classes, rows)),
        &mut pieces(&run.ports, |rows| network_rows::ports_table(rows, &links)),
        &mut pieces(&run.nodes, network_rows::nodes_table),
        &mut pieces(&run.topology, network_rows::topology_table),
        &mut pieces(&failures, |rows| network_rows::failures_table(rows, &links)),
        &mut pieces(&lossy, |rows| network_rows::losses_table(rows, &links)),
        &mut pieces(&run.queues, rows::queues_table),
        &mut pieces(&run.links, rows::links_table),
    ];
    let mut files = Vec::new();
    for (name, pieces) in TABLES.into_iter().zip(tables) {
        let pieces = pieces.map(|piece| rows::with_run(piece, key));
        files.extend(table_file::write(dir, name, format, pieces)?);
    }
    let summary = run.summary();
    let file = RunFile {
        summary: summary.clone(),
        origin,
        classes: run.classes.clone(),
        tables: files,
    };
    write_json(&dir.join(RUN), &file)?;
    Ok(summary)
}

/// A table of rows in pieces; none without rows.
fn pieces<'a, T>(
    rows: &'a [T],
    table: impl Fn(&'a [T]) -> Table + 'a,
) -> impl Iterator<Item = Table> + 'a {
    rows.chunks(AT_ONCE).map(table)
}

/// Removes a run's files: first the one without which it is none. A directory that holds somebody's
/// other files stays.
pub(crate) fn remove(dir: &Path) -> Result<(), Error> {
    let tables = TABLES
        .into_iter()
        .flat_map(|name| TableFormat::ALL.map(|f| format!("{name}.{}", f.extension())));
    for name in [RUN.to_owned()].into_iter().chain(tables) {
        remove_file(&dir.join(format!("{name}{PARTIAL}")))?;
        remove_file(&dir.join(name))?;
    }
    let _ = fs::remove_dir(dir);
    Ok(())
}

fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}
