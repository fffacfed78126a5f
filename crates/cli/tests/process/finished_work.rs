//! Tests that finished runs are never executed again, no matter how the command ended.

use crate::test_dir::{TestDir, compare};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Returns the finished runs in the subdirectory `folder` of a study: each run's name and the text of its `run.json`.
fn runs(study: &Path, folder: &str) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(study.join(folder)) else {
        return BTreeMap::new();
    };
    entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| !entry.file_name().to_string_lossy().ends_with(".partial"))
        .map(|entry| {
            let name = entry.file_name().into_string().expect("UTF-8");
            let text = fs::read_to_string(entry.path().join("run.json"));
            (name, text.expect("every present run is complete"))
        })
        .collect()
}

/// Returns the hashes of the runs in the JSON output, in order.
fn hashes(printed: &Value) -> Vec<&str> {
    let runs = printed.as_array().expect("a list").iter();
    let hashes = runs.map(|run| run["record_hash"].as_str().expect("a hash"));
    hashes.collect()
}

#[cfg(unix)]
mod ended_from_outside {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader};
    use std::process::{Child, ChildStderr, Stdio};

    const RUNS: usize = 120;

    fn start(test_dir: &TestDir, arguments: &[&str]) -> (Child, BufReader<ChildStderr>) {
        let mut child = test_dir
            .command(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let told = BufReader::new(child.stderr.take().expect("standard error"));
        (child, told)
    }

    /// Returns the run that a progress line reports as finished, such as `[3/120] tcp at load 0.5, seed 2: ...`.
    fn finished(line: &str) -> Option<String> {
        let (_, run) = line.strip_prefix('[')?.split_once("] ")?;
        Some(run.split(':').next()?.to_owned())
    }

    #[test]
    fn a_study_that_is_ended_five_times_runs_each_run_once() {
        let test_dir = TestDir::new();
        let mut arguments = vec!["compare", "tcp", "repflow", "--out", "study"];
        arguments.extend(["--topology", "leaf-spine:leaves=2,spines=2,hosts=3"]);
        arguments.extend(["--workload", "fixed:20KB", "--flows", "40", "--seeds", "60"]);
        let study = test_dir.path().join("study");
        let mut told: BTreeSet<String> = BTreeSet::new();
        let mut whole = BTreeMap::new();
        // The signal may arrive at any moment: during a simulation, during a write, or between two runs.
        let ends = [
            (Some(Signal::KILL), 9),
            (Some(Signal::INT), 1),
            (Some(Signal::TERM), 17),
            (Some(Signal::KILL), 1),
            (Some(Signal::KILL), 14),
            (None, RUNS),
        ];
        for (signal, after) in ends {
            let (mut child, lines) = start(&test_dir, &arguments);
            let mut here = 0;
            let mut ran = 0;
            for line in lines.lines() {
                let line = line.expect("a line");
                if line.ends_with(" of 120 runs are in study already") {
                    let count = line.split(' ').next().unwrap_or_default();
                    here = count.parse().expect("a number");
                }
                let Some(run) = finished(&line) else { continue };
                assert!(told.insert(run), "{line}: the run had already finished");
                ran += 1;
                if let Some(signal) = signal.filter(|_| ran == after) {
                    kill_process(Pid::from_child(&child), signal).expect("a signal");
                }
            }
            let code = child.wait().expect("an end").code();
            assert_eq!(here, whole.len(), "the command finds every complete run");
            let now = runs(&study, "runs");
            for (name, file) in &whole {
                assert_eq!(now.get(name), Some(file), "{name} was run again");
            }
            whole = now;
            match signal {
                None => assert_eq!((code, here + ran), (Some(0), RUNS)),
                Some(Signal::KILL) => assert_eq!(code, None),
                Some(_) => assert_eq!(code, Some(130)),
            }
        }
        assert_eq!(whole.len(), RUNS);
        assert_eq!(runs(&study, "kept").len(), 0);
        let left = fs::read_dir(study.join("runs")).expect("runs").count();
        assert_eq!(left, RUNS, "no incomplete file is left");
    }

    #[test]
    fn a_second_command_is_refused_while_the_first_one_writes() {
        let test_dir = TestDir::new();
        let long = compare(&["tcp"], &["--set", "seeds=5000", "--out", "study"]);
        let (mut first, mut told) = start(&test_dir, &long);
        let mut line = String::new();
        while !line.starts_with("[1/5000]") {
            line.clear();
            assert_ne!(
                told.read_line(&mut line).expect("a line"),
                0,
                "an early end"
            );
        }
        let short = compare(&["tcp"], &["--out", "study"]);
        for more in [&[][..], &["--fresh"], &["--accept-older"]] {
            let second = test_dir.run(&[&short[..], more].concat());
            assert_eq!(second.code, Some(2), "{}", second.stderr);
            let refusal = "tailcut: study: another tailcut is writing into this directory; \
                           wait until it has ended, or name another directory";
            assert_eq!(second.complaint(), refusal);
        }
        kill_process(Pid::from_child(&first), Signal::KILL).expect("a signal");
        first.wait().expect("an end");
        let third = test_dir.run(&short);
        assert_eq!(third.code, Some(0), "{}", third.stderr);
    }
}

