//! Reuse of runs that earlier studies left in the directory.
//! A new study reuses the runs that it plans, and moves all other runs to `kept/`.
//! Runs are removed only with [`Earlier::Remove`].

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

/// Rule that selects the existing runs that a study reuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Earlier {
    /// Runs with the same configuration and executable.
    #[default]
    SameBuild,
    /// Runs with the same configuration. Runs of the same executable come first, and newer runs precede older runs.
    AnyBuild,
    /// No runs. All existing runs are removed.
    Remove,
}

/// Existing runs: reused, moved or damaged.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Found {
    /// Summary of the reused run, for each planned run. `None`: the planned run must be executed.
    pub taken: Vec<Option<RunSummary>>,
    /// Number of reused runs that another executable wrote.
    pub of_other_builds: usize,
    /// Number of planned runs that are not reused, because only other executables have executed them.
    pub left_of_other_builds: usize,
    /// Number of runs that the study does not plan, and that were moved from `runs/` to `kept/`.
    pub set_aside: usize,
    /// Error texts of existing runs that are not reused because their files were changed after writing.
    pub damaged: Vec<String>,
}

impl Found {
    /// Returns the number of planned runs that are reused.
    pub fn count(&self) -> usize {
        self.taken.iter().flatten().count()
    }
}

/// Run directory that an earlier study left. The run may be unfinished.
struct Known {
    /// Name of the run's directory within its parent directory.
    name: String,
    /// Parent directory of the run: [`RUNS`] or [`KEPT`].
    place: &'static str,
    /// Origin of the run. `None` if `run.json` is missing or contains no origin.
    origin: Option<Origin>,
    /// Time at which `run.json` was written; `None` if the run has not finished.
    finished_at: Option<SystemTime>,
}

impl Known {
    fn path(&self, dir: &Path) -> PathBuf {
        dir.join(self.place).join(&self.name)
    }
}

/// Part of `run.json` that the search for existing runs needs.
#[derive(Deserialize)]
struct OriginOnly {
    #[serde(default)]
    origin: Option<Origin>,
}

/// Reuses the existing runs of `dir` that `manifest` plans.
/// After this call, the manifest marks reused runs as finished, and they are in `runs/`. All other runs are in `kept/`.
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
    // Other runs leave `runs/` first, because a run from `kept/` may have the same name.
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

/// Returns the run to reuse for `origin`, chosen among the runs with the same configuration.
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
            // Runs of the same executable come first, so another executable wrote all remaining runs.
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
    // Damaged runs are only reported if no other run replaces them.
    found.damaged.append(&mut damaged);
    None
}

/// Removes all runs of `dir`. Other files stay.
pub(crate) fn remove_runs(dir: &Path) -> Result<(), Error> {
    for place in [RUNS, KEPT] {
        for run in directories(dir, place)? {
            run_files::remove(&run.path(dir))?;
        }
    }
    Ok(())
}

/// Returns the run directories in the directory `place` of `dir`.
/// Removes the incomplete directories that killed programs left.
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
    // The order of a directory's entries depends on the file system.
    known.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(known)
}

/// Moves a run to `kept/`. If another run has the same name there, a number is added to the name.
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
