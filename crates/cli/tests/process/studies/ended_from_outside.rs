//! Processes that run cases are ended from outside, and lose nothing that is done.

use super::*;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Stdio};
use std::sync::mpsc;
use std::thread;

/// A process with those that it starts, which end together.
struct Group {
    child: Child,
    told: Option<BufReader<ChildStderr>>,
}

impl Group {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut child = place
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
        // It may have ended by itself.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }
}

/// The case that a line tells the end of.
fn ended_case(line: &str) -> Option<usize> {
    let (place, _) = line.strip_prefix("case ")?.split_once(": ")?;
    line.ends_with("CPU-seconds")
        .then(|| place.parse().expect("a place"))
}

/// Starts processes over all cases, kills them once so many cases have ended, and gives these.
fn round(place: &Place, processes: usize, kill_after: usize) -> Vec<usize> {
    let arguments = ["case", "grid", "--threads", "2"];
    let mut groups: Vec<Group> = (0..processes)
        .map(|_| Group::start(place, &arguments))
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
    let place = Place::new();
    done(&place, &with(&["study", "plan", "grid"], &GRID));
    let mut ended = Vec::new();
    // Where the signal meets a process, in a run, in a file or between two, is up to the machine.
    for (processes, kill_after) in [(3, 1), (2, 9), (1, 1), (3, 17), (2, 2), (3, 30), (1, 5)] {
        ended.extend(round(&place, processes, kill_after));
    }
    ended.extend(round(&place, 3, usize::MAX));
    // A process may have been killed before it could say in a lock who it was.
    for lock in fs::read_dir(place.path().join("grid/locks")).expect("locks") {
        age(&lock.expect("a lock").path(), MINUTE);
    }
    let last = done(&place, &["case", "grid"]);
    let said = format!("{CASES} of {CASES} cases are done");
    assert!(last.stdout.starts_with(&said), "{}", last.stdout);
    let told = ended.len();
    ended.sort_unstable();
    ended.dedup();
    assert_eq!(ended.len(), told, "no case has ended twice");

    let collected = done(&place, &["study", "collect", "grid", "--out", "collected"]);
    let whole = done(&place, &with(&["compare", "--out", "whole"], &GRID));
    assert_eq!(answer(&collected), answer(&whole));
    let path = place.path();
    assert_same(&path.join("collected"), &path.join("whole"));
    let results = fs::read_dir(path.join("grid/done")).expect("results");
    let names = results.map(|one| one.expect("one").file_name().into_string().expect("UTF-8"));
    let whole = names.filter(|name| !name.ends_with(".partial")).count();
    assert_eq!(whole, CASES, "a case has one result");
}

#[test]
fn an_interrupted_case_waits_as_before() {
    let place = Place::new();
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
        &place,
        &with(&["study", "plan", "grid"], &with(&small, &long)),
    );
    for signal in [Signal::INT, Signal::TERM] {
        let mut group = Group::start(&place, &["case", "grid"]);
        let locks = place.path().join("grid/locks");
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
        // One of them hears of it, and tells the others.
        let pid = Pid::from_child(&group.child);
        rustix::process::kill_process(pid, signal).expect("a signal");
        assert_eq!(group.child.wait().expect("an end").code(), Some(130));
        assert!(!is_locked(), "its lock is given back");
        let done = fs::read_dir(place.path().join("grid/done")).expect("results");
        assert_eq!(done.count(), 0, "nothing half written is left");
    }
}

#[test]
fn a_case_whose_process_ends_without_a_word_has_failed() {
    let place = Place::new();
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
        &place,
        &with(&["study", "plan", "grid"], &with(&sizes, &flows)),
    );
    let mut group = Group::start(&place, &["case", "grid", "--threads", "1"]);
    let lock = place
        .path()
        .join("grid/locks")
        .join(format!("{}.lock", hash(&place, 1)));
    // As the system does where a job takes more memory than it has asked for.
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
    let status = done(&place, &["study", "status", "grid", "--json"]).json();
    assert_eq!((&status["done"], &status["failed"]), (&1.into(), &1.into()));
    let error = status["cases"][1]["error"].as_str().expect("an error");
    assert!(
        error.starts_with("the process that ran it ended without a word (signal: 9"),
        "{error}"
    );
    assert!(!lock.exists(), "its lock is gone");
}

/// A limit that the system holds a process to.
#[cfg(target_os = "linux")]
#[test]
fn a_case_that_takes_more_memory_than_it_may_has_failed() {
    let place = Place::new();
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
    done(&place, &plan);
    let limited = "ulimit -v 200000 && exec \"$0\" case grid --threads 1";
    let ended: Ended = std::process::Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_tailcut")])
        .current_dir(place.path())
        .output()
        .expect("a shell")
        .into();
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    let status = done(&place, &["study", "status", "grid", "--json"]).json();
    assert_eq!((&status["done"], &status["failed"]), (&1.into(), &1.into()));
    let error = status["cases"][1]["error"].as_str().expect("an error");
    assert!(error.contains("memory allocation of "), "{error}");
}
