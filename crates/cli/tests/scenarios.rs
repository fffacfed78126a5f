//! Regression test of all scenarios in `scenarios/`.
//! A short run of each design must give the same tables as before, value by value.
//!
//! `scenarios/settings.txt` shortens each scenario, and `scenarios/hashes.txt` contains the hashes of all tables.
//! A change of behaviour changes hashes. If hashes change, the test writes the new hashes and prints their path.
//! Commit the new hashes with the change, and give the reason in the commit message.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tailcut_record::Fingerprint;

const SETTINGS: &str = include_str!("scenarios/settings.txt");
const HASHES: &str = include_str!("scenarios/hashes.txt");

/// Number of hexadecimal digits of a hash in the table.
const DIGITS: usize = 16;

fn scenarios() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Returns the path of each scenario below `scenarios/`, with the settings that shorten the scenario.
fn settings() -> Vec<(&'static str, Vec<&'static str>)> {
    let lines = SETTINGS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.split_whitespace();
            (
                words.next().expect("a line that is not empty"),
                words.collect(),
            )
        })
        .collect()
}

/// Returns the files below `directory` whose names end with `.toml`, relative to `root`.
fn files(root: &Path, directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).expect("the directory is there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                return files(root, &path);
            }
            let relative = path.strip_prefix(root).expect("below the root");
            let name = relative.to_string_lossy().replace('\\', "/");
            BTreeSet::from_iter(name.ends_with(".toml").then_some(name))
        })
        .collect()
}

fn hash(text: &str) -> String {
    let mut hash = Fingerprint::new();
    hash.write_str(text).expect("hashing never fails");
    hash.digits()[..DIGITS].to_owned()
}

/// Returns whether a column is part of the key of the run. The key is the same in all rows.
/// Names of swept keys contain a dot.
fn tells_the_run(column: &str) -> bool {
    ["design", "load", "seed"].contains(&column) || column.contains('.')
}

/// Returns the hash of a table's values. Names of columns and the columns of the run's key are left out.
/// Returns "-" if the table is missing.
fn table(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let Some((header, rows)) = text.split_once('\n').filter(|(_, rows)| !rows.is_empty()) else {
        return "-".to_owned();
    };
    let names = header.rsplit(',');
    let last = names.take_while(|name| tells_the_run(name)).count();
    let kept = rows.lines().map(|row| {
        let fields = row.rsplitn(last + 1, ',').last();
        format!("{}\n", fields.expect("a row has a first field"))
    });
    hash(&kept.collect::<String>())
}

/// Runs a shortened scenario. Returns a line for each run with the hash of each table.
fn run(name: &str, settings: &[&str]) -> String {
    let out = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailcut"));
    command
        .arg("run")
        .arg(scenarios().join(name))
        .args(["--json", "--threads", "1", "--out"]);
    command.arg(out.path()).args(["--set", "tables=csv"]);
    for setting in settings {
        match setting.strip_prefix("sweep:") {
            Some(sweep) => command.args(["--sweep", sweep]),
            None => command.args(["--set", setting]),
        };
    }
    let done = command.output().expect("tailcut runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}: {said}");
    let mut lines = String::new();
    let mut runs: Vec<PathBuf> = fs::read_dir(out.path().join("runs"))
        .expect("runs")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    runs.sort();
    for run in runs {
        let summary = fs::read(run.join("run.json")).expect("a summary");
        let summary: Value = serde_json::from_slice(&summary).expect("JSON");
        let measured = ["switch_waits", "host_bursts", "arrived", "sampling"];
        let measured: Vec<String> = measured
            .iter()
            .map(|key| summary[key].to_string())
            .collect();
        let text = |key: &str| summary[key].as_str().unwrap_or("-").to_owned();
        write!(
            lines,
            "{name} {} record {}",
            text("design"),
            &text("record_hash")[..DIGITS]
        )
        .expect("a string grows");
        for file in ["flows", "requests", "sessions", "ports", "queues", "links"] {
            let hash = table(&run.join(format!("{file}.csv")));
            write!(lines, " {file} {hash}").expect("a string grows");
        }
        writeln!(lines, " measures {}", hash(&measured.join("\n"))).expect("a string grows");
    }
    lines
}

#[test]
fn every_scenario_has_its_settings() {
    let named: BTreeSet<String> = settings()
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    assert_eq!(named, files(&scenarios(), &scenarios()));
}

#[test]
fn every_table_of_every_scenario_is_as_it_was() {
    let settings = settings();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![String::new(); settings.len()]);
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some((name, settings)) = settings.get(number) else {
                        return;
                    };
                    let lines = run(name, settings);
                    found.lock().expect("no run has failed")[number] = lines;
                }
            });
        }
    });
    let found = found.into_inner().expect("no run has failed").concat();
    let changed: Vec<&str> = found
        .lines()
        .filter(|line| !HASHES.lines().any(|known| known == *line))
        .collect();
    if found != HASHES {
        let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hashes.txt");
        fs::write(&new, &found).expect("the new hashes are written");
        panic!(
            "{} of {} runs differ; the new table is {}:\n{}",
            changed.len(),
            found.lines().count(),
            new.display(),
            changed.join("\n")
        );
    }
}
