//! One writer a directory, held apart by the operating system: whatever ends the process ends its
//! lock.

use crate::Error;
use fs4::{FileExt, TryLockError};
use std::fs::File;
use std::io;
use std::path::Path;

/// The file that is locked. It stays, since removing it would let two processes lock two files.
pub(crate) const LOCK: &str = ".lock";

/// A directory that this process alone writes into while this lives.
#[derive(Debug)]
pub(crate) struct DirLock {
    _file: File,
}

impl DirLock {
    /// Takes the lock, or says that another process has it. On a file system without locks nothing
    /// keeps two processes apart.
    ///
    /// # Errors
    /// [`Error::Locked`], or [`Error::Io`] where the file cannot be made.
    pub fn take(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(LOCK);
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(Error::io("write", &path))?;
        match FileExt::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked {
                    path: dir.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
        }
        Ok(Self { _file: file })
    }
}