#[test]
fn a_study_that_grows_runs_only_what_is_new() {
    let test_dir = TestDir::new();
    let study = test_dir.path().join("study");
    let small = test_dir.run(&compare(&["tcp"], &["--out", "study"]));
    assert_eq!(small.code, Some(0), "{}", small.stderr);
    let files = runs(&study, "runs");
    assert_eq!(files.len(), 2);

    let larger = |out| {
        let more = [
            "--load", "0.3,0.5", "--set", "seeds=3", "--json", "--out", out,
        ];
        compare(&["repflow", "tcp"], &more)
    };
    let grown = test_dir.run(&larger("study"));
    let said = "2 of 12 runs are in study already";
    assert!(
        grown.stderr.lines().any(|line| line == said),
        "{}",
        grown.stderr
    );
    assert!(grown.stderr.contains("[12/12]"), "{}", grown.stderr);
    let after = runs(&study, "runs");
    let stays = |(name, file)| after.get(name) == Some(file);
    assert!(files.iter().all(stays));

    // The reused runs must equal newly executed runs.
    let whole = test_dir.run(&larger("elsewhere"));
    assert_eq!(hashes(&grown.json()), hashes(&whole.json()));
}

#[test]
fn runs_of_another_question_are_kept_and_found_again() {
    let test_dir = TestDir::new();
    let study = test_dir.path().join("study");
    let first = compare(&["tcp"], &["--out", "study"]);
    let other = compare(&["dctcp"], &["--out", "study"]);
    assert_eq!(test_dir.run(&first).code, Some(0));
    let files = runs(&study, "runs");

    let ended = test_dir.run(&other);
    let said = "2 runs of earlier studies: moved to study/kept, where a later study finds them; \
                --fresh removes them";
    assert!(
        ended.stderr.lines().any(|line| line == said),
        "{}",
        ended.stderr
    );
    assert_eq!(runs(&study, "kept"), files);
    let report = test_dir.run(&["report", "study", "--json"]);
    assert!(
        !report.stdout.contains("\"tcp\""),
        "the report contains only the present study"
    );

    let again = test_dir.run(&first);
    assert!(
        again.stderr.contains("2 of 2 runs are in study already"),
        "{}",
        again.stderr
    );
    assert_eq!(runs(&study, "runs"), files);
    assert!(study.join("report.html").exists());

    let fresh = test_dir.run(&[&first[..], &["--fresh"]].concat());
    assert!(!fresh.stderr.contains("already"), "{}", fresh.stderr);
    assert!(fresh.stderr.contains("[2/2]"), "{}", fresh.stderr);
    assert_eq!(runs(&study, "kept").len(), 0);
}

#[test]
fn runs_of_another_build_are_taken_where_that_is_accepted_and_said() {
    let test_dir = TestDir::new();
    let study = test_dir.path().join("study");
    let arguments = compare(&["tcp"], &["--out", "study"]);
    assert_eq!(test_dir.run(&arguments).code, Some(0));
    // The files are edited so that another executable seems to have written them.
    for name in runs(&study, "runs").into_keys() {
        let path = study.join("runs").join(name).join("run.json");
        let text = fs::read_to_string(&path).expect("a run");
        let mut run: Value = serde_json::from_str(&text).expect("JSON");
        run["origin"]["build"] = "0".repeat(32).into();
        fs::write(&path, run.to_string()).expect("a file");
    }
    let accepting = test_dir.run(&[&arguments[..], &["--accept-older"]].concat());
    assert_eq!(accepting.code, Some(0), "{}", accepting.stderr);
    let said = "from another build of tailcut, reused with --accept-older: 2 runs";
    assert!(
        accepting.stderr.lines().any(|line| line == said),
        "{}",
        accepting.stderr
    );
    assert!(!accepting.stderr.contains("[2/2]"), "{}", accepting.stderr);

    let strict = test_dir.run(&arguments);
    let said = "from another build of tailcut, executed again: 2 runs in study; --accept-older reuses them";
    assert!(
        strict.stderr.lines().any(|line| line == said),
        "{}",
        strict.stderr
    );
    assert!(strict.stderr.contains("[2/2]"), "{}", strict.stderr);
    let both = test_dir.run(&[&arguments[..], &["--accept-older", "--fresh"]].concat());
    assert_eq!(both.code, Some(2));
}
