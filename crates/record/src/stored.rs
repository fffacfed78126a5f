//! Reading a study from its directory.

use crate::failure::{Failure, Loss};
use crate::layout::{MANIFEST, RUN, RUNS, RunFile, TableFile, TableFormat};
use crate::manifest::{Manifest, ManifestRun, Origin, RunState, SCHEMA_VERSION, is_plain_name};
use crate::row::Row;
use crate::whole_file::{beside, copy_through, keep_names, read_json, write_whole};
use crate::{
    Error, FlowRecord, FlowRows, LinkFailure, LinkSample, NodeRecord, PortTotals, QueueSample,
    RequestRecord, RunCost, RunRecord, RunSummary, RunTotals, SessionRecord, TableKind,
    TopologyLink, run_files, table_file,
};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tailcut_units::Duration;

/// A study on disk; its tables are read when asked for.
#[derive(Debug)]
pub struct StoredStudy {
    dir: PathBuf,
    /// Provenance and the list of runs.
    pub manifest: Manifest,
}

/// One finished run on disk.
#[derive(Debug)]
pub struct StoredRun {
    dir: PathBuf,
    tables: Vec<TableFile>,
    /// The run's summary.
    pub summary: RunSummary,
    /// Names of the workload's parts, that [`FlowRecord::class`] points into.
    pub classes: Vec<String>,
    origin: Option<Origin>,
}

/// What became of a run that was to be written.
#[derive(Clone, PartialEq, Debug)]
pub enum WrittenRun {
    /// It is in its place.
    Here(Box<RunSummary>),
    /// Somebody else's was there first, and stays.
    ThereAlready,
}

impl StoredStudy {
    /// Opens the study in `dir`.
    ///
    /// # Errors
    /// [`Error::Io`] where the manifest cannot be read, [`Error::Damaged`] where it is not one of
    /// this schema.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        let mut manifest = read_manifest(&dir)?;
        for run in &mut manifest.runs {
            // A run's directory is in its place once all of it is written.
            let is_planned = run.state == RunState::Planned && is_plain_name(&run.id);
            if is_planned && dir.join(RUNS).join(&run.id).join(RUN).exists() {
                run.state = RunState::Finished;
            }
        }
        Ok(Self { dir, manifest })
    }

    /// The finished runs in the manifest's order.
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
    /// The run in `dir`.
    ///
    /// # Errors
    /// [`Error::Io`] where `run.json` cannot be read, [`Error::Damaged`] where it is none.
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

    /// Writes a run into the folder `dir`, whole or not at all: into a folder beside it first, whose
    /// name has `mark` in it and ends in `.partial`. It is renamed once the disk has all of it. Of
    /// several writers the first one wins; what the others wrote is removed.
    ///
    /// # Errors
    /// [`Error::Io`] where the system refuses.
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
            // A folder with files in it is never replaced.
            Err(error) if is_taken(&error) || dir.join(RUN).exists() => {
                Ok(WrittenRun::ThereAlready)
            }
            Err(error) => Err(Error::io("write", dir)(error)),
        });
        match (&placed, dir.parent()) {
            (Ok(WrittenRun::Here(_)), Some(parent)) => keep_names(parent),
            // The first error is the one to tell.
            _ => drop(run_files::remove(&partial)),
        }
        placed
    }

    /// Removes a run's files and their folder; somebody's other files in it stay.
    ///
    /// # Errors
    /// [`Error::Io`] where the system refuses.
    pub fn remove(dir: &Path) -> Result<(), Error> {
        run_files::remove(dir)
    }

    /// The run, once every table of it is what was written.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`], with the table.
    pub fn checked(self) -> Result<Self, Error> {
        for table in &self.tables {
            self.open_table(table)?;
        }
        Ok(self)
    }

    /// What decides its result, where its writer said so.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Puts the same files into another folder, once they are what was written.
    pub(crate) fn copy_into(&self, dir: &Path) -> Result<RunSummary, Error> {
        fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
        for table in &self.tables {
            let mut table_file = self.open_table(table)?;
            let to = dir.join(&table.name);
            // Nobody changes a table's file once it is written, so one file may have two names.
            if fs::hard_link(self.dir.join(&table.name), &to).is_err() {
                copy_through(&mut table_file, &to).map_err(Error::io("write", &to))?;
            }
        }
        let run = self.dir.join(RUN);
        let bytes = fs::read(&run).map_err(Error::io("read", &run))?;
        write_whole(&dir.join(RUN), &bytes)?;
        Ok(self.summary.clone())
    }

    /// All of the run, with times to the nanosecond.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn record(mut self) -> Result<RunRecord, Error> {
        let (flows, sessions) = (self.flows()?, self.sessions()?);
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
            requests: self.requests()?,
            sessions,
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

    /// The run's flows in the order of their numbers, with times to the nanosecond. Classes that
    /// `run.json` does not name are added to [`StoredRun::classes`].
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn flows(&mut self) -> Result<Vec<FlowRecord>, Error> {
        let mut flows = Vec::new();
        self.each_flow(|flow| flows.push(flow))?;
        Ok(flows)
    }

    /// Gives each of the run's flows to `each`, as [`StoredRun::flows`] does all of them: in memory are
    /// never more than some hundred thousand.
    ///
    /// # Errors
    /// As [`StoredRun::flows`].
    pub fn each_flow(&mut self, each: impl FnMut(FlowRecord)) -> Result<(), Error> {
        let mut classes = std::mem::take(&mut self.classes);
        let read = self.read(TableKind::Flows, &mut classes, each);
        self.classes = classes;
        read
    }

    /// The run's requests in the order of their numbers, with times to the nanosecond; empty for a
    /// workload without any.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn requests(&self) -> Result<Vec<RequestRecord>, Error> {
        self.all(TableKind::Requests)
    }

    /// Receivers of storage sessions, session by session; empty when there were none. Classes as for
    /// [`StoredRun::flows`].
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

    /// Every port's totals; empty when none were recorded.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn ports(&self) -> Result<Vec<PortTotals>, Error> {
        self.all(TableKind::Ports)
    }

    /// Every host and switch; empty when none were recorded, and in what earlier versions wrote.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn nodes(&self) -> Result<Vec<NodeRecord>, Error> {
        self.all(TableKind::Nodes)
    }

    /// Every port's link; empty when none were recorded.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn topology(&self) -> Result<Vec<TopologyLink>, Error> {
        self.all(TableKind::Topology)
    }

    /// Links in trouble; empty when none were.
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

    /// Queue samples; empty when none were taken.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn queues(&self) -> Result<Vec<QueueSample>, Error> {
        self.all(TableKind::Queues)
    }

    /// Link samples; empty when none were taken.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn links(&self) -> Result<Vec<LinkSample>, Error> {
        self.all(TableKind::Links)
    }

    /// All rows of a table without classes.
    fn all<R: Row>(&self, kind: TableKind) -> Result<Vec<R>, Error> {
        let mut rows = Vec::new();
        self.read(kind, &mut Vec::new(), |row| rows.push(row))?;
        Ok(rows)
    }

    /// Gives the rows of a table to `each`; none where the run has no such table. Classes that `classes`
    /// lacks are added to it.
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

    /// A table's file, once it is what was written.
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

/// Whether a folder could not be put in its place because another one is there.
fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty)
}

pub(crate) fn read_manifest(dir: &Path) -> Result<Manifest, Error> {
    let path = dir.join(MANIFEST);
    let value: serde_json::Value = read_json(&path)?;
    // The schema's number first: another version's manifest may have another shape.
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
