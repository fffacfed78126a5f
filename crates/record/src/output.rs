//! Writing a study into a directory, run by run.

use crate::manifest::{Manifest, RunState, is_plain_name};
use crate::table::Table;
use crate::whole_file::{write_json, write_whole};
use crate::{Error, RunRecord, RunSummary, csv_file, hash, parquet_file, rows};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const RUNS: &str = "runs";
pub(crate) const RUN: &str = "run.json";

/// The names of a run's tables, without their extension.
pub(crate) const TABLES: [&str; 8] = [
    "flows", "requests", "sessions", "ports", "topology", "failures", "queues", "links",
];

/// The format of a study's tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TableFormat {
    /// Apache Parquet with Snappy.
    #[default]
    Parquet,
    /// Comma-separated values with a header line.
    Csv,
}

impl TableFormat {
    /// Both formats.
    pub const ALL: [Self; 2] = [Self::Parquet, Self::Csv];

    /// The file name's extension.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }
}

/// `run.json`: the summary, the classes, and a check on every table beside it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct RunFile {
    #[serde(flatten)]
    pub summary: RunSummary,
    pub classes: Vec<String>,
    pub tables: Vec<TableFile>,
}

/// A table's file, its length in bytes and its XXH3-128.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct TableFile {
    pub name: String,
    pub rows: u64,
    pub bytes: u64,
    pub xxh3_128: String,
}

/// A directory that a study is being written to; shared by the threads that run it.
///
/// Every file is written beside its place and renamed into it, and the manifest counts a run as
/// finished only after its files are in place: whatever stops the program, the directory holds
/// whole runs.
#[derive(Debug)]
pub struct OutputDir {
    path: PathBuf,
    format: TableFormat,
    manifest: Mutex<Manifest>,
}

impl OutputDir {
    /// Makes the directory, or takes it over when it is empty or holds an earlier study, whose runs
    /// are removed; writes the manifest.
    ///
    /// # Errors
    /// [`Error::NotAStudy`] for a directory with other files, [`Error::Damaged`] for one whose
    /// manifest cannot be read, [`Error::Io`] where the system refuses.
    pub fn create(
        path: impl Into<PathBuf>,
        manifest: Manifest,
        format: TableFormat,
    ) -> Result<Self, Error> {
        let path = path.into();
        let runs = path.join(RUNS);
        clear(&path)?;
        fs::create_dir_all(&runs).map_err(Error::io("create", &runs))?;
        let output = Self {
            path,
            format,
            manifest: Mutex::new(manifest),
        };
        output.update_manifest(|_| ())?;
        Ok(output)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes planned run `index` and counts it as finished. Gives the run's summary.
    ///
    /// # Errors
    /// [`Error::UnplannedRun`], or [`Error::Io`] where the system refuses; the runs written before
    /// stay.
    pub fn write_run(&self, index: usize, run: &RunRecord) -> Result<RunSummary, Error> {
        let (id, planned) = {
            let manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
            let id = manifest.runs.get(index).map(|run| run.id.clone());
            (id, manifest.runs.len())
        };
        let id = id.ok_or(Error::UnplannedRun { index, planned })?;
        let dir = self.path.join(RUNS).join(&id);
        fs::create_dir_all(&dir).map_err(Error::io("create", &dir))?;

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
                files.push(self.write_table(&dir, name, &table)?);
            }
        }
        let summary = run.summary();
        let file = RunFile {
            summary: summary.clone(),
            classes: run.classes.clone(),
            tables: files,
        };
        write_json(&dir.join(RUN), &file)?;
        self.update_manifest(|manifest| manifest.runs[index].state = RunState::Finished)?;
        Ok(summary)
    }

    /// Marks every run that has not finished as interrupted, and says how many of how many have
    /// finished.
    ///
    /// # Errors
    /// [`Error::Io`] where the system refuses.
    pub fn interrupt(&self) -> Result<(usize, usize), Error> {
        self.update_manifest(|manifest| {
            for run in &mut manifest.runs {
                if run.state == RunState::Planned {
                    run.state = RunState::Interrupted;
                }
            }
            (manifest.count(RunState::Finished), manifest.runs.len())
        })
    }

    fn write_table(&self, dir: &Path, name: &str, table: &Table) -> Result<TableFile, Error> {
        let name = format!("{name}.{}", self.format.extension());
        let path = dir.join(&name);
        let bytes = match self.format {
            TableFormat::Parquet => parquet_file::encode(table)
                .map_err(|error| Error::io("encode", &path)(std::io::Error::other(error)))?,
            TableFormat::Csv => csv_file::encode(table)
                .map_err(|error| Error::io("encode", &path)(std::io::Error::other(error)))?,
        };
        write_whole(&path, &bytes)?;
        Ok(TableFile {
            name,
            rows: table.rows() as u64,
            bytes: bytes.len() as u64,
            xxh3_128: hash::of_bytes(&bytes),
        })
    }

    fn update_manifest<T>(&self, change: impl FnOnce(&mut Manifest) -> T) -> Result<T, Error> {
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut manifest);
        write_json(&self.path.join(MANIFEST), &*manifest)?;
        Ok(result)
    }
}

/// Removes an earlier study's manifest and runs, and nothing else.
fn clear(path: &Path) -> Result<(), Error> {
    let mut entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("open", path)(error)),
    };
    if entries.next().is_none() {
        return Ok(());
    }
    let manifest_path = path.join(MANIFEST);
    if !manifest_path.exists() {
        return Err(Error::NotAStudy {
            path: path.to_owned(),
        });
    }
    let earlier = crate::stored::read_manifest(path)?;
    fs::remove_file(&manifest_path).map_err(Error::io("remove", &manifest_path))?;
    for run in earlier.runs.iter().filter(|run| is_plain_name(&run.id)) {
        let dir = path.join(RUNS).join(&run.id);
        let tables = TABLES
            .into_iter()
            .flat_map(|name| TableFormat::ALL.map(|f| format!("{name}.{}", f.extension())));
        for name in tables.chain([RUN.to_owned()]) {
            let file = dir.join(name);
            if file.exists() {
                fs::remove_file(&file).map_err(Error::io("remove", &file))?;
            }
        }
        // A directory that holds somebody's other files stays.
        let _ = fs::remove_dir(&dir);
    }
    Ok(())
}
