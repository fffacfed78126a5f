//! Errors of reading and writing a study: each names the file and the cause.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a study could not be written or read.
#[derive(Debug)]
pub enum Error {
    /// The system refused: a full disk, no permission, a missing file.
    Io {
        /// What was tried, such as "write".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// The directory holds files that are not a study's, and is left alone.
    NotAStudy {
        /// The directory.
        path: PathBuf,
    },
    /// Another process is writing into the directory.
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// A file is not what was written, or not what this version reads.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found and what is allowed.
        reason: String,
    },
    /// The manifest plans no run of this number.
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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io {
                action,
                path,
                cause,
            } => write!(f, "cannot {action} {}: {cause}", path.display()),
            Self::NotAStudy { path } => write!(
                f,
                "{} is not empty and has no manifest.json, so it is left alone; name a new or empty directory",
                path.display()
            ),
            Self::Locked { path } => write!(
                f,
                "{}: another tailcut is writing into this directory; wait until it has ended, or name \
                 another directory",
                path.display()
            ),
            Self::Damaged { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::UnplannedRun { index, planned } => {
                write!(
                    f,
                    "run {index} is not planned; the manifest plans {planned}"
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
