//! Errors of reading and writing a study. Each error names the file and the cause.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Reason why a study cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system reported an error, such as a full disk, a missing permission or a missing file.
    #[error("cannot {action} {}: {cause}", .path.display())]
    Io {
        /// Failed action, such as "write".
        action: &'static str,
        /// The file or directory on which the action failed.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        cause: io::Error,
    },
    /// The directory contains files but no study, so it is not changed.
    #[error(
        "{} is not empty and has no manifest.json, so it is left alone; use a new or empty directory",
        .path.display()
    )]
    NotAStudy {
        /// The directory.
        path: PathBuf,
    },
    /// Another process is writing into the directory.
    #[error(
        "{}: another tailcut is writing into this directory; wait until it has ended, or name \
         another directory",
        .path.display()
    )]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// A file was changed after writing, or this version cannot read it.
    #[error("{}: {reason}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Text of the error: the found value and the allowed values.
        reason: String,
    },
    /// The manifest plans no run with this number.
    #[error("run {index} is not planned; the manifest plans {planned}")]
    UnplannedRun {
        /// Requested number.
        index: usize,
        /// Number of planned runs.
        planned: usize,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io {
            action,
            path: path.to_owned(),
            cause,
        }
    }

    pub(crate) fn damaged(path: &Path, reason: impl fmt::Display) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}
