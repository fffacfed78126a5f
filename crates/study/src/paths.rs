//! Paths as scripts and job files hold them.

use crate::error::Error;
use std::path::{Path, PathBuf};

/// How long a job waits for cases that another process is at, in seconds. After a machine has failed their
/// locks are still there for a minute.
pub const WAIT: u32 = 90;

/// Not by what it links to: machines know a directory by the name that users know.
pub fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(Error::io("find", path))
}

/// A path that a file can hold on one line.
pub fn text(path: &Path) -> Result<&str, Error> {
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => Ok(text),
        _ => Err(refused(format!(
            "study: found the path {path:?}; allowed in a script: UTF-8 without control characters"
        ))),
    }
}

/// What an engine cannot be told.
pub fn refused(why: String) -> Error {
    Error::Engine(why)
}
