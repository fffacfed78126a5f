//! Retries of failed cases, and removal of files that a study no longer needs.

use crate::error::Error;
use crate::layout::{DONE, FAILED, FILES, JOBS, LOCK_END, LOCKS, PARTIAL_END};
use crate::lock::{LOCK_TIMEOUT, LockFile};
use crate::status::CaseState;
use crate::study_dir::StudyDir;
use serde::Serialize;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tailcut_record::StoredRun;

/// Files and folders of a study's directory that the plan no longer needs.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Prunable {
    /// Results of cases that are not in the plan.
    pub results: Vec<PathBuf>,
    /// Failures of cases that are not in the plan or are done.
    pub failures: Vec<PathBuf>,
    /// Files that the scenario does not read.
    pub files: Vec<PathBuf>,
    /// Unfinished files and folders that have not been written for [`LOCK_TIMEOUT`].
    pub partial: Vec<PathBuf>,
    /// Locks of processes that have ended or have been silent for too long.
    pub locks: Vec<PathBuf>,
    /// Outputs of jobs that have not been written for [`LOCK_TIMEOUT`]. Empty while a process is running a case.
    pub printed: Vec<PathBuf>,
}

impl Prunable {
    /// Returns the number of paths.
    pub fn count(&self) -> usize {
        let all = [
            &self.results,
            &self.failures,
            &self.files,
            &self.partial,
            &self.locks,
            &self.printed,
        ];
        all.into_iter().map(Vec::len).sum()
    }
}

impl StudyDir {
    /// Removes the failures of cases, so that the failed cases run again. Returns the indices of the cases.
    ///
    /// # Errors
    /// [`Error::Locked`], or a failed system call.
    pub fn retry(&self) -> Result<Vec<usize>, Error> {
        let _lock = self.lock()?;
        let failed = self.names_in(FAILED)?;
        let mut again = Vec::new();
        for (place, case) in self.plan().cases.iter().enumerate() {
            if failed.contains(&case.hash) && !self.is_done(&case.hash) {
                remove_file(&self.failure(&case.hash))?;
                again.push(place);
            }
        }
        Ok(again)
    }

    /// Returns the files and folders that can be removed.
    ///
    /// # Errors
    /// A failed system call.
    pub fn prunable(&self) -> Result<Prunable, Error> {
        let plan = self.plan();
        let planned: HashSet<&str> = plan.cases.iter().map(|case| case.hash.as_str()).collect();
        let read: HashSet<&str> = plan.scenario.files.values().map(String::as_str).collect();
        let done = self.names_in(DONE)?;
        let mut found = Prunable::default();
        for folder in [DONE, FAILED, FILES, LOCKS] {
            for name in self.entries(folder)? {
                let path = self.path().join(folder).join(&name);
                let hash = name.split('.').next().unwrap_or_default();
                let is_planned = planned.contains(hash);
                if name.ends_with(PARTIAL_END) {
                    // A large table takes long to write.
                    // The file of the table is not removed as long as the lock of its case is not stale.
                    let lock = LockFile::at(&self.case_lock(hash), &self.clock)?;
                    let is_written = lock.is_some_and(|lock| !lock.is_stale());
                    if !is_written && self.is_silent(&path)? {
                        found.partial.push(path);
                    }
                    continue;
                }
                match folder {
                    DONE if !is_planned => found.results.push(path),
                    FAILED if !is_planned || done.contains(hash) => found.failures.push(path),
                    FILES if !read.contains(name.as_str()) => found.files.push(path),
                    LOCKS if name.ends_with(LOCK_END) => {
                        let file = LockFile::at(&path, &self.clock)?;
                        if file.is_some_and(|file| file.is_stale()) {
                            found.locks.push(path);
                        }
                    }
                    // The folder of locks also has claims to stale locks, and files with the file system's clock.
                    LOCKS if self.is_silent(&path)? => found.locks.push(path),
                    _ => {}
                }
            }
        }
        let states = self.states(0..plan.cases.len())?;
        let is_run = |state: &CaseState| matches!(state, CaseState::Running(_));
        if !states.iter().any(is_run) {
            for name in self.entries(JOBS)? {
                let path = self.path().join(JOBS).join(name);
                if self.is_silent(&path)? {
                    found.printed.push(path);
                }
            }
        }
        Ok(found)
    }

    /// Removes the paths in `found` that can still be removed.
    ///
    /// # Errors
    /// [`Error::Locked`], or a failed system call.
    pub fn prune(&self, found: &Prunable) -> Result<(), Error> {
        let _lock = self.lock()?;
        // Another process may have written a new plan or run a case in the meantime.
        let now = Self::open(self.path())?.prunable()?;
        let in_both = |found: &[PathBuf], now: &[PathBuf]| -> Vec<PathBuf> {
            let found: HashSet<&PathBuf> = found.iter().collect();
            let both = now.iter().filter(|path| found.contains(path));
            both.cloned().collect()
        };
        for run in in_both(&found.results, &now.results) {
            StoredRun::remove(&run)?;
        }
        for path in in_both(&found.partial, &now.partial) {
            match path.is_dir() {
                true => StoredRun::remove(&path)?,
                false => remove_file(&path)?,
            }
        }
        for (found, now) in [
            (&found.failures, &now.failures),
            (&found.files, &now.files),
            (&found.locks, &now.locks),
            (&found.printed, &now.printed),
        ] {
            for path in in_both(found, now) {
                remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Returns whether the path has not been written for [`LOCK_TIMEOUT`].
    /// Returns `false` if the path no longer exists.
    fn is_silent(&self, path: &Path) -> Result<bool, Error> {
        match fs::metadata(path).and_then(|about| about.modified()) {
            Ok(written) => Ok(self.clock.since(written) > LOCK_TIMEOUT),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io("read", path)(error)),
        }
    }
}

fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}
