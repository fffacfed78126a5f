//! Detection of changed files while a process runs.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Interval between two checks. Polling also detects replaced files and changed symbolic links.
/// Container orchestrators update configurations in this way.
const EVERY: Duration = Duration::from_secs(1);

type State = Option<(SystemTime, u64)>;

/// Watched files, each with its state at the time of the last read.
#[derive(Clone, Default, Debug)]
pub struct WatchedFiles {
    files: Vec<(PathBuf, State)>,
}

fn state(file: &PathBuf) -> State {
    let found = std::fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}

impl WatchedFiles {
    /// Records the current states of files. Call it before the files are read, so that no change is missed.
    pub fn new(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let with_state = |file| {
            let state = state(&file);
            (file, state)
        };
        Self {
            files: files.into_iter().map(with_state).collect(),
        }
    }

    /// Replaces the set of files. A file that was already watched keeps its recorded state.
    /// For every other file, the present state is recorded.
    #[must_use]
    pub fn with(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut now = Self::new(files);
        for (file, state) in &mut now.files {
            let known = self.files.iter_mut().find(|(known, _)| known == file);
            if let Some((_, known)) = known {
                *state = known.take();
            }
        }
        now
    }

    /// Waits until a file has changed. Returns it when two checks in a row have found it in the same new state.
    /// So a file is probably not read while another process still writes it.
    /// A missing file does not count as changed, because it is probably being replaced.
    pub async fn changed(&mut self) -> PathBuf {
        let mut every = tokio::time::interval(EVERY);
        // After a delay, one check is enough to replace the missed ones.
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut moving: Option<(usize, State)> = None;
        loop {
            every.tick().await;
            if let Some((at, seen)) = moving.take() {
                let file = &mut self.files[at];
                let now = state(&file.0);
                if now == seen {
                    file.1 = now;
                    return file.0.clone();
                }
            }
            moving = self
                .files
                .iter()
                .enumerate()
                .find_map(|(at, (file, known))| {
                    let now = state(file);
                    (now.is_some() && now != *known).then_some((at, now))
                });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_is_written_or_replaced_has_changed() {
        let dir = tempfile::tempdir().expect("a directory");
        let [file, other] = ["file", "other"].map(|name| dir.path().join(name));
        std::fs::write(&file, "a").expect("written");
        let mut watched = WatchedFiles::new([file.clone()]);
        std::fs::write(&file, "ab").expect("written");
        assert_eq!(watched.changed().await, file);
        std::fs::write(&other, "abc").expect("written");
        std::fs::rename(&other, &file).expect("replaced");
        assert_eq!(watched.changed().await, file);
    }
}
