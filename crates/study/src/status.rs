//! Progress of a study: the states of its cases, and the remaining time.

use crate::error::Error;
use crate::failed::Failure;
use crate::forecast::{Forecast, UnderWay};
use crate::holder::Holder;
use crate::layout::{DONE, FAILED, LOCKS};
use crate::lock::{HEARTBEAT, LockFile};
use crate::study_dir::StudyDir;
use serde::Serialize;
use std::fmt;
use tailcut_record::StoredRun;

/// State of a case.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum CaseState {
    /// The result exists.
    Done,
    /// The case failed, and runs again only after a retry.
    Failed(Box<Failure>),
    /// A process is running the case.
    Running(Box<RunningCase>),
    /// The process that was running the case has ended, or has been silent for too long.
    /// A free process can run the case.
    Stale(Box<RunningCase>),
    /// No process has started the case.
    Waiting,
}

/// Process that holds the lock of a case.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunningCase {
    /// Holder of the lock. `None` if the lock file does not contain the holder yet.
    #[serde(flatten)]
    pub by: Option<Holder>,
    /// Time since the process started the case, in seconds.
    pub seconds: f64,
    /// Time since the last heartbeat of the process, in seconds.
    pub silent_seconds: f64,
}

impl RunningCase {
    pub(crate) fn of(file: LockFile) -> Self {
        let silent = file.silent.as_secs_f64();
        let held = file.holder.as_ref().map_or(0.0, Holder::held_seconds);
        Self {
            by: file.holder,
            seconds: held + silent,
            silent_seconds: silent,
        }
    }
}

impl fmt::Display for RunningCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            Some(holder) => write!(f, "{holder}")?,
            None => f.write_str("a process")?,
        }
        write!(f, ", for {:.0} s", self.seconds)?;
        match self.silent_seconds > 2.0 * HEARTBEAT.as_secs_f64() {
            true => write!(f, ", silent for {:.0} s", self.silent_seconds),
            false => Ok(()),
        }
    }
}

/// Progress of a study.
#[derive(Debug)]
pub struct Status {
    /// State of each case, by index.
    pub states: Vec<CaseState>,
    /// CPU time of the finished cases, in seconds.
    pub spent: f64,
    /// Expected CPU time of the finished cases, in seconds. `None` if a finished case had no expected time.
    pub expected_of_done: Option<f64>,
    forecast: Forecast,
    under_way: Vec<UnderWay>,
}

impl Status {
    /// Returns the remaining CPU time of the cases that are neither done nor failed, in seconds.
    /// The time is the sum of the expected times, corrected by the measured times of finished cases.
    /// `None` if the time of one case is unknown.
    pub fn cpu_seconds_to_go(&self) -> Option<f64> {
        self.forecast.work_to_go(&self.under_way)
    }

    /// Returns the expected CPU time of the case with index `place`, in seconds. `None` if the time is unknown.
    /// The time is corrected as in [`Status::cpu_seconds_to_go`].
    pub fn cpu_seconds_of(&self, place: usize) -> Option<f64> {
        self.forecast.seconds_of_run(place)
    }

    /// Returns the remaining time in seconds, if `processes` processes run cases at the same time.
    /// `None` if the time is unknown.
    pub fn seconds_to_go(&self, processes: usize) -> Option<f64> {
        self.forecast
            .seconds_to_go(&self.under_way, processes.max(1))
    }
}

impl StudyDir {
    /// Returns the progress of the study.
    ///
    /// # Errors
    /// A result cannot be read, or a system call fails.
    pub fn status(&self) -> Result<Status, Error> {
        let cases = &self.plan().cases;
        let states = self.states(0..cases.len())?;
        let expected = cases.iter().map(|case| (&case.key, case.cpu_seconds));
        let mut forecast = Forecast::expecting(expected);
        let mut under_way = Vec::new();
        let (mut spent, mut expected_of_done) = (0.0, Some(0.0));
        for (run, (case, state)) in cases.iter().zip(&states).enumerate() {
            match state {
                CaseState::Done => {
                    let took = StoredRun::open(self.result(&case.hash))?.summary;
                    let took = took.cpu_seconds.or(took.wall_seconds).unwrap_or_default();
                    forecast.started(run);
                    forecast.ended(run, took);
                    spent += took;
                    let sum = expected_of_done.zip(case.cpu_seconds);
                    expected_of_done = sum.map(|(sum, one)| sum + one);
                }
                CaseState::Running(holding) => {
                    forecast.started(run);
                    under_way.push(UnderWay {
                        run,
                        elapsed: holding.seconds,
                        share: 0.0,
                    });
                }
                // A failed case does not run again without a retry, so no time remains for it.
                CaseState::Failed(_) => forecast.started(run),
                CaseState::Stale(_) | CaseState::Waiting => {}
            }
        }
        Ok(Status {
            states,
            spent,
            expected_of_done,
            forecast,
            under_way,
        })
    }

    /// Returns the states of the cases with the indices `places`, in order.
    ///
    /// # Errors
    /// [`Error::Places`], or a failed system call.
    pub fn states(&self, places: impl IntoIterator<Item = usize>) -> Result<Vec<CaseState>, Error> {
        let locked = self.names_in(LOCKS)?;
        let (done, failed) = (self.names_in(DONE)?, self.names_in(FAILED)?);
        let mut states = Vec::new();
        for place in places {
            let hash = &self.case(place)?.hash;
            let state = || -> Result<CaseState, Error> {
                if done.contains(hash) {
                    return Ok(CaseState::Done);
                }
                if failed.contains(hash)
                    && let Some(failure) = self.failure_of(hash)?
                {
                    return Ok(CaseState::Failed(Box::new(failure)));
                }
                if !locked.contains(hash) {
                    return Ok(CaseState::Waiting);
                }
                // The holder of the lock may have finished the case after the folders were read.
                match LockFile::at(&self.case_lock(hash), &self.clock)? {
                    None if self.is_done(hash) => Ok(CaseState::Done),
                    None => Ok(CaseState::Waiting),
                    Some(file) => {
                        let is_stale = file.is_stale();
                        let holding = Box::new(RunningCase::of(file));
                        Ok(match is_stale {
                            true => CaseState::Stale(holding),
                            false => CaseState::Running(holding),
                        })
                    }
                }
            };
            states.push(state()?);
        }
        Ok(states)
    }
}
