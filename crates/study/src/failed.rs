//! Failures of cases, kept as data.

use crate::error::Error;
use crate::holder::{host, now};
use crate::lock::{Lock, Taken};
use crate::plan::Program;
use crate::study_dir::StudyDir;
use serde::{Deserialize, Serialize};
use tailcut_record::{RunKey, read_json, write_json};

/// What `failed/HASH.json` holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The hash of the case.
    pub hash: String,
    /// What names its run.
    #[serde(flatten)]
    pub key: RunKey,
    /// What went wrong.
    pub error: String,
    /// Who ran it.
    #[serde(flatten)]
    pub by: Program,
    /// The machine.
    pub host: String,
    /// When it failed: RFC 3339, UTC.
    pub failed_at: String,
}

impl StudyDir {
    /// Keeps it that a case has failed, unless it is done or somebody else runs it: for a program that had
    /// a process of this machine run it, which has ended without a word. `ended` is that process's number.
    ///
    /// # Errors
    /// [`Error::Places`], or what the system refuses.
    pub fn fail(&self, place: usize, ended: u32, error: &str, by: &Program) -> Result<(), Error> {
        let case = self.case(place)?;
        match Lock::take_after(&self.case_lock(&case.hash), &self.clock, Some(ended))? {
            Taken::Mine(_lock) if !self.is_done(&case.hash) => {
                self.keep_failure(place, error, by).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Writes a failure of a case whose lock this process has.
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

    /// The failure of a case that has one.
    pub(crate) fn failure_of(&self, hash: &str) -> Result<Option<Failure>, Error> {
        let path = self.failure(hash);
        match path.exists() {
            true => Ok(Some(read_json(&path)?)),
            false => Ok(None),
        }
    }
}
