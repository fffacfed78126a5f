//! What a directory holds of earlier studies. A new study takes the runs that are its own and sets
//! the others aside; none is removed unless that was asked for.

use crate::layout::{KEPT, RUN, RUNS};
use crate::manifest::{Manifest, Origin, RunState, is_plain_name};
use crate::stored::StoredRun;
use crate::whole_file::{PARTIAL, keep_names, read_json};
use crate::{Error, RunSummary, run_files};
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Which runs that are there already a study takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Earlier {
    /// Those of the same configuration and executable.
    #[default]
    SameBuild,
    /// Those of the same configuration; of several the newest, the same executable first.
    AnyBuild,
    /// None: they are removed.
    Remove,
}

/// What became of the runs that were there already.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Found {
    /// By planned run: the summary of the run that was there and is taken.
    pub taken: Vec<Option<RunSummary>>,
    /// How many of these are of another executable.
    pub of_other_builds: usize,
    /// Planned runs that are there of another executable only, and are not taken.
    pub left_of_other_builds: usize,
    /// Runs that are no part of the study and were moved from `runs/` to `kept/`.
    pub set_aside: usize,
    /// Why runs that were there are not taken: their files are not what was written.
    pub damaged: Vec<String>,
}

impl Found {
    /// How many planned runs were there already.
    pub fn count(&self) -> usize {
        self.taken.iter().flatten().count()
    }
}

/// A run's directory, or what looks like one.
struct Known {
    /// Its name within `place`.
    name: String,
    /// [`RUNS`] or [`KEPT`].
    place: &'static str,
    /// `None` where the run does not say, or has not finished.
    origin: Option<Origin>,
    /// `None` where it has not finished.
    finished_at: Option<SystemTime>,
}

impl Known {
    fn path(&self, dir: &Path) -> PathBuf {
        dir.join(self.place).join(&self.name)
    }
}

/// All of `run.json` that a search needs.
#[derive(Deserialize)]
struct OriginOnly {
    #[serde(default)]
    origin: Option<Origin>,
}

/// Takes from `dir` the runs that `manifest` plans: they are in `runs/` then, and finished in the
/// manifest. Whatever else was there is in `kept/`.
pub(crate) fn take(dir: &Path, manifest: &mut Manifest, earlier: Earlier) -> Result<Found, Error> {
    let mut known = directories(dir, RUNS)?;
    known.extend(directories(dir, KEPT)?);
    let mut by_config: HashMap<&str, Vec<&Known>> = HashMap::new();
    for run in &known {
        if let Some(origin) = &run.origin {
            by_config.entry(&origin.config).or_default().push(run);
        }
    }
    let mut found = Found::default();
    let mut taken: Vec<&Known> = Vec::new();
    for planned in &mut manifest.runs {
        let chosen = planned.origin.as_ref().and_then(|origin| {
            let alike = by_config.get(origin.config.as_str())?;
            choose(dir, origin, alike, earlier, &mut found)
        });
        found.taken.push(chosen.map(|(run, summary)| {
            planned.id.clone_from(&run.name);
            planned.origin.clone_from(&run.origin);
            planned.state = RunState::Finished;
            taken.push(run);
            summary
        }));
    }
    let names: HashSet<(&str, &str)> = taken.iter().map(|r| (r.place, r.name.as_str())).collect();
    for run in known.iter().filter(|run| run.place == RUNS) {
        if !names.contains(&(RUNS, run.name.as_str())) {
            set_aside(dir, run)?;
            found.set_aside += usize::from(run.finished_at.is_some());
        }
    }
    for run in taken.iter().filter(|run| run.place == KEPT) {
        move_to(&run.path(dir), &dir.join(RUNS).join(&run.name))?;
    }
    for place in [RUNS, KEPT] {
        keep_names(&dir.join(place));
    }
    Ok(found)
}

/// The run to take for `origin` among those of the same configuration.
fn choose<'a>(
    dir: &Path,
    origin: &Origin,
    alike: &[&'a Known],
    earlier: Earlier,
    found: &mut Found,
) -> Option<(&'a Known, RunSummary)> {
    let is_same = |run: &Known| run.origin.as_ref() == Some(origin);
    let mut best_first = alike.to_vec();
    best_first.sort_by_key(|run| Reverse((is_same(run), run.finished_at)));
    let mut damaged = Vec::new();
    for run in best_first {
        if !is_same(run) && earlier != Earlier::AnyBuild {
            found.left_of_other_builds += 1;
            break;
        }
        match StoredRun::open(run.path(dir)).and_then(StoredRun::checked) {
            Ok(stored) => {
                found.of_other_builds += usize::from(!is_same(run));
                return Some((run, stored.summary));
            }
            Err(error) => damaged.push(error.to_string()),
        }
    }
    found.damaged.append(&mut damaged);
    None
}

/// Removes every run of `dir`, and nothing else.
pub(crate) fn remove_runs(dir: &Path) -> Result<(), Error> {
    for place in [RUNS, KEPT] {
        for run in directories(dir, place)? {
            run_files::remove(&run.path(dir))?;
        }
    }
    Ok(())
}

/// The directories in a place of `dir`. What a killed program left half written is removed.
fn directories(dir: &Path, place: &'static str) -> Result<Vec<Known>, Error> {
    let path = dir.join(place);
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("open", &path)(error)),
    };
    let mut known = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::io("read", &path))?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if !entry.path().is_dir() || !is_plain_name(&name) {
            continue;
        }
        if name.ends_with(PARTIAL) {
            run_files::remove(&entry.path())?;
            continue;
        }
        let file = entry.path().join(RUN);
        let written = fs::metadata(&file).and_then(|file| file.modified());
        known.push(Known {
            name,
            place,
            origin: read_json(&file).ok().and_then(|run: OriginOnly| run.origin),
            finished_at: written.ok(),
        });
    }
    known.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(known)
}

fn set_aside(dir: &Path, run: &Known) -> Result<(), Error> {
    let kept = dir.join(KEPT);
    fs::create_dir_all(&kept).map_err(Error::io("create", &kept))?;
    let mut to = kept.join(&run.name);
    let mut number = 2;
    while to.exists() {
        to = kept.join(format!("{}-{number}", run.name));
        number += 1;
    }
    move_to(&run.path(dir), &to)
}

fn move_to(from: &Path, to: &Path) -> Result<(), Error> {
    fs::rename(from, to).map_err(Error::io("move", from))
}
