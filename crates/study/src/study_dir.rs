//! The directory of a study.

use crate::clock::Clock;
use crate::error::Error;
use crate::layout::{DONE, FAILED, FAILED_END, FILES, FOLDERS, JOBS, LOCK, LOCK_END, LOCKS, PLAN};
use crate::lock::{Lock, Taken};
use crate::places;
use crate::plan::{Draft, Plan, PlannedCase};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tailcut_record::{write_json, write_whole};

/// The directory of a study: its plan, and what has become of its cases.
#[derive(Debug)]
pub struct StudyDir {
    path: PathBuf,
    plan: Plan,
    pub(crate) clock: Clock,
}

/// What a new plan finds in its directory.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Found {
    /// Cases of the plan that are done already.
    pub done: usize,
    /// Those that have failed.
    pub failed: usize,
    /// Results of cases that are not planned.
    pub left_over: usize,
    /// The CPU time that all cases which are not done are expected to take, in seconds; `None` where that
    /// cannot be told.
    pub cpu_seconds_to_go: Option<f64>,
}

impl StudyDir {
    /// Opens a study that was planned before.
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

    /// Writes a plan into a directory that is new, empty or that of a study. Cases that are there already
    /// keep what they have.
    ///
    /// # Errors
    /// [`Error::OtherFiles`], [`Error::Locked`], or what the system refuses.
    pub fn write(path: impl Into<PathBuf>, draft: Draft) -> Result<(Self, Found), Error> {
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
        write_json(&dir.path.join(PLAN), &dir.plan)?;
        let found = dir.found()?;
        Ok((dir, found))
    }

    /// What a plan would find in a directory that is new, empty or that of a study.
    ///
    /// # Errors
    /// [`Error::OtherFiles`], or what the system refuses.
    pub fn look(path: impl Into<PathBuf>, draft: &Draft) -> Result<Found, Error> {
        let path = path.into();
        Self::check_free(&path)?;
        Self::with(path, draft.plan.clone()).found()
    }

    fn found(&self) -> Result<Found, Error> {
        let (done, failed) = (self.names_in(DONE)?, self.names_in(FAILED)?);
        let cases = &self.plan.cases;
        let planned: HashSet<&str> = cases.iter().map(|one| one.hash.as_str()).collect();
        let to_go = || cases.iter().filter(|case| !done.contains(&case.hash));
        Ok(Found {
            done: cases.len() - to_go().count(),
            failed: to_go().filter(|case| failed.contains(&case.hash)).count(),
            left_over: done
                .iter()
                .filter(|name| !planned.contains(name.as_str()))
                .count(),
            cpu_seconds_to_go: to_go().map(|case| case.cpu_seconds).sum(),
        })
    }

    /// Refuses a directory with files of others.
    ///
    /// # Errors
    /// [`Error::OtherFiles`], or what the system refuses.
    pub fn check_free(path: &Path) -> Result<(), Error> {
        if path.join(PLAN).exists() {
            return Ok(());
        }
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::io("open", path)(error)),
        };
        // What a program leaves that is killed before its first plan is written.
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

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The places that a text names, in order: `I`, `I..J` with both ends, `I..`, `..J`, or several of these
    /// with commas between; all of them without one.
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

    /// The case at a place.
    ///
    /// # Errors
    /// [`Error::Places`].
    pub fn case(&self, place: usize) -> Result<&PlannedCase, Error> {
        self.plan.cases.get(place).ok_or_else(|| Error::Places {
            found: place.to_string(),
            cases: self.plan.cases.len(),
        })
    }

    /// The folder for what jobs of the study print under an engine such as Slurm, which is made where it is
    /// not there.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn jobs(&self) -> Result<PathBuf, Error> {
        let folder = self.path.join(JOBS);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        Ok(folder)
    }

    /// Takes the lock that keeps plans, collections and removals apart.
    pub(crate) fn lock(&self) -> Result<Lock, Error> {
        match Lock::take(&self.path.join(LOCK), &self.clock)? {
            Taken::Mine(lock) => Ok(lock),
            Taken::Theirs(by) => Err(Error::Locked {
                path: self.path.clone(),
                by: by.map(Box::new),
            }),
        }
    }

    /// Where the result of a case is, once it is done.
    pub(crate) fn result(&self, hash: &str) -> PathBuf {
        self.path.join(DONE).join(hash)
    }

    /// Where the failure of a case is, once it has failed.
    pub(crate) fn failure(&self, hash: &str) -> PathBuf {
        self.path.join(FAILED).join(format!("{hash}{FAILED_END}"))
    }

    /// Where the lock of a case is while it is run.
    pub(crate) fn case_lock(&self, hash: &str) -> PathBuf {
        self.path.join(LOCKS).join(format!("{hash}{LOCK_END}"))
    }

    /// The names in a folder up to their first dot, without those of what is being written.
    pub(crate) fn names_in(&self, folder: &str) -> Result<HashSet<String>, Error> {
        let entries = self.entries(folder)?.into_iter();
        let whole = entries.filter(|name| !name.ends_with(crate::layout::PARTIAL_END));
        let names = whole.map(|name| name.split('.').next().unwrap_or_default().to_owned());
        Ok(names.collect())
    }

    /// All names in a folder.
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
