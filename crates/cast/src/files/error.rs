//! What can go wrong with files.

use super::manifest::ManifestError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why files cannot be sent or received.
#[derive(Debug)]
pub enum Error {
    /// The system refuses something.
    System {
        /// What was tried, such as "read".
        tried: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file changed while it was sent.
    Changed {
        /// The file.
        path: PathBuf,
        /// What is different now.
        what: String,
    },
    /// What is to be sent cannot be sent.
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// A manifest breaks the rules of its format.
    Manifest(ManifestError),
    /// The sender describes a slab otherwise than its manifest.
    Slab {
        /// The slab's number.
        slab: u32,
        /// What is wrong with it.
        why: String,
    },
    /// There would be more bytes than the receiver allows.
    TooLarge {
        /// Bytes of the transfer; of a stream, those that have arrived.
        bytes: u64,
        /// Bytes that are allowed.
        allowed: u64,
    },
    /// The disk is full. What is verified stays.
    Full {
        /// What was written.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Something is there already, and nobody said that it may be overwritten.
    Exists(PathBuf),
    /// There is a file where the part of a transfer belongs, and no transfer has left it.
    NotAPart(PathBuf),
    /// Another process is receiving the same.
    Busy(PathBuf),
    /// All slabs agree with their hashes but the whole does not.
    Root {
        /// The root that the sender has told.
        told: String,
        /// The root of what is here.
        found: String,
    },
    /// The transfer ended before everything was there.
    Incomplete {
        /// The first slab that is missing.
        slab: u32,
    },
    /// A slab of a stream was asked for that cannot be read again.
    Gone(u32),
}

/// What kind of failure it is: each has an exit code of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The system, or a wrong argument.
    System,
    /// What is here is not what was sent.
    Mismatch,
    /// One side does not take what the other one sends.
    Refused,
}

impl Error {
    /// What kind of failure it is.
    pub const fn failure(&self) -> Failure {
        match self {
            Self::Root { .. } | Self::Changed { .. } => Failure::Mismatch,
            Self::Manifest(_)
            | Self::Slab { .. }
            | Self::TooLarge { .. }
            | Self::Exists(_)
            | Self::NotAPart(_)
            | Self::Busy(_) => Failure::Refused,
            _ => Failure::System,
        }
    }

    /// The system refuses something; a full disk has an error of its own.
    pub(super) fn system(tried: &'static str, path: &Path, error: impl Into<io::Error>) -> Self {
        let (path, error) = (path.to_owned(), error.into());
        match error.kind() {
            // RLIMIT_FSIZE, or more than the file system can hold in one file.
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { path, error },
            _ => Self::System { tried, path, error },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { tried, path, error } => {
                write!(f, "{}: cannot {tried}: {error}", path.display())
            }
            Self::Changed { path, what } => {
                write!(f, "{}: changed while it was sent: {what}", path.display())
            }
            Self::Unfit { path, why } => write!(f, "{}: {why}", path.display()),
            Self::Manifest(error) => write!(f, "manifest: {error}"),
            Self::Slab { slab, why } => write!(f, "slab {slab}: {why}"),
            Self::TooLarge { bytes, allowed } => {
                write!(f, "{bytes} bytes, where {allowed} are allowed (--max-size)")
            }
            Self::Full { path, error } => write!(
                f,
                "{}: no room: {error}; what has arrived is kept, the same command goes on from there",
                path.display()
            ),
            Self::Exists(path) => write!(
                f,
                "{}: is there already (--overwrite replaces it)",
                path.display()
            ),
            Self::NotAPart(path) => write!(
                f,
                "{}: is in the way: a transfer wants this name for its parts; move it away",
                path.display()
            ),
            Self::Busy(path) => write!(f, "{}: another process is receiving it", path.display()),
            Self::Root { told, found } => write!(
                f,
                "what is here is not what was sent: its root is {found}, not {told}"
            ),
            Self::Incomplete { slab } => write!(
                f,
                "the transfer ended before slab {slab} was there; what has arrived is kept"
            ),
            Self::Gone(slab) => write!(f, "slab {slab} of a stream cannot be read again"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { error, .. } | Self::Full { error, .. } => Some(error),
            Self::Manifest(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ManifestError> for Error {
    fn from(error: ManifestError) -> Self {
        Self::Manifest(error)
    }
}
