//! Reader of a study's directory.

use crate::failure::{Failure, Loss};
use crate::flow::ListedFlow;
use crate::layout::{MANIFEST, RUN, RUNS, RunFile, TableFile, TableFormat};
use crate::manifest::{Manifest, ManifestRun, Origin, RunState, SCHEMA_VERSION, is_plain_name};
use crate::row::Row;
use crate::whole_file::{beside, copy_through, keep_names, read_json, write_whole};
use crate::{
    CoflowRecord, Error, FlowRecord, FlowRows, LinkFailure, LinkSample, NodeRecord, PortTotals,
    QueueSample, RequestRecord, RunCost, RunRecord, RunSummary, RunTotals, SessionRecord,
    TableKind, TopologyLink, run_files, table_file,
};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tailcut_units::Duration;

/// Study on disk. Tables are read on demand.
#[derive(Debug)]
pub struct StoredStudy {
    dir: PathBuf,
    /// Origin of the study and list of its runs.
    pub manifest: Manifest,
}

/// Finished run on disk.
#[derive(Debug)]
pub struct StoredRun {
    dir: PathBuf,
    tables: Vec<TableFile>,
    /// Summary of the run.
    pub summary: RunSummary,
    /// Names of the workload's parts. [`FlowRecord::class`] is an index into this list.
    pub classes: Vec<String>,
    origin: Option<Origin>,
}

/// Result of writing a run.
#[derive(Clone, PartialEq, Debug)]
pub enum WrittenRun {
    /// The run was written.
    Here(Box<RunSummary>),
    /// A concurrent process wrote the run first. Its files stay.
    ThereAlready,
}

impl StoredStudy {
    /// Opens the study in `dir`.
    ///
    /// # Errors
    /// [`Error::Io`] if the manifest cannot be read, [`Error::Damaged`] if it does not have this schema.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        let mut manifest = read_manifest(&dir)?;
        for run in &mut manifest.runs {
            // A run's directory gets its final name only after all its files are written.
            let is_planned = run.state == RunState::Planned && is_plain_name(&run.id);
            if is_planned && dir.join(RUNS).join(&run.id).join(RUN).exists() {
                run.state = RunState::Finished;
            }
        }
        Ok(Self { dir, manifest })
    }

    /// Returns the finished runs in the order of the manifest.
    pub fn runs(&self) -> impl Iterator<Item = Result<StoredRun, Error>> + '_ {
        self.manifest
            .runs
            .iter()
            .filter(|run| run.state == RunState::Finished)
            .map(|run| self.run(run))
    }

    fn run(&self, run: &ManifestRun) -> Result<StoredRun, Error> {
        if !is_plain_name(&run.id) {
            let reason = format!("run id \"{}\" is not a plain file name", run.id);
            return Err(Error::damaged(&self.dir.join(MANIFEST), reason));
        }
        StoredRun::open(self.dir.join(RUNS).join(&run.id))
    }
}

