//! Running failed cases again, and removing what is no longer needed.

use crate::error::Error;
use crate::layout::{DONE, FAILED, FILES, JOBS, LOCK_END, LOCKS, PARTIAL_END};
use crate::lock::{SILENCE, Seen};
use crate::status::CaseState;
use crate::study_dir::StudyDir;
use serde::Serialize;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tailcut_record::StoredRun;

/// What may be removed of a study's directory without any loss to the plan, by paths.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Prunable {
    /// Results of cases that are not planned.
    pub results: Vec<PathBuf>,
    /// Failures of cases that are not planned, or that are done.
    pub failures: Vec<PathBuf>,
    /// Files that the scenario does not read.
    pub files: Vec<PathBuf>,
    /// What somebody began to write who has been silent for too long.
    pub partial: Vec<PathBuf>,
    /// Locks of processes that have ended, or have been silent for too long.
    pub locks: Vec<PathBuf>,
    /// What jobs printed, where no process is at any case and nothing has been printed for a while.
    pub printed: Vec<PathBuf>,
}

impl Prunable {
    /// How many paths these are.
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
    /// Lets failed cases of the plan be run again. Gives their places.
    ///
    /// # Errors
    /// [`Error::Locked`], or what the system refuses.
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

    /// What may be removed.
    ///
    /// # Errors
    /// What the system refuses.
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
                    // A large table may take its writer a while.
                    let lock = Seen::at(&self.case_lock(hash), &self.clock)?;
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
                        let seen = Seen::at(&path, &self.clock)?;
                        if seen.is_some_and(|seen| seen.is_stale()) {
                            found.locks.push(path);
                        }
                    }
                    // Claims, and what was written to read the clock.
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

    /// Removes what [`StudyDir::prunable`] has found, and what may still be removed by now.
    ///
    /// # Errors
    /// [`Error::Locked`], or what the system refuses.
    pub fn prune(&self, found: &Prunable) -> Result<(), Error> {
        let _lock = self.lock()?;
        // Somebody may have planned again, or run a case.
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

    /// Whether nothing has been written there for a while.
    fn is_silent(&self, path: &Path) -> Result<bool, Error> {
        match fs::metadata(path).and_then(|about| about.modified()) {
            Ok(written) => Ok(self.clock.since(written) > SILENCE),
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
