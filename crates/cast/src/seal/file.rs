//! Key file. Only the file's owner may read it.

use super::key::{Key, KeyError};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Size limit of a key file in bytes. Every valid key file is shorter.
const LONGEST: u64 = 256;

/// Error of reading or writing a key file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", .path.display())]
pub struct FileError {
    path: PathBuf,
    reason: Reason,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error("{0}")]
    Io(io::Error),
    #[error("{0}")]
    Key(KeyError),
    #[error("a key is one line of text: this file is not text")]
    NoText,
    #[error("a key is one line of at most {LONGEST} bytes: this is longer")]
    TooLong,
    #[error(
        "its mode is {mode:03o}, so that others than its owner can use the key; \
         chmod 600 it, and make another key if another user may have read it"
    )]
    Open { mode: u32 },
}

/// Reads the key from a file with mode 0600 or 0400.
///
/// # Errors
/// The file cannot be read, users other than its owner can read it, or it contains no valid key.
pub fn load(path: &Path) -> Result<Key, FileError> {
    let read = || {
        let file = File::open(path).map_err(Reason::Io)?;
        let mode = file.metadata().map_err(Reason::Io)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(Reason::Open { mode });
        }
        let mut bytes = Vec::new();
        // One byte beyond the limit is read, so that a file that is too long is noticed.
        let length = file.take(LONGEST + 1).read_to_end(&mut bytes);
        if length.map_err(Reason::Io)? as u64 > LONGEST {
            return Err(Reason::TooLong);
        }
        let line = core::str::from_utf8(&bytes).map_err(|_| Reason::NoText)?;
        line.parse().map_err(Reason::Key)
    };
    read().map_err(|reason| FileError {
        path: path.to_owned(),
        reason,
    })
}

/// Writes a key to a new file of mode 0600, and waits until the file is on the disk.
///
/// # Errors
/// The file exists already, or cannot be written.
pub fn save(path: &Path, key: &Key) -> Result<(), FileError> {
    let write = || {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(path)?;
        writeln!(file, "{}", key.to_line())?;
        file.sync_all()
    };
    write().map_err(|error| FileError {
        path: path.to_owned(),
        reason: Reason::Io(error),
    })
}
