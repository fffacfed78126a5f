//! Execution of cases. Only one process at a time runs a case, and its result appears completely or not at all.

use crate::error::Error;
use crate::failed::Failure;
use crate::holder::{Holder, mark};
use crate::layout::DONE;
use crate::lock::{Lock, LockAttempt};
use crate::plan::{Program, case_of};
use crate::study_dir::StudyDir;
use std::any::Any;
use std::collections::HashSet;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut_record::{PackedRun, RunSummary, StoredRun, WrittenRun};
use tailcut_scenario::Study;
use tailcut_scenario::sim::{self, RunConfig, RunControl, RunError};

/// Runner of a study's cases. The runner executes one case at a time.
#[derive(Debug)]
pub struct Runner<'a> {
    dir: &'a StudyDir,
    study: Study,
    by: Program,
    /// Hashes of the cases that were done at the start.
    done: HashSet<String>,
}

/// Outcome of a case.
#[derive(Clone, PartialEq, Debug)]
pub enum CaseOutcome {
    /// The case was run, and its result is stored.
    Done(Box<RunSummary>),
    /// The case was already done, or another process finished it in the meantime.
    DoneAlready,
    /// The case failed.
    Failed(Box<Failure>),
    /// The case failed earlier, and runs again only after a retry.
    FailedBefore(Box<Failure>),
    /// A different process is running the case. `None` if the lock does not contain that process yet.
    Busy(Option<Box<Holder>>),
    /// The case was stopped before its end. A later process can run the case.
    Stopped,
}

impl StudyDir {
    /// Returns a runner for the cases. `by` is this program.
    ///
    /// # Errors
    /// An error in the plan's scenario for this version of the program, or a damaged file of the scenario.
    pub fn runner(&self, by: Program) -> Result<Runner<'_>, Error> {
        Ok(Runner {
            study: self.plan().study(self.path())?,
            done: self.names_in(DONE)?,
            dir: self,
            by,
        })
    }

    /// Returns whether the result of a case exists.
    pub(crate) fn is_done(&self, hash: &str) -> bool {
        // An NFS client reads the names in a folder from the server when it opens the folder.
        let _ = File::open(self.path().join(DONE));
        self.result(hash).exists()
    }
}

impl Runner<'_> {
    /// Runs the case with index `place`, unless the case is done, has failed or is running.
    ///
    /// # Errors
    /// [`Error::Places`], or a failed system call. A failed run is the outcome [`CaseOutcome::Failed`], not an error.
    /// [`Error::Changed`] if this program derives another run for the case than the program that planned the study.
    pub fn run(&self, place: usize, control: &dyn RunControl) -> Result<CaseOutcome, Error> {
        let dir = self.dir;
        let case = dir.case(place)?;
        if self.done.contains(&case.hash) {
            return Ok(CaseOutcome::DoneAlready);
        }
        if let Some(ended) = self.ended(&case.hash)? {
            return Ok(ended);
        }
        let lock = match Lock::take(&dir.case_lock(&case.hash), &dir.clock)? {
            LockAttempt::Acquired(lock) => lock,
            LockAttempt::HeldBy(by) => return Ok(CaseOutcome::Busy(by.map(Box::new))),
        };
        // The previous holder of the lock may have finished the case.
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
            Ok(Err(RunError::Stopped)) => CaseOutcome::Stopped,
            Ok(Err(error)) => self.fail(place, &error.to_string())?,
            Err(panic) => self.fail(place, &format!("panic: {}", message(&*panic)))?,
        };
        drop(lock);
        Ok(ran)
    }

    /// Returns the outcome of a case that ended earlier. `None` if the case has not ended.
    fn ended(&self, hash: &str) -> Result<Option<CaseOutcome>, Error> {
        if self.dir.is_done(hash) {
            return Ok(Some(CaseOutcome::DoneAlready));
        }
        let failure = self.dir.failure_of(hash)?;
        Ok(failure.map(|failure| CaseOutcome::FailedBefore(Box::new(failure))))
    }

    /// Returns the run configuration of the case with index `place`.
    pub fn config(&self, place: usize) -> Option<&RunConfig> {
        self.study.runs.get(place)
    }

    fn keep(&self, place: usize, record: &PackedRun) -> Result<CaseOutcome, Error> {
        let case = self.dir.case(place)?;
        let origin = self.study.origin(place, &self.by.build);
        let result = self.dir.result(&case.hash);
        let written = StoredRun::write(&result, &mark(), self.study.format, origin, record)?;
        Ok(match written {
            WrittenRun::Here(summary) => CaseOutcome::Done(summary),
            WrittenRun::ThereAlready => CaseOutcome::DoneAlready,
        })
    }

    fn fail(&self, place: usize, error: &str) -> Result<CaseOutcome, Error> {
        let failure = self.dir.keep_failure(place, error, &self.by)?;
        Ok(CaseOutcome::Failed(Box::new(failure)))
    }
}

/// Returns the message of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message")
}
