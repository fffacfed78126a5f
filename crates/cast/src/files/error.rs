//! Errors of files.

use super::manifest::ManifestError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Reason why files cannot be sent or received.
#[derive(Debug)]
pub enum Error {
    /// The system reports an error.
    System {
        /// Operation that failed, such as "read".
        tried: &'static str,
        /// File of the operation.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// A file changed while it was sent.
    Changed {
        /// File.
        path: PathBuf,
        /// Difference.
        what: String,
    },
    /// The file cannot be sent or received.
    Unfit {
        /// File.
        path: PathBuf,
        /// Reason.
        why: &'static str,
    },
    /// A manifest violates its format.
    Manifest(ManifestError),
    /// A slab does not match the manifest.
    Slab {
        /// Number of the slab.
        slab: u32,
        /// Difference.
        why: String,
    },
    /// The transfer has more bytes than the receiver allows.
    TooLarge {
        /// Bytes of the transfer. For a stream, the bytes that have arrived.
        bytes: u64,
        /// Allowed bytes.
        allowed: u64,
    },
    /// The disk is full. Verified slabs are kept.
    Full {
        /// File that was written.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The destination exists, and the options do not allow to overwrite it.
    Exists(PathBuf),
    /// A file has the name that the transfer needs for its partial data, and no transfer has
    /// created it.
    NotAPart(PathBuf),
    /// Another process is receiving the same transfer.
    Busy(PathBuf),
    /// Each slab matches its hash, but the root differs.
    Root {
        /// Root from the sender.
        told: String,
        /// Root of the received data.
        found: String,
    },
    /// The transfer ended before all slabs had arrived.
    Incomplete {
        /// First missing slab.
        slab: u32,
    },
    /// A slab of a stream was requested that cannot be read again.
    Gone(u32),
}

/// Category of an error. Each category has its exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The system failed, or an argument was wrong.
    System,
    /// The received data differs from the sent data.
    Mismatch,
    /// One side refuses the data or the request of the other side.
    Refused,
}

impl Error {
    /// Returns the category of the error.
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

    /// Creates an error of the system. A full disk becomes [`Self::Full`].
    pub(super) fn system(tried: &'static str, path: &Path, error: impl Into<io::Error>) -> Self {
        let (path, error) = (path.to_owned(), error.into());
        match error.kind() {
            // `FileTooLarge` means RLIMIT_FSIZE, or a file larger than the file system supports.
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
                "{}: no space: {error}; the data received so far is kept; run the same command to continue",
                path.display()
            ),
            Self::Exists(path) => write!(
                f,
                "{}: is there already (--overwrite replaces it)",
                path.display()
            ),
            Self::NotAPart(path) => write!(
                f,
                "{}: the transfer needs this name for its partial data; move the file away",
                path.display()
            ),
            Self::Busy(path) => write!(f, "{}: another process is receiving it", path.display()),
            Self::Root { told, found } => write!(
                f,
                "the received data differs from the sent data: its root is {found}, not {told}"
            ),
            Self::Incomplete { slab } => write!(
                f,
                "the transfer ended before slab {slab} arrived; the data received so far is kept"
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
