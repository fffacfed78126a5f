//! Tally of cases by state.

use crate::error::Error;
use crate::status::CaseState;
use crate::study_dir::StudyDir;
use serde::Serialize;

/// Cases in each state, as a number or as a list of indices, for a selection of cases.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Tally {
    /// Number of selected cases.
    pub cases: usize,
    /// Number of finished cases.
    pub done: usize,
    /// Indices of failed cases.
    pub failed: Vec<usize>,
    /// Indices of running cases.
    pub running: Vec<usize>,
    /// Processes that are running cases, each as text.
    #[serde(skip)]
    pub by: Vec<String>,
    /// Indices of cases that no process is running, and that the next free process runs.
    pub waiting: Vec<usize>,
}

impl Tally {
    /// Returns the number of cases that are neither done nor failed.
    pub fn open(&self) -> usize {
        self.running.len() + self.waiting.len()
    }
}

impl StudyDir {
    /// Counts the states of the cases with the indices `places`.
    ///
    /// # Errors
    /// The errors of [`StudyDir::states`].
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
