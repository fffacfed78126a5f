//! The files of one run, in a folder of their own.

use crate::layout::{RUN, RunFile, TABLES, TableFile, TableFormat};
use crate::manifest::Origin;
use crate::table::Table;
use crate::whole_file::{PARTIAL, write_json, write_through};
use crate::{Error, RunRecord, RunSummary, csv_file, hash, parquet_file, rows};
use std::fs;
use std::path::Path;

/// Writes a run's files into `dir`, and waits until the disk has them.
pub(crate) fn write(
    dir: &Path,
    format: TableFormat,
    origin: Option<Origin>,
    run: &RunRecord,
) -> Result<RunSummary, Error> {
    fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
    let tables = [
        rows::flows_table(run),
        rows::requests_table(run),
        rows::sessions_table(run),
        rows::ports_table(&run.ports),
        rows::topology_table(&run.topology),
        rows::failures_table(&run.failures),
        rows::queues_table(&run.queues),
        rows::links_table(&run.links),
    ];
    let mut files = Vec::new();
    for (name, table) in TABLES.into_iter().zip(tables) {
        // An empty table of flows is a result; empty samples only say that none were asked for.
        if table.rows() > 0 || name == "flows" {
            let table = rows::with_run(table, &run.key);
            files.push(write_table(dir, name, &table, format)?);
        }
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

fn write_table(
    dir: &Path,
    name: &str,
    table: &Table,
    format: TableFormat,
) -> Result<TableFile, Error> {
    let name = format!("{name}.{}", format.extension());
    let path = dir.join(&name);
    let bytes = match format {
        TableFormat::Parquet => parquet_file::encode(table)
            .map_err(|error| Error::io("encode", &path)(std::io::Error::other(error)))?,
        TableFormat::Csv => csv_file::encode(table)
            .map_err(|error| Error::io("encode", &path)(std::io::Error::other(error)))?,
    };
    write_through(&path, &bytes).map_err(Error::io("write", &path))?;
    Ok(TableFile {
        name,
        rows: table.rows() as u64,
        bytes: bytes.len() as u64,
        xxh3_128: hash::of_bytes(&bytes),
    })
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
