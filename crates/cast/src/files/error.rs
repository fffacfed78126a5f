//! Errors of reading and writing the files of a transfer.

use super::escaped::Escaped;
use super::manifest::ManifestError;
use std::io;
use std::path::{Path, PathBuf};

/// Reason why files cannot be sent or received.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An operation of the system has failed.
    #[error("{}: cannot {tried}: {error}", Escaped(.path))]
    System {
        /// Operation that has failed, such as "read".
        tried: &'static str,
        /// File that the operation has used.
        path: PathBuf,
        /// Error that the system has returned.
        #[source]
        error: io::Error,
    },
    /// A file has changed during the transfer.
    #[error("{}: changed while it was sent: {what}", Escaped(.path))]
    Changed {
        /// Path of the file.
        path: PathBuf,
        /// Change of the file since the start of the transfer.
        what: String,
    },
    /// The file cannot be sent or received.
    #[error("{}: {why}", Escaped(.path))]
    Unfit {
        /// Path of the file.
        path: PathBuf,
        /// Reason why the file cannot be sent or received.
        why: &'static str,
    },
    /// A manifest violates its format.
    #[error("manifest: {0}")]
    Manifest(#[from] ManifestError),
    /// A slab does not fit the manifest, for example because of its length.
    #[error("slab {slab}: {why}")]
    Slab {
        /// Number of the slab.
        slab: u32,
        /// Difference between the slab and the manifest.
        why: String,
    },
    /// The transfer is larger than the receiver allows.
    #[error("the transfer has {bytes} bytes; allowed: {allowed} (--max-size)")]
    TooLarge {
        /// Size of the transfer in bytes. For a stream, the number of bytes that have arrived.
        bytes: u64,
        /// Largest allowed size in bytes.
        allowed: u64,
    },
    /// The disk is full. The verified slabs are kept on the disk.
    #[error(
        "{}: no space: {error}; the data received so far is kept; run the same command to continue",
        Escaped(.path)
    )]
    Full {
        /// File that could not be written.
        path: PathBuf,
        /// Error that the system has returned.
        #[source]
        error: io::Error,
    },
    /// The file system of the destination has too little space for the transfer.
    #[error("{}: no space: the transfer needs {needed} bytes, and {free} bytes are free", Escaped(.path))]
    NoRoom {
        /// Directory of the destination.
        path: PathBuf,
        /// Size of the transfer in bytes.
        needed: u64,
        /// Number of free bytes.
        free: u64,
    },
    /// The destination exists already, and the options do not allow replacing it.
    #[error("{}: exists already (--overwrite replaces it)", Escaped(.0))]
    Exists(PathBuf),
    /// The transfer needs this name for its partial data, but a file of another program has this name.
    #[error(
        "{}: the transfer needs this name for its partial data; move the file away",
        Escaped(.0)
    )]
    NotAPart(PathBuf),
    /// Another process is receiving the same data.
    #[error("{}: another process is receiving it", Escaped(.0))]
    Busy(PathBuf),
    /// All slabs match their hashes, but the root is wrong.
    #[error("the received data differs from the sent data: its root is {found}, not {expected}")]
    Root {
        /// Root that the sender has sent.
        expected: String,
        /// Root of the data that was received.
        found: String,
    },
    /// The transfer ended before all slabs had arrived.
    #[error("the transfer ended before slab {slab} arrived; the data received so far is kept")]
    Incomplete {
        /// Number of the first missing slab.
        slab: u32,
    },
    /// A slab of a stream was requested a second time. A stream cannot be read again.
    #[error("slab {0} of a stream cannot be read again")]
    Gone(u32),
}

/// Category of an error. The exit code of the program depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The system has failed, or an argument is wrong.
    System,
    /// The received data is not the data that was sent.
    Mismatch,
    /// One end has refused the data or the request of the other end.
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

    /// Creates an error of the system. If the disk is full, the error is [`Self::Full`].
    pub(super) fn system(tried: &'static str, path: &Path, error: impl Into<io::Error>) -> Self {
        let (path, error) = (path.to_owned(), error.into());
        match error.kind() {
            // `FileTooLarge` has two possible causes: the limit RLIMIT_FSIZE, or the largest file of the file system.
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { path, error },
            _ => Self::System { tried, path, error },
        }
    }
}
