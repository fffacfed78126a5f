//! Files that are written whole or not at all.

use crate::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads a JSON file.
///
/// # Errors
/// [`Error::Io`] where it cannot be read, [`Error::Damaged`] where it is not of `T`'s shape.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    serde_json::from_slice(&bytes).map_err(|error| Error::damaged(path, error))
}

/// Writes a JSON file: beside its place first, then renamed into it.
///
/// # Errors
/// [`Error::Io`] where the system refuses; an earlier file stays then.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::io("encode", path)(error.into()))?;
    bytes.push(b'\n');
    write_whole(path, &bytes)
}

/// Writes a file beside its place and renames it into it; leaves nothing half written.
///
/// # Errors
/// [`Error::Io`] where the system refuses; an earlier file stays then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&partial);
        Error::io("write", path)(error)
    })
}
