//! Directory of a study.

use crate::clock::Clock;
use crate::error::Error;
use crate::layout::{DONE, FAILED, FAILED_END, FILES, FOLDERS, JOBS, LOCK, LOCK_END, LOCKS, PLAN};
use crate::lock::{Lock, LockAttempt};
use crate::places;
use crate::plan::{Draft, Plan, PlannedCase};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tailcut_record::{write_json, write_whole};

/// Directory of a study: its plan, and the states of its cases.
#[derive(Debug)]
pub struct StudyDir {
    path: PathBuf,
    plan: Plan,
    pub(crate) clock: Clock,
}

/// Results that a directory already contains, compared with a new plan.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ExistingResults {
    /// Cases of the plan that are already done.
    pub done: usize,
    /// Cases of the plan that have failed.
    pub failed: usize,
    /// Results of cases that are not in the plan.
    pub left_over: usize,
    /// Expected CPU time of all unfinished cases, in seconds. `None` if the time of an unfinished case is unknown.
    pub cpu_seconds_to_go: Option<f64>,
}

impl StudyDir {
    /// Opens a study that was planned earlier.
    ///
    /// # Errors
    /// [`Error::NoStudy`], or a plan that cannot be read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let plan = Plan::read(&path)?;
        Ok(Self::with(path, plan))
    }

    fn with(path: PathBuf, plan: Plan) -> Self {
        Self {
            clock: Clock::of(path.join(LOCKS)),
            path,
            plan,
        }
    }

    /// Writes a plan into a directory that is new, empty or the directory of a study.
    /// Finished cases of the study keep their results.
    ///
    /// # Errors
    /// [`Error::OtherFiles`], [`Error::Locked`], or a failed system call.
    pub fn write(path: impl Into<PathBuf>, draft: Draft) -> Result<(Self, ExistingResults), Error> {
        let path = path.into();
        Self::check_free(&path)?;
        for folder in FOLDERS {
            let folder = path.join(folder);
            fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        }
        let dir = Self::with(path, draft.plan);
        let _lock = dir.lock()?;
        for (hash, bytes) in &draft.files {
            let file = dir.path.join(FILES).join(hash);
            if fs::read(&file).ok().as_ref() != Some(bytes) {
                write_whole(&file, bytes)?;
            }
        }
        // The plan is written last, so that a process that finds it also finds the scenario's files.
        write_json(&dir.path.join(PLAN), &dir.plan)?;
        let found = dir.found()?;
        Ok((dir, found))
    }

    /// Returns the results that a directory already contains, compared with a plan.
    /// The directory is new, empty or the directory of a study. Writes nothing.
    ///
    /// # Errors
    /// [`Error::OtherFiles`], or a failed system call.
    pub fn inspect(path: impl Into<PathBuf>, draft: &Draft) -> Result<ExistingResults, Error> {
        let path = path.into();
        Self::check_free(&path)?;
        Self::with(path, draft.plan.clone()).found()
    }

    fn found(&self) -> Result<ExistingResults, Error> {
        let (done, failed) = (self.names_in(DONE)?, self.names_in(FAILED)?);
        let cases = &self.plan.cases;
        let planned: HashSet<&str> = cases.iter().map(|one| one.hash.as_str()).collect();
        let to_go = || cases.iter().filter(|case| !done.contains(&case.hash));
        Ok(ExistingResults {
            done: cases.len() - to_go().count(),
            failed: to_go().filter(|case| failed.contains(&case.hash)).count(),
            left_over: done
                .iter()
                .filter(|name| !planned.contains(name.as_str()))
                .count(),
            cpu_seconds_to_go: to_go().map(|case| case.cpu_seconds).sum(),
        })
    }

    /// Checks that a directory is new, empty or the directory of a study.
    ///
    /// # Errors
    /// [`Error::OtherFiles`], or a failed system call.
    pub fn check_free(path: &Path) -> Result<(), Error> {
        if path.join(PLAN).exists() {
            return Ok(());
        }
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::io("open", path)(error)),
        };
        // A program that was killed before it wrote its first plan may have left folders, locks or parts of a plan.
        let own = |name: &str| {
            FOLDERS.contains(&name) || name.starts_with(LOCK) || name.starts_with(PLAN)
        };
        for entry in entries {
            let entry = entry.map_err(Error::io("read", path))?;
            if !entry.file_name().to_str().is_some_and(own) {
                return Err(Error::OtherFiles {
                    path: path.to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the indices of the cases that a text selects, in order. Without a text, returns all indices.
    /// The text is `I`, `I..J`, `I..` or `..J`, or several parts with commas. A range includes both ends.
    ///
    /// # Errors
    /// [`Error::Places`].
    pub fn places(&self, text: Option<&str>) -> Result<Vec<usize>, Error> {
        let cases = self.plan.cases.len();
        text.map_or_else(
            || Ok((0..cases).collect()),
            |text| places::read(text, cases),
        )
    }

    /// Returns the case with index `place`.
    ///
    /// # Errors
    /// [`Error::Places`].
    pub fn case(&self, place: usize) -> Result<&PlannedCase, Error> {
        self.plan.cases.get(place).ok_or_else(|| Error::Places {
            found: place.to_string(),
            cases: self.plan.cases.len(),
        })
    }

    /// Returns the folder for the output of jobs under an engine such as Slurm, and creates it if necessary.
    ///
    /// # Errors
    /// A failed system call.
    pub fn jobs(&self) -> Result<PathBuf, Error> {
        let folder = self.path.join(JOBS);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        Ok(folder)
    }

    /// Takes the lock of the directory. A process needs it to plan, collect, retry or prune.
    pub(crate) fn lock(&self) -> Result<Lock, Error> {
        match Lock::take(&self.path.join(LOCK), &self.clock)? {
            LockAttempt::Acquired(lock) => Ok(lock),
            LockAttempt::HeldBy(by) => Err(Error::Locked {
                path: self.path.clone(),
                by: by.map(Box::new),
            }),
        }
    }

    /// Returns the path of a case's result.
    pub(crate) fn result(&self, hash: &str) -> PathBuf {
        self.path.join(DONE).join(hash)
    }

    /// Returns the path of a case's failure.
    pub(crate) fn failure(&self, hash: &str) -> PathBuf {
        self.path.join(FAILED).join(format!("{hash}{FAILED_END}"))
    }

    /// Returns the path of a case's lock.
    pub(crate) fn case_lock(&self, hash: &str) -> PathBuf {
        self.path.join(LOCKS).join(format!("{hash}{LOCK_END}"))
    }

    /// Returns the names of the finished files in a folder, each up to its first dot.
    pub(crate) fn names_in(&self, folder: &str) -> Result<HashSet<String>, Error> {
        let entries = self.entries(folder)?.into_iter();
        let whole = entries.filter(|name| !name.ends_with(crate::layout::PARTIAL_END));
        let names = whole.map(|name| name.split('.').next().unwrap_or_default().to_owned());
        Ok(names.collect())
    }

    /// Returns all names in a folder.
    pub(crate) fn entries(&self, folder: &str) -> Result<Vec<String>, Error> {
        let path = self.path.join(folder);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("open", &path)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io("read", &path))?;
            names.extend(entry.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }
}
