//! Writing a study into a directory, run by run.

use crate::earlier::{self, Earlier, Found};
use crate::layout::{MANIFEST, RUNS, TableFormat};
use crate::lock::{DirLock, LOCK};
use crate::manifest::{Manifest, ManifestRun, RunState};
use crate::stored::StoredRun;
use crate::whole_file::{PARTIAL, beside, keep_names, write_json};
use crate::{CaptureFile, Error, FlowRows, RunRecord, RunSummary, capture_file, run_files};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A directory that a study is being written to; shared by the threads that run it, and locked
/// against other processes.
///
/// A run is written beside its place and renamed into it: whatever stops the program, the directory
/// holds whole runs, and the next study that plans one of them takes it.
#[derive(Debug)]
pub struct OutputDir {
    path: PathBuf,
    format: TableFormat,
    manifest: Mutex<Manifest>,
    found: Found,
    _lock: DirLock,
}

impl OutputDir {
    /// Makes the directory, or takes it over when it is empty or holds an earlier study, and writes
    /// the manifest. Runs that are there and that the manifest plans are taken; other runs are
    /// moved to
    /// `kept/`, where a later study finds them again.
    ///
    /// # Errors
    /// [`Error::NotAStudy`] for a directory with other files, [`Error::Damaged`] for one whose
    /// manifest cannot be read, [`Error::Locked`] while another process writes into it,
    /// [`Error::Io`] where the system refuses.
    pub fn open(
        path: impl Into<PathBuf>,
        mut manifest: Manifest,
        format: TableFormat,
        earlier: Earlier,
    ) -> Result<Self, Error> {
        let path = path.into();
        let holds_a_study = holds_a_study(&path)?;
        fs::create_dir_all(&path).map_err(Error::io("create", &path))?;
        let lock = DirLock::take(&path)?;
        if holds_a_study && earlier != Earlier::Remove {
            crate::stored::read_manifest(&path)?;
        }
        // First the manifest, in which nothing has finished: it is true at every moment of what
        // follows.
        write_json(&path.join(MANIFEST), &manifest)?;
        if earlier == Earlier::Remove {
            earlier::remove_runs(&path)?;
            capture_file::remove_all(&path)?;
        }
        let runs = path.join(RUNS);
        fs::create_dir_all(&runs).map_err(Error::io("create", &runs))?;
        let found = earlier::take(&path, &mut manifest, earlier)?;
        capture_file::find(&path, &mut manifest)?;
        let output = Self {
            path,
            format,
            manifest: Mutex::new(manifest),
            found,
            _lock: lock,
        };
        output.update_manifest(|_| ())?;
        Ok(output)
    }

    /// [`OutputDir::open`], which takes the runs of the same executable.
    ///
    /// # Errors
    /// As [`OutputDir::open`].
    pub fn create(
        path: impl Into<PathBuf>,
        manifest: Manifest,
        format: TableFormat,
    ) -> Result<Self, Error> {
        Self::open(path, manifest, format, Earlier::SameBuild)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What became of the runs that were there already.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Writes planned run `index`, whole or not at all. Gives the run's summary.
    ///
    /// # Errors
    /// [`Error::UnplannedRun`], or [`Error::Io`] where the system refuses; the runs written before
    /// stay.
    pub fn write_run<F: FlowRows>(
        &self,
        index: usize,
        run: &RunRecord<F>,
    ) -> Result<RunSummary, Error> {
        let planned = self.planned(index)?;
        self.put(index, &planned, |partial| {
            run_files::write(partial, self.format, planned.origin.clone(), run)
        })
    }

    /// Takes planned run `index` from where [`StoredRun::write`] has written it, once its tables are
    /// what was written. Files of one file system are shared, not copied.
    ///
    /// # Errors
    /// As [`OutputDir::write_run`]; [`Error::Damaged`] for tables that are not what was written.
    pub fn take_run(&self, index: usize, from: &StoredRun) -> Result<RunSummary, Error> {
        let planned = self.planned(index)?;
        self.put(index, &planned, |partial| from.copy_into(partial))
    }

    /// Lets `write` fill a folder, and puts it in the place of planned run `index`.
    fn put(
        &self,
        index: usize,
        planned: &ManifestRun,
        write: impl FnOnce(&Path) -> Result<RunSummary, Error>,
    ) -> Result<RunSummary, Error> {
        let runs = self.path.join(RUNS);
        let dir = runs.join(&planned.id);
        let partial = beside(&dir);
        let written = write(&partial).and_then(|summary| {
            fs::rename(&partial, &dir).map_err(Error::io("write", &dir))?;
            Ok(summary)
        });
        if written.is_err() {
            // The first error is the one to tell.
            let _ = run_files::remove(&partial);
        }
        let summary = written?;
        keep_names(&runs);
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        manifest.runs[index].state = RunState::Finished;
        Ok(summary)
    }

    fn planned(&self, index: usize) -> Result<ManifestRun, Error> {
        let manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        let planned = manifest.runs.len();
        let run = manifest.runs.get(index).cloned();
        run.ok_or(Error::UnplannedRun { index, planned })
    }

    /// Begins the capture of planned run `index`.
    ///
    /// # Errors
    /// [`Error::UnplannedRun`], or [`Error::Io`] where the system refuses.
    pub fn begin_capture(&self, index: usize) -> Result<CaptureFile, Error> {
        CaptureFile::create(&self.path, &self.planned(index)?.id)
    }

    /// Keeps the capture of planned run `index`, in place of an earlier one. Gives its path.
    ///
    /// # Errors
    /// [`Error::UnplannedRun`], or [`Error::Io`] where the system refuses; an earlier capture stays.
    pub fn keep_capture(&self, index: usize, file: CaptureFile) -> Result<PathBuf, Error> {
        self.planned(index)?;
        let name = file.keep()?;
        let path = self.path.join(&name);
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        manifest.runs[index].capture = Some(name);
        Ok(path)
    }

    /// Writes into the manifest how far each run came: those that have not finished are
    /// interrupted. Says how many of how many have finished.
    ///
    /// # Errors
    /// [`Error::Io`] where the system refuses.
    pub fn conclude(&self) -> Result<(usize, usize), Error> {
        self.update_manifest(|manifest| {
            for run in &mut manifest.runs {
                if run.state == RunState::Planned {
                    run.state = RunState::Interrupted;
                }
            }
            (manifest.count(RunState::Finished), manifest.runs.len())
        })
    }

    fn update_manifest<T>(&self, change: impl FnOnce(&mut Manifest) -> T) -> Result<T, Error> {
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut manifest);
        write_json(&self.path.join(MANIFEST), &*manifest)?;
        Ok(result)
    }
}

/// Whether `path` is the directory of a study; it may also be new or empty.
fn holds_a_study(path: &Path) -> Result<bool, Error> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io("open", path)(error)),
    };
    if path.join(MANIFEST).exists() {
        return Ok(true);
    }
    // What a program leaves that is killed before its first manifest is written.
    let first = [LOCK.to_owned(), format!("{MANIFEST}{PARTIAL}")];
    for entry in entries {
        let entry = entry.map_err(Error::io("read", path))?;
        if !first.iter().any(|name| entry.file_name() == name.as_str()) {
            return Err(Error::NotAStudy {
                path: path.to_owned(),
            });
        }
    }
    Ok(false)
}
