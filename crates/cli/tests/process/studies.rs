//! A study as cases: any number of processes run them, whatever ends a process loses none that is done,
//! and what is collected is what one command would have written.

use crate::place::{Ended, Place};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A grid of three keys with four values each, and two seeds: 128 cases that take a moment.
const GRID: [&str; 15] = [
    "tcp",
    "--topology",
    "leaf-spine:leaves=2,spines=2,hosts=3",
    "--workload",
    "fixed:20KB",
    "--flows",
    "20",
    "--seeds",
    "2",
    "--sweep",
    "queue.limit=10,25,50,100",
    "--sweep",
    "tcp.min_rto=1,2,5,10ms",
    "--sweep",
    "tcp.initial_window=2,4,10,20 segments",
];

const CASES: usize = 128;

/// Twelve cases.
const SMALL: [&str; 11] = [
    "tcp",
    "dctcp",
    "--topology",
    "leaf-spine:leaves=2,spines=2,hosts=3",
    "--workload",
    "fixed:20KB",
    "--flows",
    "50",
    "--load",
    "0.3,0.5",
    "--seeds=3",
];

fn with<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<&'a str> {
    [before, after].concat()
}

/// A command that has to succeed.
fn done(place: &Place, arguments: &[&str]) -> Ended {
    let ended = place.run(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    ended
}

/// The files of all runs of a study's directory by their paths there; of `run.json` all but what it cost.
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

/// The manifest but for who wrote it, when.
fn manifest(study: &Path) -> Value {
    let bytes = fs::read(study.join("manifest.json")).expect("a manifest");
    let mut manifest: Value = serde_json::from_slice(&bytes).expect("JSON");
    for of_writer in ["command_line", "started_at"] {
        manifest[of_writer] = Value::Null;
    }
    manifest
}

/// That two directories hold the same study: runs, manifest and report.
fn assert_same(ours: &Path, theirs: &Path) {
    assert_eq!(manifest(ours), manifest(theirs));
    let (ours_runs, theirs_runs) = (runs(ours), runs(theirs));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours_runs), names(&theirs_runs));
    for (name, bytes) in &ours_runs {
        assert_eq!(Some(bytes), theirs_runs.get(name), "{name}");
    }
    assert!(ours.join("report.html").exists());
}

/// The standard output of a command that told a report, without the report's path.
fn answer(ended: &Ended) -> &str {
    let end = ended.stdout.find("Report: ").expect("a report");
    &ended.stdout[..end]
}

#[test]
fn what_is_collected_is_what_one_command_writes() {
    let place = Place::new();
    let plan = done(&place, &with(&["study", "plan", "grid"], &SMALL));
    assert!(
        plan.stdout.starts_with("12 cases in grid, 0..11: 0 done"),
        "{}",
        plan.stdout
    );
    let part = done(&place, &["case", "grid", "3..5"]);
    let said = "3 of 3 cases are done in grid, 3 of them now\n";
    assert_eq!(part.stdout, said, "{}", part.stderr);
    // Without a range: all that are left.
    let rest = done(&place, &["case", "grid", "--json"]).json();
    assert_eq!((&rest["done"], &rest["run"]), (&12.into(), &9.into()));
    let again = done(&place, &["case", "grid", "--json"]).json();
    assert_eq!((&again["done"], &again["run"]), (&12.into(), &0.into()));

    let collected = done(&place, &["study", "collect", "grid", "--out", "collected"]);
    let whole = done(&place, &with(&["compare", "--out", "whole"], &SMALL));
    assert_eq!(answer(&collected), answer(&whole));
    let path = place.path();
    assert_same(&path.join("collected"), &path.join("whole"));
    // The command finds its own runs there.
    let found = done(&place, &with(&["compare", "--out", "collected"], &SMALL));
    let said = "12 of 12 runs are in collected already";
    assert!(
        found.stderr.lines().any(|line| line == said),
        "{}",
        found.stderr
    );
}

#[cfg(unix)]
mod ended_from_outside {
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
        // Some locks may have been those of processes that were about to end.
        let last = done(&place, &["case", "grid"]);
        assert!(
            last.stdout.starts_with("128 of 128 cases are done"),
            "{}",
            last.stdout
        );
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
}
