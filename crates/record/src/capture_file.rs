//! Capture files of a study. A capture is written under a temporary name and renamed when it is complete.

use crate::Error;
use crate::layout::{CAPTURE, CAPTURES};
use crate::manifest::{Manifest, is_plain_name};
use crate::whole_file::{PARTIAL, beside, keep_names};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Capture of a run that is being written. `keep` gives the file its final name.
/// If the value is dropped before `keep`, the temporary file is removed.
#[derive(Debug)]
pub struct CaptureFile {
    file: BufWriter<File>,
    /// Final path, relative to the study's directory.
    name: String,
    path: PathBuf,
    partial: PathBuf,
}

impl CaptureFile {
    pub(crate) fn create(dir: &Path, run: &str) -> Result<Self, Error> {
        let captures = dir.join(CAPTURES);
        fs::create_dir_all(&captures).map_err(Error::io("create", &captures))?;
        let name = name_of(run);
        let path = dir.join(&name);
        let partial = beside(&path);
        let file = File::create(&partial).map_err(Error::io("create", &partial))?;
        Ok(Self {
            file: BufWriter::new(file),
            name,
            path,
            partial,
        })
    }

    /// Moves the file to its final path after the data is on disk. Returns the path relative to the study's directory.
    pub(crate) fn keep(mut self) -> Result<String, Error> {
        self.file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .and_then(|()| fs::rename(&self.partial, &self.path))
            .map_err(Error::io("write", &self.path))?;
        if let Some(dir) = self.path.parent() {
            keep_names(dir);
        }
        Ok(std::mem::take(&mut self.name))
    }
}

impl Write for CaptureFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for CaptureFile {
    fn drop(&mut self) {
        // `keep` has renamed the file if it succeeded. In that case this removal fails, and the error is ignored.
        let _ = fs::remove_file(&self.partial);
    }
}

fn name_of(run: &str) -> String {
    format!("{CAPTURES}/{run}.{CAPTURE}")
}

/// Enters the existing captures of all runs into the manifest, and removes incomplete captures of killed programs.
pub(crate) fn find(dir: &Path, manifest: &mut Manifest) -> Result<(), Error> {
    for path in files(dir)? {
        if path.to_string_lossy().ends_with(PARTIAL) {
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
    }
    for run in &mut manifest.runs {
        let name = name_of(&run.id);
        run.capture = (is_plain_name(&run.id) && dir.join(&name).is_file()).then_some(name);
    }
    Ok(())
}

/// Removes all captures of `dir`. Other files stay.
pub(crate) fn remove_all(dir: &Path) -> Result<(), Error> {
    for path in files(dir)? {
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    }
    // The removal fails if the directory contains unknown files.
    // The unknown files and the directory stay after a failure.
    let _ = fs::remove_dir(dir.join(CAPTURES));
    Ok(())
}

/// Returns the paths of all captures, complete and incomplete.
fn files(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let captures = dir.join(CAPTURES);
    let entries = match fs::read_dir(&captures) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("open", &captures)(error)),
    };
    let endings = [format!(".{CAPTURE}"), format!(".{CAPTURE}{PARTIAL}")];
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::io("read", &captures))?.path();
        let name = path.to_string_lossy();
        if endings.iter().any(|ending| name.ends_with(ending)) && path.is_file() {
            found.push(path);
        }
    }
    Ok(found)
}
