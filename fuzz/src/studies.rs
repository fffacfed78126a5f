//! Targets for directories of studies: their plans, locks, failures and stored answers, and places of cases as text.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::from_utf8;
use std::sync::OnceLock;
use tailcut_scenario::Scenario;
use tailcut_sim::Unattended;
use tailcut_study::{CollectOptions, Draft, Program, StudyDir, as_argument, in_words};
use tempfile::TempDir;

const SCENARIO: &str = r#"
designs = ["tcp", "repflow"]
loads = 0.3
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 4
[[workload]]
sizes = "fixed:20KB"
flows = 10
"#;

/// Directory with one finished case and one waiting case.
struct Stored {
    dir: TempDir,
    /// Files that an input may replace, with their contents. The contents of files that do not exist are `None`.
    files: Vec<(PathBuf, Option<Vec<u8>>)>,
}

/// Returns the directory of this process. It is created only once, because the creation runs a simulation.
fn stored() -> &'static Stored {
    static STORED: OnceLock<Stored> = OnceLock::new();
    STORED.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a directory");
        let by = Program {
            version: "1".to_owned(),
            build: "a build".to_owned(),
            command_line: vec!["a".to_owned(), "fuzz target".to_owned()],
        };
        let scenario = Scenario::from_text(SCENARIO).expect("a scenario");
        let draft = Draft::of(&scenario, by.clone()).expect("a plan");
        let (study, _) = StudyDir::write(dir.path().join("study"), draft).expect("a study");
        let runner = study.runner(by).expect("a runner");
        runner.run(0, &Unattended).expect("a finished case");
        let hashes = study.plan().cases.iter().map(|case| case.hash.as_str());
        let [done, waiting] = hashes.collect::<Vec<_>>()[..] else {
            panic!("two cases");
        };
        let files = [
            "plan.json".to_owned(),
            format!("done/{done}/run.json"),
            format!("locks/{waiting}.lock"),
            format!("failed/{waiting}.json"),
            "lock".to_owned(),
        ];
        let files = files.map(|file| {
            let path = study.path().join(file);
            let contents = fs::read(&path).ok();
            (path, contents)
        });
        Stored {
            files: files.into(),
            dir,
        }
    })
}

/// Replaces a file of a study, and reads, collects and cleans the study. The first byte selects the file.
///
/// # Panics
/// If the text of an error is empty, or a time is negative or not a number.
pub fn study(bytes: &[u8]) {
    let Some((&first, bytes)) = bytes.split_first() else {
        return;
    };
    let stored = stored();
    let (path, contents) = &stored.files[usize::from(first) % stored.files.len()];
    fs::write(path, bytes).expect("a file of the study");
    let out = stored.dir.path().join("out");
    read(&stored.dir.path().join("study"), &out);
    let _ = fs::remove_dir_all(&out);
    match contents {
        Some(contents) => fs::write(path, contents).expect("a file of the study"),
        None => drop(fs::remove_file(path)),
    }
}

fn read(path: &Path, out: &Path) {
    let study = match StudyDir::open(path) {
        Ok(study) => study,
        Err(error) => return shown(&error),
    };
    match study.status() {
        Ok(status) => {
            for seconds in [status.cpu_seconds_to_go(), status.seconds_to_go(4)] {
                assert!(seconds.is_none_or(|seconds| seconds >= 0.0), "{seconds:?}");
            }
        }
        Err(error) => shown(&error),
    }
    match study.prunable() {
        Ok(prunable) => {
            let mut found = prunable.results.iter().chain(&prunable.files);
            assert!(found.all(|found| found.starts_with(path) && !has_dots(found)));
        }
        Err(error) => shown(&error),
    }
    let options = CollectOptions {
        partial: true,
        any_build: true,
    };
    match study.collect(out, options) {
        Ok(collected) => assert!(collected.runs.len() == study.plan().cases.len()),
        Err(error) => shown(&error),
    }
}

/// Returns whether a path leads through the folder above another one.
fn has_dots(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "..")
}

fn shown(error: &dyn Display) {
    assert!(!error.to_string().is_empty());
}

/// Reads the text as places of cases in the plan of a study.
///
/// # Panics
/// If a place is not in the plan, or if the places change when they are written and read again.
pub fn places(bytes: &[u8]) {
    static STUDY: OnceLock<StudyDir> = OnceLock::new();
    let Ok(text) = from_utf8(bytes) else { return };
    let study = STUDY.get_or_init(|| {
        StudyDir::open(stored().dir.path().join("study")).expect("the stored study")
    });
    match study.places(Some(text)) {
        Ok(places) => {
            assert!(places.is_sorted() && !places.is_empty());
            assert!(places.iter().all(|place| study.case(*place).is_ok()));
            let again = study.places(Some(&as_argument(&places)));
            assert_eq!(again.expect("written places are read"), places);
            assert!(!in_words(&places).contains('\n'));
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(!shown.contains(char::is_control), "{shown:?}");
        }
    }
}
