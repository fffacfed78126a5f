//! Running a case: nobody else does so meanwhile, and its result is there whole or not at all.

use crate::error::Error;
use crate::failed::Failure;
use crate::holder::{Holder, mark};
use crate::layout::DONE;
use crate::lock::{Lock, Taken};
use crate::plan::{Program, case_of};
use crate::study_dir::StudyDir;
use std::any::Any;
use std::collections::HashSet;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut_record::{PackedRun, RunSummary, StoredRun, WrittenRun};
use tailcut_scenario::Study;
use tailcut_scenario::sim::{self, RunConfig, RunControl, RunError};

/// Runs the cases of a study, one after the other.
#[derive(Debug)]
pub struct Runner<'a> {
    dir: &'a StudyDir,
    study: Study,
    by: Program,
    /// Cases that were done when it began.
    done: HashSet<String>,
}

/// What became of a case.
#[derive(Clone, PartialEq, Debug)]
pub enum Ran {
    /// It was run, and its result is in its place.
    Done(Box<RunSummary>),
    /// It was done before, or by another process meanwhile.
    DoneAlready,
    /// It failed.
    Failed(Box<Failure>),
    /// It failed before, and is not run again unless somebody asks for that.
    FailedBefore(Box<Failure>),
    /// Another process is at it; `None` where that has not said yet who it is.
    Busy(Option<Box<Holder>>),
    /// It was stopped, and waits as before.
    Stopped,
}

impl StudyDir {
    /// What runs the cases in this process, which is `by`.
    ///
    /// # Errors
    /// What this version of the program refuses of the plan's scenario, or a file of it that is damaged.
    pub fn runner(&self, by: Program) -> Result<Runner<'_>, Error> {
        Ok(Runner {
            study: self.plan().study(self.path())?,
            done: self.names_in(DONE)?,
            dir: self,
            by,
        })
    }

    /// Whether the result of a case is there.
    pub(crate) fn is_done(&self, hash: &str) -> bool {
        // On NFS a folder's names are fresh once the folder has been opened.
        let _ = File::open(self.path().join(DONE));
        self.result(hash).exists()
    }
}

impl Runner<'_> {
    /// Runs the case at a place, unless it is done, has failed or is being run.
    ///
    /// # Errors
    /// [`Error::Places`]; [`Error::Changed`] where this program makes another run of it than was planned;
    /// what the system refuses. What goes wrong with the run itself is no error but a
    /// [failure](Ran::Failed).
    pub fn run(&self, place: usize, control: &dyn RunControl) -> Result<Ran, Error> {
        let dir = self.dir;
        let case = dir.case(place)?;
        if self.done.contains(&case.hash) {
            return Ok(Ran::DoneAlready);
        }
        if let Some(ended) = self.ended(&case.hash)? {
            return Ok(ended);
        }
        let lock = match Lock::take(&dir.case_lock(&case.hash), &dir.clock)? {
            Taken::Mine(lock) => lock,
            Taken::Theirs(by) => return Ok(Ran::Busy(by.map(Box::new))),
        };
        // Whoever had the lock may have ended the case.
        if let Some(ended) = self.ended(&case.hash)? {
            return Ok(ended);
        }
        if case_of(&self.study, place).is_none_or(|made| made.hash != case.hash) {
            return Err(Error::Changed {
                path: dir.path().to_owned(),
                case: place,
            });
        }
        let config = &self.study.runs[place];
        let run = catch_unwind(AssertUnwindSafe(|| {
            sim::run_packed(config, control, &mut ())
        }));
        let ran = match run {
            Ok(Ok(record)) => self.keep(place, &record)?,
            Ok(Err(RunError::Stopped)) => Ran::Stopped,
            Ok(Err(error)) => self.fail(place, &error.to_string())?,
            Err(panic) => self.fail(place, &format!("panic: {}", message(&*panic)))?,
        };
        drop(lock);
        Ok(ran)
    }

    /// What has become of a case before.
    fn ended(&self, hash: &str) -> Result<Option<Ran>, Error> {
        if self.dir.is_done(hash) {
            return Ok(Some(Ran::DoneAlready));
        }
        let failure = self.dir.failure_of(hash)?;
        Ok(failure.map(|failure| Ran::FailedBefore(Box::new(failure))))
    }

    /// What is run at a place.
    pub fn config(&self, place: usize) -> Option<&RunConfig> {
        self.study.runs.get(place)
    }

    fn keep(&self, place: usize, record: &PackedRun) -> Result<Ran, Error> {
        let case = self.dir.case(place)?;
        let origin = self.study.origin(place, &self.by.build);
        let result = self.dir.result(&case.hash);
        let written = StoredRun::write(&result, &mark(), self.study.format, origin, record)?;
        Ok(match written {
            WrittenRun::Here(summary) => Ran::Done(summary),
            WrittenRun::ThereAlready => Ran::DoneAlready,
        })
    }

    fn fail(&self, place: usize, error: &str) -> Result<Ran, Error> {
        let failure = self.dir.keep_failure(place, error, &self.by)?;
        Ok(Ran::Failed(Box::new(failure)))
    }
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a word")
}
