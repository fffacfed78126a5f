//! Errors of reading and writing a study: each names the file and the cause.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a study could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused: a full disk, no permission, a missing file.
    #[error("cannot {action} {}: {cause}", .path.display())]
    Io {
        /// What was tried, such as "write".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        #[source]
        cause: io::Error,
    },
    /// The directory holds files that are not a study's, and is left alone.
    #[error(
        "{} is not empty and has no manifest.json, so it is left alone; name a new or empty directory",
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
    /// A file is not what was written, or not what this version reads.
    #[error("{}: {reason}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found and what is allowed.
        reason: String,
    },
    /// The manifest plans no run of this number.
    #[error("run {index} is not planned; the manifest plans {planned}")]
    UnplannedRun {
        /// The number asked for.
        index: usize,
        /// How many runs are planned.
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
