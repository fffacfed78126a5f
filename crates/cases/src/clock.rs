//! The clock of the file system, by which the age of a lock is told: machines need not agree on the
//! time.

use crate::error::Error;
use crate::holder::mark;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

/// The clock by which a folder's files get their times.
#[derive(Debug)]
pub(crate) struct Clock {
    folder: PathBuf,
    /// What it showed, and when that was by the clock of this process.
    seen: OnceLock<(SystemTime, Instant)>,
}

impl Clock {
    /// That of a folder which can be written to.
    pub fn of(folder: PathBuf) -> Self {
        Self {
            folder,
            seen: OnceLock::new(),
        }
    }

    /// How long ago this was; nothing for what is still to come.
    ///
    /// # Errors
    /// Where no file can be written into the folder.
    pub fn since(&self, time: SystemTime) -> Result<Duration, Error> {
        let (shown, at) = match self.seen.get() {
            Some(seen) => *seen,
            None => {
                let seen = (show(&self.folder)?, Instant::now());
                *self.seen.get_or_init(|| seen)
            }
        };
        let now = shown + at.elapsed();
        Ok(now.duration_since(time).unwrap_or_default())
    }
}

/// What the clock shows: the time that a new file gets.
fn show(folder: &Path) -> Result<SystemTime, Error> {
    let path = folder.join(format!(".clock-{}", mark()));
    let shown = || -> io::Result<SystemTime> {
        let mut file = File::options().write(true).create_new(true).open(&path)?;
        file.write_all(b"\n")?;
        // A server sets the time when it has the bytes.
        file.sync_all()?;
        file.metadata()?.modified()
    };
    let shown = shown().map_err(Error::io("write", &path));
    let _ = fs::remove_file(&path);
    shown
}
