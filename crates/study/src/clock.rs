//! The clock of the file system, by which the age of a lock is told: machines need not agree on the
//! time.

use crate::holder::mark;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

/// The clock by which a folder's files get their times; where nobody may write there, that of this machine.
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
    pub fn since(&self, time: SystemTime) -> Duration {
        let show = || {
            (
                show(&self.folder).unwrap_or(SystemTime::now()),
                Instant::now(),
            )
        };
        let (shown, at) = self.seen.get_or_init(show);
        let now = *shown + at.elapsed();
        now.duration_since(time).unwrap_or_default()
    }
}

/// What the clock shows: the time that a new file gets.
fn show(folder: &Path) -> io::Result<SystemTime> {
    let path = folder.join(format!(".clock-{}", mark()));
    let mut file = File::options().write(true).create_new(true).open(&path)?;
    let mut shown = || {
        file.write_all(b"\n")?;
        // A server sets the time when it has the bytes.
        file.sync_all()?;
        file.metadata()?.modified()
    };
    let shown = shown();
    let _ = fs::remove_file(&path);
    shown
}
