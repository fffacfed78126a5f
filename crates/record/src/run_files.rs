//! Files of one run. Each run has its own directory.

use crate::layout::{RUN, RunFile, TableFormat};
use crate::manifest::Origin;
use crate::table_kind::LINK_NAMES;
use crate::whole_file::{PARTIAL, write_json};
use crate::{Error, FlowRows, RunRecord, RunSummary, TableKind, table_file};
use std::fs;
use std::path::Path;

/// Writes a run's files to `dir` and waits until they are on disk.
pub(crate) fn write<F: FlowRows>(
    dir: &Path,
    format: TableFormat,
    origin: Option<Origin>,
    run: &RunRecord<F>,
) -> Result<RunSummary, Error> {
    fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
    let mut files = Vec::new();
    for &kind in TableKind::ALL {
        let pieces = kind.of(run);
        // A run without flows still gets a table of flows, because zero flows are a result.
        // Other tables are omitted if they are empty.
        let empty = (kind == TableKind::Flows && pieces.rows == 0).then(|| pieces.empty());
        let pieces = empty.into_iter().chain(pieces).map(|mut piece| {
            // Without the topology, the names of links are unknown and their columns would be empty.
            if run.topology.is_empty() {
                piece
                    .columns
                    .retain(|column| !LINK_NAMES.contains(&&*column.name));
            }
            kind.complete(&run.key, piece)
        });
        files.extend(table_file::write(dir, kind.name(), format, pieces)?);
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

/// Removes a run's files. A directory that contains other files stays. The removal begins with `run.json`.
/// Readers ignore a directory without `run.json`, even if the removal is interrupted.
pub(crate) fn remove(dir: &Path) -> Result<(), Error> {
    let tables = TableKind::ALL
        .iter()
        .flat_map(|kind| TableFormat::ALL.map(|f| format!("{}.{}", kind.name(), f.extension())));
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
