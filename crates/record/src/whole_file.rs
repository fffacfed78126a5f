//! Atomic writing of files: a file is written completely or not at all.

use crate::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Reads a JSON file.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read, [`Error::Damaged`] if it does not match `T`.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    serde_json::from_slice(&bytes).map_err(|error| Error::damaged(path, error))
}

/// Writes a JSON file as [`write_whole`] does.
///
/// # Errors
/// [`Error::Io`] if the operating system reports an error. After an error, an earlier file stays.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::io("encode", path)(error.into()))?;
    bytes.push(b'\n');
    write_whole(path, &bytes)
}

/// Writes a file under a temporary name and renames it. The file is never incomplete, even after a power failure.
///
/// # Errors
/// [`Error::Io`] if the operating system reports an error. After an error, an earlier file stays.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let partial = beside(path);
    write_through(&partial, bytes)
        .and_then(|()| fs::rename(&partial, path))
        .map_err(|error| {
            let _ = fs::remove_file(&partial);
            Error::io("write", path)(error)
        })?;
    if let Some(dir) = path.parent() {
        keep_names(dir);
    }
    Ok(())
}

/// Returns the temporary path that a file or directory has until it is complete.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut partial = path.as_os_str().to_owned();
    partial.push(PARTIAL);
    PathBuf::from(partial)
}

/// Suffix of temporary files and directories.
pub(crate) const PARTIAL: &str = ".partial";

/// Writes a file and waits until it is on disk.
fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Copies the rest of a file to another file and waits until it is on disk.
pub(crate) fn copy_through(from: &mut File, to: &Path) -> io::Result<()> {
    let mut copy = File::create(to)?;
    io::copy(from, &mut copy)?;
    copy.sync_all()
}

/// Waits until the names in a directory are on disk. Errors are ignored.
/// Some systems do not support this operation, and the contents of the files are already on disk.
pub(crate) fn keep_names(dir: &Path) {
    let dir = match dir.as_os_str().is_empty() {
        true => Path::new("."),
        false => dir,
    };
    let _ = File::open(dir).and_then(|dir| dir.sync_all());
}
