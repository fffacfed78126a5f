//! How far a study is.

use crate::error::Error;
use crate::failed::Failure;
use crate::holder::Holder;
use crate::layout::{DONE, FAILED, LOCKS};
use crate::lock::Seen;
use crate::study_dir::StudyDir;
use std::ops::Range;
use std::time::Duration;

/// What has become of a case.
#[derive(Clone, PartialEq, Debug)]
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
#[derive(Clone, PartialEq, Debug)]
pub struct Holding {
    /// Which one; `None` where it has not said yet.
    pub by: Option<Holder>,
    /// For how long nothing has been heard of it.
    pub silent: Duration,
}

impl Holding {
    /// For how long it has been at the case, in seconds.
    pub fn seconds(&self) -> f64 {
        let held = self.by.as_ref().map_or(0.0, Holder::held_seconds);
        held + self.silent.as_secs_f64()
    }
}

impl StudyDir {
    /// What has become of the cases at some places, in order.
    ///
    /// # Errors
    /// [`Error::Places`], or what the system refuses.
    pub fn states(&self, places: Range<usize>) -> Result<Vec<CaseState>, Error> {
        let locked = self.names_in(LOCKS)?;
        let (done, failed) = (self.names_in(DONE)?, self.names_in(FAILED)?);
        let mut states = Vec::with_capacity(places.len());
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
                        let holding = Box::new(Holding {
                            by: seen.holder,
                            silent: seen.silent,
                        });
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
