//! Errors of files.

use super::manifest::ManifestError;
use std::io;
use std::path::{Path, PathBuf};

/// Reason why files cannot be sent or received.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system reports an error.
    #[error("{}: cannot {tried}: {error}", .path.display())]
    System {
        /// Operation that failed, such as "read".
        tried: &'static str,
        /// File of the operation.
        path: PathBuf,
        /// Error of the system.
        #[source]
        error: io::Error,
    },
    /// A file changed while it was sent.
    #[error("{}: changed while it was sent: {what}", .path.display())]
    Changed {
        /// File.
        path: PathBuf,
        /// Difference between the file and its state at the start.
        what: String,
    },
    /// The file cannot be sent or received.
    #[error("{}: {why}", .path.display())]
    Unfit {
        /// File.
        path: PathBuf,
        /// Reason.
        why: &'static str,
    },
    /// A manifest violates its format.
    #[error("manifest: {0}")]
    Manifest(#[from] ManifestError),
    /// A slab does not match the manifest.
    #[error("slab {slab}: {why}")]
    Slab {
        /// Number of the slab.
        slab: u32,
        /// Difference.
        why: String,
    },
    /// The transfer has more bytes than the receiver allows.
    #[error("the transfer has {bytes} bytes; allowed: {allowed} (--max-size)")]
    TooLarge {
        /// Bytes of the transfer. For a stream, the bytes that have arrived.
        bytes: u64,
        /// Largest allowed number of bytes.
        allowed: u64,
    },
    /// The disk is full. Verified slabs are kept.
    #[error(
        "{}: no space: {error}; the data received so far is kept; run the same command to continue",
        .path.display()
    )]
    Full {
        /// File that was written.
        path: PathBuf,
        /// Error of the system.
        #[source]
        error: io::Error,
    },
    /// The destination exists, and the options do not allow to overwrite it.
    #[error("{}: exists already (--overwrite replaces it)", .0.display())]
    Exists(PathBuf),
    /// A file has the name that the transfer needs for its partial data. No transfer has created this file.
    #[error(
        "{}: the transfer needs this name for its partial data; move the file away",
        .0.display()
    )]
    NotAPart(PathBuf),
    /// Another process is receiving the same transfer.
    #[error("{}: another process is receiving it", .0.display())]
    Busy(PathBuf),
    /// Each slab matches its hash, but the root differs.
    #[error("the received data differs from the sent data: its root is {found}, not {expected}")]
    Root {
        /// Root from the sender.
        expected: String,
        /// Root of the received data.
        found: String,
    },
    /// The transfer ended before all slabs had arrived.
    #[error("the transfer ended before slab {slab} arrived; the data received so far is kept")]
    Incomplete {
        /// First missing slab.
        slab: u32,
    },
    /// A slab of a stream was requested a second time, but a stream cannot be read again.
    #[error("slab {0} of a stream cannot be read again")]
    Gone(u32),
}

/// Category of an error. It determines the exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The system failed, or an argument was wrong.
    System,
    /// The received data differs from the sent data.
    Mismatch,
    /// One end refuses the data or the request of the other end.
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
