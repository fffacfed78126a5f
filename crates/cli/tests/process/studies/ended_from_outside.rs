//! Tests in which signals or limits kill processes that run cases. Finished cases are never lost.

use super::*;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Stdio};
use std::sync::mpsc;
use std::thread;

/// Process group: a process and its children. A signal to the group kills all of them.
struct Group {
    child: Child,
    told: Option<BufReader<ChildStderr>>,
}

impl Group {
    fn start(test_dir: &TestDir, arguments: &[&str]) -> Self {
        let mut child = test_dir
            .command(arguments)
            .process_group(0)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let told = child.stderr.take().map(BufReader::new);
        Self { child, told }
    }

    fn signal(&self, signal: Signal) {
        // The call fails if the process has already ended.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }
}

/// Returns the number of the case that a line of the output reports as ended.
fn ended_case(line: &str) -> Option<usize> {
    let (case, _) = line.strip_prefix("case ")?.split_once(": ")?;
    line.ends_with("CPU-seconds")
        .then(|| case.parse().expect("a case"))
}

/// Starts processes that run all cases, and kills them after `kill_after` cases have ended. Returns the ended cases.
fn round(test_dir: &TestDir, processes: usize, kill_after: usize) -> Vec<usize> {
    let arguments = ["case", "grid", "--threads", "2"];
    let mut groups: Vec<Group> = (0..processes)
        .map(|_| Group::start(test_dir, &arguments))
        .collect();
    let (tell, told) = mpsc::channel();
    for group in &mut groups {
        let (lines, tell) = (group.told.take().expect("standard error"), tell.clone());
        thread::spawn(move || {
            let lines = lines.lines().map_while(Result::ok);
            lines
                .filter_map(|line| ended_case(&line))
                .try_for_each(|case| tell.send(case))
        });
    }
    drop(tell);
    let mut ended = Vec::new();
    for case in told {
        ended.push(case);
        if ended.len() == kill_after {
            groups.iter().for_each(|group| group.signal(Signal::KILL));
        }
    }
    for group in &mut groups {
        group.child.wait().expect("an end");
    }
    ended
}

#[test]
fn a_grid_whose_processes_are_killed_again_and_again_is_the_same_in_the_end() {
    let test_dir = TestDir::new();
    done(&test_dir, &with(&["study", "plan", "grid"], &GRID));
    let mut ended = Vec::new();
    // The signal may arrive at any moment: during a run, during a write, or between two runs.
    for (processes, kill_after) in [(3, 1), (2, 9), (1, 1), (3, 17), (2, 2), (3, 30), (1, 5)] {
        ended.extend(round(&test_dir, processes, kill_after));
    }
    ended.extend(round(&test_dir, 3, usize::MAX));
    // A process may be killed before it has written its name to its lock.
    for lock in fs::read_dir(test_dir.path().join("grid/locks")).expect("locks") {
        age(&lock.expect("a lock").path(), MINUTE);
    }
    let last = done(&test_dir, &["case", "grid"]);
    let said = format!("{CASES} of {CASES} cases are done");
    assert!(last.stdout.starts_with(&said), "{}", last.stdout);
    let told = ended.len();
    ended.sort_unstable();
    ended.dedup();
    assert_eq!(ended.len(), told, "no case has ended twice");

    let collected = done(
        &test_dir,
        &["study", "collect", "grid", "--out", "collected"],
    );
    let whole = done(&test_dir, &with(&["compare", "--out", "whole"], &GRID));
    assert_eq!(answer(&collected), answer(&whole));
    let path = test_dir.path();
    assert_same(&path.join("collected"), &path.join("whole"));
    let results = fs::read_dir(path.join("grid/done")).expect("results");
    let names = results.map(|one| one.expect("one").file_name().into_string().expect("UTF-8"));
    let whole = names.filter(|name| !name.ends_with(".partial")).count();
    assert_eq!(whole, CASES, "a case has one result");
}

#[test]
fn an_interrupted_case_waits_as_before() {
    let test_dir = TestDir::new();
    let long = [
        "--flows",
        "1000000",
        "--duration",
        "1000s",
        "--set",
        "sample_every=1s",
    ];
    let small = ["tcp", "--topology", "single-switch:hosts=4", "--seeds", "1"];
    done(
        &test_dir,
        &with(&["study", "plan", "grid"], &with(&small, &long)),
    );
    for signal in [Signal::INT, Signal::TERM] {
        let mut group = Group::start(&test_dir, &["case", "grid"]);
        let locks = test_dir.path().join("grid/locks");
        let is_locked = || {
            let mut names = fs::read_dir(&locks).expect("locks").map_while(Result::ok);
            names.any(|name| name.path().extension().is_some_and(|end| end == "lock"))
        };
        while !is_locked() {
            assert_eq!(
                group.child.try_wait().expect("a look"),
                None,
                "an early end"
            );
            thread::yield_now();
        }
        // Only the parent process receives the signal, and the parent stops its children.
        let pid = Pid::from_child(&group.child);
        rustix::process::kill_process(pid, signal).expect("a signal");
        assert_eq!(group.child.wait().expect("an end").code(), Some(130));
        assert!(!is_locked(), "the process has released its lock");
        let done = fs::read_dir(test_dir.path().join("grid/done")).expect("results");
        assert_eq!(done.count(), 0, "no incomplete file is left");
    }
}

#[test]
fn a_case_whose_process_ends_without_a_word_has_failed() {
    let test_dir = TestDir::new();
    let sizes = ["tcp", "--topology", "single-switch:hosts=4", "--seeds", "1"];
    let flows = [
        "--duration",
        "1000s",
        "--sweep",
        "flows=20,1000000",
        "--set",
        "sample_every=1s",
    ];
    done(
        &test_dir,
        &with(&["study", "plan", "grid"], &with(&sizes, &flows)),
    );
    let mut group = Group::start(&test_dir, &["case", "grid", "--threads", "1"]);
    let lock = test_dir
        .path()
        .join("grid/locks")
        .join(format!("{}.lock", hash(&test_dir, 1)));
    // The test kills the process as the operating system does when a job exceeds its memory limit.
    let pid = loop {
        let told = fs::read(&lock).ok();
        let told: Option<Value> = told.and_then(|told| serde_json::from_slice(&told).ok());
        if let Some(pid) = told.and_then(|holder| holder["pid"].as_i64()) {
            break pid;
        }
        assert_eq!(
            group.child.try_wait().expect("a look"),
            None,
            "an early end"
        );
        thread::yield_now();
    };
    let pid = Pid::from_raw(pid.try_into().expect("a number")).expect("a process");
    rustix::process::kill_process(pid, Signal::KILL).expect("a signal");
    assert_eq!(group.child.wait().expect("an end").code(), Some(3));
    let status = done(&test_dir, &["study", "status", "grid", "--json"]).json();
    assert_eq!((&status["done"], &status["failed"]), (&1.into(), &1.into()));
    let error = status["cases"][1]["error"].as_str().expect("an error");
    assert!(
        error.starts_with("the process that ran it ended without a message (signal: 9"),
        "{error}"
    );
    assert!(!lock.exists(), "its lock is gone");
}

/// In this test, the operating system enforces a memory limit on the process.
#[cfg(target_os = "linux")]
#[test]
fn a_case_that_takes_more_memory_than_it_may_has_failed() {
    let test_dir = TestDir::new();
    let sizes = [
        "tcp",
        "--topology",
        "single-switch:hosts=16,rate=100Gbps",
        "--workload",
        "fixed:1KB",
    ];
    let flows = [
        "--duration",
        "1000s",
        "--sweep",
        "flows=20,600000",
        "--set",
        "sample_every=1s",
    ];
    let plan = with(
        &["study", "plan", "grid", "--seeds", "1"],
        &with(&sizes, &flows),
    );
    done(&test_dir, &plan);
    let limited = "ulimit -v 200000 && exec \"$0\" case grid --threads 1";
    let ended: Ended = std::process::Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_tailcut")])
        .current_dir(test_dir.path())
        .output()
        .expect("a shell")
        .into();
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    let status = done(&test_dir, &["study", "status", "grid", "--json"]).json();
    assert_eq!((&status["done"], &status["failed"]), (&1.into(), &1.into()));
    let error = status["cases"][1]["error"].as_str().expect("an error");
    assert!(error.contains("memory allocation of "), "{error}");
}
