//! How far a study is.

use crate::error::Error;
use crate::failed::Failure;
use crate::forecast::{Forecast, UnderWay};
use crate::holder::Holder;
use crate::layout::{DONE, FAILED, LOCKS};
use crate::lock::{HEARTBEAT, Seen};
use crate::study_dir::StudyDir;
use serde::Serialize;
use std::fmt;
use tailcut_record::StoredRun;

/// What has become of a case.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum CaseState {
    /// Its result is there.
    Done,
    /// It failed, and waits for somebody to say that it shall be run again.
    Failed(Box<Failure>),
    /// A process is at it.
    Running(Box<Holding>),
    /// A process was at it and has ended, or has been silent for too long: whoever comes by runs it.
    Stale(Box<Holding>),
    /// Nobody has begun it.
    Waiting,
}

/// A process that has the lock of a case.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Holding {
    /// Which one; `None` where it has not said yet.
    #[serde(flatten)]
    pub by: Option<Holder>,
    /// For how long it has been at the case.
    pub seconds: f64,
    /// For how long nothing has been heard of it.
    pub silent_seconds: f64,
}

impl Holding {
    pub(crate) fn of(seen: Seen) -> Self {
        let silent = seen.silent.as_secs_f64();
        let held = seen.holder.as_ref().map_or(0.0, Holder::held_seconds);
        Self {
            by: seen.holder,
            seconds: held + silent,
            silent_seconds: silent,
        }
    }
}

impl fmt::Display for Holding {
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

/// How far a study is.
#[derive(Debug)]
pub struct Status {
    /// What has become of each case, by places.
    pub states: Vec<CaseState>,
    /// The CPU time of the cases that are done, in seconds.
    pub spent: f64,
    /// What these had been expected to take; `None` where nothing was expected of one of them.
    pub expected_of_done: Option<f64>,
    forecast: Forecast,
    under_way: Vec<UnderWay>,
}

impl Status {
    /// The CPU time that the cases which are neither done nor failed still take, in seconds: as expected,
    /// corrected by what cases that are done took. `None` while nothing is known of one of them.
    pub fn cpu_seconds_to_go(&self) -> Option<f64> {
        self.forecast.work_to_go(&self.under_way)
    }

    /// The CPU time that the case at a place is expected to take, in seconds: as [`Status::cpu_seconds_to_go`]
    /// counts it. `None` where nothing is known of it.
    pub fn cpu_seconds_of(&self, place: usize) -> Option<f64> {
        self.forecast.seconds_of_run(place)
    }

    /// How long these still take so many processes, in seconds.
    pub fn seconds_to_go(&self, processes: usize) -> Option<f64> {
        self.forecast
            .seconds_to_go(&self.under_way, processes.max(1))
    }
}

impl StudyDir {
    /// How far the study is.
    ///
    /// # Errors
    /// A result that cannot be read, or what the system refuses.
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

    /// What has become of the cases at some places, in order.
    ///
    /// # Errors
    /// [`Error::Places`], or what the system refuses.
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
                // Whoever had the lock may have ended the case since the folders were read.
                match Seen::at(&self.case_lock(hash), &self.clock)? {
                    None if self.is_done(hash) => Ok(CaseState::Done),
                    None => Ok(CaseState::Waiting),
                    Some(seen) => {
                        let is_stale = seen.is_stale();
                        let holding = Box::new(Holding::of(seen));
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
