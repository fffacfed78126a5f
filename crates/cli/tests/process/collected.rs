//! Comparison of a collected study with the output of a single command.

use crate::test_dir::Ended;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Returns the files of all runs in a study's directory, by path. The `run.json` files are returned without their cost.
fn runs(study: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for run in fs::read_dir(study.join("runs")).expect("runs") {
        let run = run.expect("a run");
        for file in fs::read_dir(run.path()).expect("a run") {
            let file = file.expect("a file").path();
            let mut bytes = fs::read(&file).expect("a file");
            if file.ends_with("run.json") {
                let mut told: Value = serde_json::from_slice(&bytes).expect("JSON");
                for cost in ["cpu_seconds", "wall_seconds", "peak_rss_bytes"] {
                    told[cost] = Value::Null;
                }
                bytes = told.to_string().into_bytes();
            }
            let name = file.strip_prefix(study).expect("within").display();
            files.insert(name.to_string(), bytes);
        }
    }
    files
}

/// Returns the manifest of a study without its writer and time.
fn manifest(study: &Path) -> Value {
    let bytes = fs::read(study.join("manifest.json")).expect("a manifest");
    let mut manifest: Value = serde_json::from_slice(&bytes).expect("JSON");
    for of_writer in ["command_line", "started_at"] {
        manifest[of_writer] = Value::Null;
    }
    manifest
}

/// Checks that two directories contain the same study: the same runs, manifest and report.
pub fn assert_same(ours: &Path, theirs: &Path) {
    assert_eq!(manifest(ours), manifest(theirs));
    let (ours_runs, theirs_runs) = (runs(ours), runs(theirs));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours_runs), names(&theirs_runs));
    for (name, bytes) in &ours_runs {
        assert_eq!(Some(bytes), theirs_runs.get(name), "{name}");
    }
    assert!(ours.join("report.html").exists());
}

/// Returns the standard output of a command that has written a report, without the path of the report.
pub fn answer(ended: &Ended) -> &str {
    let end = ended.stdout.find("Report: ").expect("a report");
    &ended.stdout[..end]
}
