//! Cases, counted by what has become of them.

use crate::error::Error;
use crate::status::CaseState;
use crate::study_dir::StudyDir;
use serde::Serialize;

/// What has become of the cases at some places.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Tally {
    /// How many cases these are.
    pub cases: usize,
    /// How many are done.
    pub done: usize,
    /// The places of those that failed.
    pub failed: Vec<usize>,
    /// The places of those that processes are at.
    pub running: Vec<usize>,
    /// Which processes these are, in words.
    #[serde(skip)]
    pub by: Vec<String>,
    /// The places of those that whoever comes by runs.
    pub waiting: Vec<usize>,
}

impl Tally {
    /// How many are neither done nor failed.
    pub fn open(&self) -> usize {
        self.running.len() + self.waiting.len()
    }
}

impl StudyDir {
    /// What has become of the cases at some places.
    ///
    /// # Errors
    /// As [`StudyDir::states`].
    pub fn tally(&self, places: &[usize]) -> Result<Tally, Error> {
        let mut tally = Tally {
            cases: places.len(),
            ..Tally::default()
        };
        let states = self.states(places.iter().copied())?;
        for (&place, state) in places.iter().zip(states) {
            match state {
                CaseState::Done => tally.done += 1,
                CaseState::Failed(_) => tally.failed.push(place),
                CaseState::Running(holding) => {
                    tally.running.push(place);
                    let by = holding.by.map(|by| by.to_string());
                    tally.by.push(by.unwrap_or("a process".to_owned()));
                }
                CaseState::Stale(_) | CaseState::Waiting => tally.waiting.push(place),
            }
        }
        Ok(tally)
    }
}
