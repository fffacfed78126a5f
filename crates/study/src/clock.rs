//! Clock of the file system. This clock measures the age of locks, because the clocks of machines may differ.

use crate::holder::mark;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

/// Clock from which the files in a folder get their times.
/// In a folder that is not writable, the clock of this machine.
#[derive(Debug)]
pub(crate) struct Clock {
    folder: PathBuf,
    /// One moment on two clocks: of the file system, and of this process. `None` before the first use.
    seen: OnceLock<(SystemTime, Instant)>,
}

impl Clock {
    /// Creates the clock of a folder that is writable.
    pub fn of(folder: PathBuf) -> Self {
        Self {
            folder,
            seen: OnceLock::new(),
        }
    }

    /// Returns the time since `time`, or zero if `time` is in the future.
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

/// Returns the time of the clock. A new file would get this time.
fn show(folder: &Path) -> io::Result<SystemTime> {
    let path = folder.join(format!(".clock-{}", mark()));
    let mut file = File::options().write(true).create_new(true).open(&path)?;
    let mut shown = || {
        file.write_all(b"\n")?;
        // A file server sets the time of a file only after it has received the bytes.
        file.sync_all()?;
        file.metadata()?.modified()
    };
    let shown = shown();
    let _ = fs::remove_file(&path);
    shown
}