impl StoredRun {
    /// Opens the run in `dir`.
    ///
    /// # Errors
    /// [`Error::Io`] if `run.json` cannot be read, [`Error::Damaged`] if it does not describe a run.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        let file: RunFile = read_json(&dir.join(RUN))?;
        Ok(Self {
            dir,
            tables: file.tables,
            summary: file.summary,
            classes: file.classes,
            origin: file.origin,
        })
    }

    /// Writes a run to the directory `dir`, completely or not at all.
    /// The files are first written to a temporary directory next to `dir`.
    /// The name of the temporary directory contains `mark` and ends in `.partial`.
    /// When all files are on disk, that directory is renamed.
    /// If several processes write the same run, the files of the first process stay.
    /// The files of all other processes are removed.
    ///
    /// # Errors
    /// [`Error::Io`] if the operating system reports an error.
    pub fn write<F: FlowRows>(
        dir: &Path,
        mark: &str,
        format: TableFormat,
        origin: Option<Origin>,
        run: &RunRecord<F>,
    ) -> Result<WrittenRun, Error> {
        let mut marked = dir.as_os_str().to_owned();
        marked.push(format!(".{mark}"));
        let partial = beside(Path::new(&marked));
        let written = run_files::write(&partial, format, origin, run);
        let placed = written.and_then(|summary| match fs::rename(&partial, dir) {
            Ok(()) => Ok(WrittenRun::Here(Box::new(summary))),
            // `rename` never replaces a directory that contains files.
            Err(error) if is_taken(&error) || dir.join(RUN).exists() => {
                Ok(WrittenRun::ThereAlready)
            }
            Err(error) => Err(Error::io("write", dir)(error)),
        });
        match (&placed, dir.parent()) {
            (Ok(WrittenRun::Here(_)), Some(parent)) => keep_names(parent),
            // The error of the write is reported.
            // An error of this removal is ignored, because it would hide the error of the write.
            _ => drop(run_files::remove(&partial)),
        }
        placed
    }

    /// Removes a run's files and their directory. A directory that contains other files stays.
    ///
    /// # Errors
    /// [`Error::Io`] if the operating system reports an error.
    pub fn remove(dir: &Path) -> Result<(), Error> {
        run_files::remove(dir)
    }

    /// Checks that no table of the run was changed since it was written. Returns the run.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`], with the path of the table.
    pub fn checked(self) -> Result<Self, Error> {
        for table in &self.tables {
            self.open_table(table)?;
        }
        Ok(self)
    }

    /// Returns the inputs that determine the run's result, if the writer of the run has set them.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Links or copies the run's files to another directory. The checksums of the tables are checked first.
    pub(crate) fn copy_into(&self, dir: &Path) -> Result<RunSummary, Error> {
        fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
        for table in &self.tables {
            let mut table_file = self.open_table(table)?;
            let to = dir.join(&table.name);
            // The file of a table never changes after writing, so two directories can share it.
            if fs::hard_link(self.dir.join(&table.name), &to).is_err() {
                copy_through(&mut table_file, &to).map_err(Error::io("write", &to))?;
            }
        }
        let run = self.dir.join(RUN);
        let bytes = fs::read(&run).map_err(Error::io("read", &run))?;
        write_whole(&dir.join(RUN), &bytes)?;
        Ok(self.summary.clone())
    }

    /// Reads the complete run, with times in nanoseconds.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn record(mut self) -> Result<RunRecord, Error> {
        let (mut flows, mut load_only) = (Vec::new(), Vec::new());
        self.each_listed(|listed| match listed.is_load_only {
            true => load_only.push(listed.flow),
            false => flows.push(listed.flow),
        })?;
        let (sessions, coflows) = (self.sessions()?, self.coflows()?);
        let summary = &self.summary;
        Ok(RunRecord {
            totals: RunTotals {
                packet_hops: summary.packet_hops,
                events: summary.events,
                sent: summary.sent,
                copied: summary.copied,
                delivered: summary.delivered,
                drops: summary.drops.clone(),
                remaining: summary.remaining,
                trimmed: summary.trimmed,
                returned: summary.returned,
                marks: summary.marks,
                simulated: Duration::from_secs_f64(summary.simulated_seconds),
            },
            cost: RunCost {
                cpu_seconds: summary.cpu_seconds,
                wall_seconds: summary.wall_seconds,
                peak_rss_bytes: summary.peak_rss_bytes,
            },
            flows,
            load_only,
            requests: self.requests()?,
            sessions,
            coflows,
            ports: self.ports()?,
            nodes: self.nodes()?,
            topology: self.topology()?,
            failures: self.failures()?,
            queues: self.queues()?,
            links: self.links()?,
            classes: self.classes,
            key: self.summary.key,
            sampling: self.summary.sampling,
            switch_waits: self.summary.switch_waits,
            host_bursts: self.summary.host_bursts,
            arrived: self.summary.arrived,
            offered: self.summary.offered,
            timers: self.summary.timers,
            wall: self.summary.wall,
        })
    }

    /// Reads the run's flows in the order of their numbers, with times in nanoseconds.
    /// Flows that only carry load are left out.
    /// Classes that `run.json` does not list are added to [`StoredRun::classes`].
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn flows(&mut self) -> Result<Vec<FlowRecord>, Error> {
        let mut flows = Vec::new();
        self.each_flow(|flow| flows.push(flow))?;
        Ok(flows)
    }

    /// Passes the rows of [`StoredRun::flows`] to `each`, one by one. Memory contains at most 131,072 rows at a time.
    ///
    /// # Errors
    /// The errors of [`StoredRun::flows`].
    pub fn each_flow(&mut self, mut each: impl FnMut(FlowRecord)) -> Result<(), Error> {
        self.each_listed(|listed| {
            if !listed.is_load_only {
                each(listed.flow);
            }
        })
    }

    /// Passes all rows of the table of flows to `each`, including flows that only carry load.
    fn each_listed(&mut self, mut each: impl FnMut(ListedFlow)) -> Result<(), Error> {
        let mut classes = std::mem::take(&mut self.classes);
        let read = match self.summary.load_only {
            Some(_) => self.read(TableKind::Flows, &mut classes, each),
            // The tables of earlier versions do not have the column that marks flows which only carry load.
            None => self.read(TableKind::Flows, &mut classes, |flow| {
                each(ListedFlow::counted(flow));
            }),
        };
        self.classes = classes;
        read
    }

    /// Reads the run's requests in the order of their numbers, with times in nanoseconds.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn requests(&self) -> Result<Vec<RequestRecord>, Error> {
        self.all(TableKind::Requests)
    }

    /// Reads the receivers of storage sessions, grouped by session. Classes are handled as in [`StoredRun::flows`].
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn sessions(&mut self) -> Result<Vec<SessionRecord>, Error> {
        let mut classes = std::mem::take(&mut self.classes);
        let mut sessions = Vec::new();
        let read = self.read(TableKind::Sessions, &mut classes, |row| sessions.push(row));
        self.classes = classes;
        read.map(|()| sessions)
    }

    /// Reads the coflows and queries in the order of their starts. Classes are handled as in [`StoredRun::flows`].
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn coflows(&mut self) -> Result<Vec<CoflowRecord>, Error> {
        let mut classes = std::mem::take(&mut self.classes);
        let mut coflows = Vec::new();
        let read = self.read(TableKind::Coflows, &mut classes, |row| coflows.push(row));
        self.classes = classes;
        read.map(|()| coflows)
    }

    /// Reads the totals of all ports; empty if none were recorded.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn ports(&self) -> Result<Vec<PortTotals>, Error> {
        self.all(TableKind::Ports)
    }

    /// Reads all hosts and switches; empty if none were recorded, or if an earlier version wrote the run.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn nodes(&self) -> Result<Vec<NodeRecord>, Error> {
        self.all(TableKind::Nodes)
    }

    /// Reads the links of all ports; empty if none were recorded.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn topology(&self) -> Result<Vec<TopologyLink>, Error> {
        self.all(TableKind::Topology)
    }

    /// Reads the failures of links.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn failures(&self) -> Result<Vec<LinkFailure>, Error> {
        let slow = self.all::<Failure>(TableKind::Failures)?.into_iter();
        let lossy = self.all::<Loss>(TableKind::Losses)?.into_iter();
        Ok(slow
            .map(LinkFailure::from)
            .chain(lossy.map(LinkFailure::from))
            .collect())
    }

    /// Reads the queue samples.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn queues(&self) -> Result<Vec<QueueSample>, Error> {
        self.all(TableKind::Queues)
    }

    /// Reads the link samples.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn links(&self) -> Result<Vec<LinkSample>, Error> {
        self.all(TableKind::Links)
    }

    /// Reads all rows of a table that has no column of classes.
    fn all<R: Row>(&self, kind: TableKind) -> Result<Vec<R>, Error> {
        let mut rows = Vec::new();
        self.read(kind, &mut Vec::new(), |row| rows.push(row))?;
        Ok(rows)
    }

    /// Passes the rows of a table to `each`. A missing table has no rows.
    /// Classes that are missing in `classes` are added to this list.
    fn read<R: Row>(
        &self,
        kind: TableKind,
        classes: &mut Vec<String>,
        mut each: impl FnMut(R),
    ) -> Result<(), Error> {
        let stem = |file: &TableFile| file.name.split('.').next() == Some(kind.name());
        let Some(file) = self.tables.iter().find(|file| stem(file)) else {
            return Ok(());
        };
        self.check_name(file)?;
        table_file::read(&self.dir, file, R::COLUMNS, |table| {
            (0..table.rows()).try_for_each(|row| table.row(row, classes).map(&mut each))
        })
    }

    /// Checks that the file of a table is unchanged since it was written. Returns the open file.
    fn open_table(&self, file: &TableFile) -> Result<File, Error> {
        self.check_name(file)?;
        table_file::open(&self.dir, file)
    }

    fn check_name(&self, file: &TableFile) -> Result<(), Error> {
        if !is_plain_name(&file.name) {
            let reason = format!("table \"{}\" is not a plain file name", file.name);
            return Err(Error::damaged(&self.dir.join(RUN), reason));
        }
        Ok(())
    }
}

/// Returns whether `rename` failed because the target directory already exists.
fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty)
}

pub(crate) fn read_manifest(dir: &Path) -> Result<Manifest, Error> {
    let path = dir.join(MANIFEST);
    let value: serde_json::Value = read_json(&path)?;
    // The manifest of another version may have other fields. The schema's number is therefore checked first.
    match value.get("schema").and_then(serde_json::Value::as_u64) {
        Some(schema) if schema == u64::from(SCHEMA_VERSION) => {}
        found => {
            let found = found.map_or_else(|| "none".to_owned(), |schema| schema.to_string());
            let reason = format!("schema is {found}; this version reads {SCHEMA_VERSION}");
            return Err(Error::damaged(&path, reason));
        }
    }
    serde_json::from_value(value).map_err(|error| Error::damaged(&path, error))
}
