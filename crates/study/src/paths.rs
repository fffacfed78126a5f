//! Paths in scripts and job files.

use crate::error::Error;
use std::path::{Path, PathBuf};

/// Time for which a job waits if other processes are running its remaining cases, in seconds.
/// The time is longer than a minute, because the locks of a failed machine become stale after a minute.
pub const WAIT: u32 = 90;

/// Returns an absolute path.
/// Symbolic links in the path are not resolved, because other machines may only have the path that the user sees.
pub fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(Error::io("find", path))
}

/// Returns a path as text, if it can be part of one line of a script.
pub fn text(path: &Path) -> Result<&str, Error> {
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => Ok(text),
        _ => Err(refused(format!(
            "study: found the path {path:?}; allowed in a script: UTF-8 without control characters"
        ))),
    }
}

/// Returns the error for jobs that an engine such as Slurm cannot run. `why` is the text of the error.
pub fn refused(why: String) -> Error {
    Error::Engine(why)
}
