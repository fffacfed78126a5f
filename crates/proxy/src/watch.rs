//! Files that may change while a process runs.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// How often files are looked at. It finds what replaces a file, too, and links that lead elsewhere, as
/// containers' orchestrators change configurations.
const EVERY: Duration = Duration::from_secs(1);

type State = Option<(SystemTime, u64)>;

/// Some files, and how they were when they were last read.
#[derive(Clone, Default, Debug)]
pub struct Watched {
    files: Vec<(PathBuf, State)>,
}

fn state(file: &PathBuf) -> State {
    let found = std::fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}

impl Watched {
    /// Files as they are now: to be called before they are read.
    pub fn new(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let with_state = |file| {
            let state = state(&file);
            (file, state)
        };
        Self {
            files: files.into_iter().map(with_state).collect(),
        }
    }

    /// These files: those that are known as they were, others as they are now.
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

    /// Resolves with a file that has changed, once it stays as it is. A file that is not there has not changed:
    /// it is being replaced.
    pub async fn changed(&mut self) -> PathBuf {
        let mut every = tokio::time::interval(EVERY);
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
        let place = tempfile::tempdir().expect("a place");
        let [file, other] = ["file", "other"].map(|name| place.path().join(name));
        std::fs::write(&file, "a").expect("written");
        let mut watched = Watched::new([file.clone()]);
        std::fs::write(&file, "ab").expect("written");
        assert_eq!(watched.changed().await, file);
        std::fs::write(&other, "abc").expect("written");
        std::fs::rename(&other, &file).expect("replaced");
        assert_eq!(watched.changed().await, file);
    }
}
