//! Files that are written whole or not at all.

use crate::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, Write};
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

/// Writes a file beside its place and renames it into it; leaves nothing half written, not even
/// when the machine loses power.
///
/// # Errors
/// [`Error::Io`] where the system refuses; an earlier file stays then.
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

/// Where something is written before it is renamed into its place.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut partial = path.as_os_str().to_owned();
    partial.push(PARTIAL);
    PathBuf::from(partial)
}

/// What the name of something that is being written ends in.
pub(crate) const PARTIAL: &str = ".partial";

/// Writes a file and waits until the disk has it.
fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Copies what is left of a file to another one, and waits until the disk has it.
pub(crate) fn copy_through(from: &mut File, to: &Path) -> io::Result<()> {
    let mut copy = File::create(to)?;
    io::copy(from, &mut copy)?;
    copy.sync_all()
}

/// Waits until the disk has the names in a directory. Where a system cannot do that, nothing is
/// left to try: the files themselves are written.
pub(crate) fn keep_names(dir: &Path) {
    let dir = match dir.as_os_str().is_empty() {
        true => Path::new("."),
        false => dir,
    };
    let _ = File::open(dir).and_then(|dir| dir.sync_all());
}
