//! Failures of cases, stored as data.

use crate::error::Error;
use crate::holder::{host, now};
use crate::lock::{Lock, LockAttempt};
use crate::plan::Program;
use crate::study_dir::StudyDir;
use serde::{Deserialize, Serialize};
use tailcut_record::{RunKey, read_json, write_json};

/// Contents of `failed/HASH.json`: the failure of one case.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Hash of the case.
    pub hash: String,
    /// Key of the case's run.
    #[serde(flatten)]
    pub key: RunKey,
    /// Error message of the run.
    pub error: String,
    /// Program that ran the case.
    #[serde(flatten)]
    pub by: Program,
    /// Name of the machine that ran the case.
    pub host: String,
    /// Time of the failure: RFC 3339, UTC.
    pub failed_at: String,
}

impl StudyDir {
    /// Records that a case has failed, unless the case is done or another process is running the case.
    /// Use this function after a process of this machine has ended without an error message while it ran the case.
    /// `ended` is the number of that process.
    ///
    /// # Errors
    /// [`Error::Places`], or a failed system call.
    pub fn fail(&self, place: usize, ended: u32, error: &str, by: &Program) -> Result<(), Error> {
        let case = self.case(place)?;
        match Lock::take_after(&self.case_lock(&case.hash), &self.clock, Some(ended))? {
            LockAttempt::Acquired(_lock) if !self.is_done(&case.hash) => {
                self.keep_failure(place, error, by).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Writes a failure of a case. This process must have the case's lock.
    pub(crate) fn keep_failure(
        &self,
        place: usize,
        error: &str,
        by: &Program,
    ) -> Result<Failure, Error> {
        let case = self.case(place)?;
        let failure = Failure {
            hash: case.hash.clone(),
            key: case.key.clone(),
            error: error.to_owned(),
            by: by.clone(),
            host: host(),
            failed_at: now(),
        };
        write_json(&self.failure(&case.hash), &failure)?;
        Ok(failure)
    }

    /// Returns the failure of a case, or `None` if the case has not failed.
    pub(crate) fn failure_of(&self, hash: &str) -> Result<Option<Failure>, Error> {
        let path = self.failure(hash);
        match path.exists() {
            true => Ok(Some(read_json(&path)?)),
            false => Ok(None),
        }
    }
}
