//! Tests of interruptions: finished runs are kept, and the reader of standard output may close the pipe at any time.

use crate::test_dir::{SMALL, TestDir};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

#[test]
fn a_reader_that_has_left_is_no_failure() {
    let test_dir = TestDir::new();
    for arguments in [&["list", "keys"][..], &["man"], &["completions", "zsh"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ended = test_dir
            .command(arguments)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output();
        let ended = ended.expect("the command runs");
        assert_eq!(ended.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_study_keeps_what_had_finished_and_says_so() {
    use rustix::process::{Pid, Signal, kill_process};
    let test_dir = TestDir::new();
    // The study has 2,000 runs, so it cannot finish during the test.
    let mut arguments = vec!["compare", "tcp", "repflow", "--json", "--out", "study"];
    arguments.extend(SMALL);
    arguments.extend(["--set", "seeds=1000"]);
    let mut child = test_dir
        .command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut told = BufReader::new(child.stderr.take().expect("standard error"));
    let mut line = String::new();
    while !line.starts_with("[3/2000]") {
        line.clear();
        assert_ne!(
            told.read_line(&mut line).expect("a line"),
            0,
            "it ended before its third run"
        );
    }
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).expect("a signal");
    // The test must read both pipes to their ends, or the command would block.
    let mut out = child.stdout.take().expect("standard output");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).map(|_| text)
    });
    let mut rest = String::new();
    told.read_to_string(&mut rest).expect("the rest");
    let printed = reader.join().expect("a thread").expect("standard output");
    assert_eq!(child.wait().expect("an end").code(), Some(130), "{rest}");

    let runs: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let finished = runs.as_array().expect("a list").len();
    assert!((3..2_000).contains(&finished), "{finished}");
    let said = format!("interrupted: {finished} of 2000 runs had finished; they are in study");
    assert!(rest.lines().any(|line| line == said), "{said}\n{rest}");
    assert!(test_dir.path().join("study/report.html").exists());

    let manifest =
        std::fs::read(test_dir.path().join("study/manifest.json")).expect("the manifest");
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).expect("JSON");
    let states = manifest["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| run["state"].as_str());
    assert_eq!(
        states
            .clone()
            .filter(|state| *state == Some("finished"))
            .count(),
        finished
    );
    assert_eq!(
        states.filter(|state| *state == Some("interrupted")).count(),
        2_000 - finished
    );
}
