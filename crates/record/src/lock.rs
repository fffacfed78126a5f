//! Lock that allows one writing process per directory.
//! When the process ends for any reason, the operating system releases the lock.

use crate::Error;
use fs4::{FileExt, TryLockError};
use std::fs::File;
use std::io;
use std::path::Path;

/// Name of the locked file. The file is never removed.
/// If the file were removed and created again, two processes could lock two different files with this name.
pub(crate) const LOCK: &str = ".lock";

/// Lock on a directory. Only this process writes to the directory until the lock is dropped.
#[derive(Debug)]
pub(crate) struct DirLock {
    _file: File,
}

impl DirLock {
    /// Takes the lock. On a file system without locks, this function succeeds in every process.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has the lock, [`Error::Io`] if the file cannot be created.
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
