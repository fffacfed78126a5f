//! Writer of a study's directory.

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

/// Directory to which a study is written. The threads of a process share the directory.
/// A lock excludes other processes.
///
/// A run is written under a temporary name and renamed when it is complete.
/// The directory therefore contains only complete runs, even if the program is killed.
/// The next study that plans a stored run reuses the run.
#[derive(Debug)]
pub struct OutputDir {
    path: PathBuf,
    format: TableFormat,
    manifest: Mutex<Manifest>,
    found: Found,
    _lock: DirLock,
}

impl OutputDir {
    /// Creates the directory, or opens it if it is empty or contains an earlier study, and writes the manifest.
    /// Existing runs that the manifest plans are reused.
    /// Other runs are moved to `kept/`, where a later study finds them.
    ///
    /// # Errors
    /// [`Error::NotAStudy`] if the directory contains other files.
    /// [`Error::Damaged`] if the manifest of the directory cannot be read.
    /// [`Error::Locked`] while another process writes to the directory.
    /// [`Error::Io`] if the operating system reports an error.
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
        // The first manifest lists all runs as not finished.
        // The first manifest is therefore correct, even if the program is killed in one of the next steps.
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

    /// Calls [`OutputDir::open`] with [`Earlier::SameBuild`].
    ///
    /// # Errors
    /// The errors of [`OutputDir::open`].
    pub fn create(
        path: impl Into<PathBuf>,
        manifest: Manifest,
        format: TableFormat,
    ) -> Result<Self, Error> {
        Self::open(path, manifest, format, Earlier::SameBuild)
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the reused, moved and damaged runs of earlier studies.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Writes planned run `index`, completely or not at all. Returns the run's summary.
    ///
    /// # Errors
    /// [`Error::UnplannedRun`], or [`Error::Io`] if the operating system reports an error.
    /// Runs that are already written stay.
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

    /// Copies planned run `index` from a directory that [`StoredRun::write`] has written.
    /// The checksums of the tables are checked first. Within one file system, the files are linked instead of copied.
    ///
    /// # Errors
    /// The errors of [`OutputDir::write_run`]; [`Error::Damaged`] if a table was changed after writing.
    pub fn take_run(&self, index: usize, from: &StoredRun) -> Result<RunSummary, Error> {
        let planned = self.planned(index)?;
        self.put(index, &planned, |partial| from.copy_into(partial))
    }

    /// Calls `write` with a temporary directory and moves that directory to the path of planned run `index`.
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
            // The error of the write is reported.
            // An error of this removal is ignored, because it would hide the error of the write.
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

    /// Starts the capture of planned run `index`.
    ///
    /// # Errors
    /// [`Error::UnplannedRun`], or [`Error::Io`] if the operating system reports an error.
    pub fn begin_capture(&self, index: usize) -> Result<CaptureFile, Error> {
        CaptureFile::create(&self.path, &self.planned(index)?.id)
    }

    /// Keeps the capture of planned run `index` in place of an earlier capture. Returns the path of the capture.
    ///
    /// # Errors
    /// [`Error::UnplannedRun`], or [`Error::Io`] if the operating system reports an error.
    /// After an error, an earlier capture stays.
    pub fn keep_capture(&self, index: usize, file: CaptureFile) -> Result<PathBuf, Error> {
        self.planned(index)?;
        let name = file.keep()?;
        let path = self.path.join(&name);
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        manifest.runs[index].capture = Some(name);
        Ok(path)
    }

    /// Writes the final states of all runs to the manifest. Runs that have not finished become interrupted runs.
    /// Returns the number of finished runs and the number of all runs.
    ///
    /// # Errors
    /// [`Error::Io`] if the operating system reports an error.
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

/// Returns whether `path` contains a study. A missing or an empty directory is not an error.
fn holds_a_study(path: &Path) -> Result<bool, Error> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io("open", path)(error)),
    };
    if path.join(MANIFEST).exists() {
        return Ok(true);
    }
    // A program that is killed before it has written its first manifest leaves a lock and a partial manifest.
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
