//! Tests of studies that consist of cases. Any number of processes run the cases.
//! No finished case is lost when a process ends. The collected results equal the results of one command.

#[cfg(unix)]
mod ended_from_outside;
#[cfg(unix)]
mod submitted;

use crate::collected::{answer, assert_same};
use crate::grid::{CASES, GRID};
use crate::test_dir::{Ended, TestDir};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Arguments of a study with twelve cases.
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

/// Runs a command that must succeed, and returns its output.
fn done(test_dir: &TestDir, arguments: &[&str]) -> Ended {
    let ended = test_dir.run(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    ended
}

#[test]
fn what_is_collected_is_what_one_command_writes() {
    let test_dir = TestDir::new();
    let plan = done(&test_dir, &with(&["study", "plan", "grid"], &SMALL));
    assert!(
        plan.stdout.starts_with("12 cases in grid, 0..11: 0 done"),
        "{}",
        plan.stdout
    );
    let part = done(&test_dir, &["case", "grid", "3..5"]);
    let said = "3 of 3 cases are done in grid, 3 of them now\n";
    assert_eq!(part.stdout, said, "{}", part.stderr);
    // Without a range of cases, the command runs all cases that are left.
    let rest = done(&test_dir, &["case", "grid", "--json"]).json();
    assert_eq!((&rest["done"], &rest["run"]), (&12.into(), &9.into()));
    let again = done(&test_dir, &["case", "grid", "--json"]).json();
    assert_eq!((&again["done"], &again["run"]), (&12.into(), &0.into()));

    let collected = done(
        &test_dir,
        &["study", "collect", "grid", "--out", "collected"],
    );
    let whole = done(&test_dir, &with(&["compare", "--out", "whole"], &SMALL));
    assert_eq!(answer(&collected), answer(&whole));
    let path = test_dir.path();
    assert_same(&path.join("collected"), &path.join("whole"));
    // `compare` must reuse the collected runs.
    let found = done(&test_dir, &with(&["compare", "--out", "collected"], &SMALL));
    let said = "12 of 12 runs are in collected already";
    assert!(
        found.stderr.lines().any(|line| line == said),
        "{}",
        found.stderr
    );
}

/// Creates the lock of a case as another machine would have written it. Returns the path of the lock.
fn lock(test_dir: &TestDir, case: usize, silent: Duration) -> PathBuf {
    let holder = serde_json::json!({
        "host": "elsewhere",
        "pid": 4711,
        "pids_of": "another boot",
        "since": "2026-01-01T00:00:00Z",
        "heartbeat": "2026-01-01T00:00:00Z",
        "mark": "0123456789abcdef",
    });
    let path = test_dir
        .path()
        .join("grid/locks")
        .join(format!("{}.lock", hash(test_dir, case)));
    fs::write(&path, holder.to_string()).expect("a lock");
    age(&path, silent);
    path
}

/// Sets the modification time of a file or directory to `silent` before now.
fn age(path: &Path, silent: Duration) {
    let file = File::open(path).expect("a file");
    file.set_modified(SystemTime::now() - silent)
        .expect("a time");
}

/// Returns the hash of a case.
fn hash(test_dir: &TestDir, case: usize) -> String {
    let plan = fs::read(test_dir.path().join("grid/plan.json")).expect("a plan");
    let plan: Value = serde_json::from_slice(&plan).expect("JSON");
    plan["cases"][case]["hash"]
        .as_str()
        .expect("a hash")
        .to_owned()
}

const MINUTE: Duration = Duration::from_secs(61);

#[test]
fn a_case_of_another_process_is_skipped_until_that_is_silent_for_a_minute() {
    let test_dir = TestDir::new();
    done(&test_dir, &with(&["study", "plan", "grid"], &SMALL));
    let path = lock(&test_dir, 4, Duration::from_secs(40));
    let ended = test_dir.run(&["case", "grid", "3..5"]);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    let said = "case 4: skipped, process 4711 on elsewhere runs it";
    assert!(
        ended.stderr.lines().any(|line| line == said),
        "{}",
        ended.stderr
    );
    assert_eq!(
        ended.complaint(),
        "tailcut: other processes run 1 of 3 cases"
    );
    assert!(
        ended.stdout.starts_with("2 of 3 cases are done"),
        "{}",
        ended.stdout
    );
    let status = done(&test_dir, &["study", "status", "grid"]).stdout;
    let said = "case 4: tcp at load 0.3, seed 2: running: process 4711 on elsewhere, for 40 s, silent for 40 s";
    assert!(status.contains(said), "{status}");

    age(&path, MINUTE);
    let status = done(&test_dir, &["study", "status", "grid", "--json"]).json();
    assert_eq!((&status["done"], &status["stale"]), (&2.into(), &1.into()));
    assert_eq!(status["cases"][4]["host"], "elsewhere");
    done(&test_dir, &["case", "grid", "4"]);
    assert!(!path.exists(), "the lock was taken over and then released");
    let status = done(&test_dir, &["study", "status", "grid", "--json"]).json();
    assert_eq!(
        (&status["done"], &status["waiting"]),
        (&3.into(), &9.into())
    );
    assert!(status["to_go_cpu_seconds"].as_f64().expect("a time") > 0.0);
}

/// Scenario with incasts of two and of six senders.
/// The network has only four senders, so the incast of six senders fails.
const FAILING: &str = r#"
designs = ["tcp"]
loads = 0.3
flows = 20
seeds = 2
[topology]
kind = "single-switch"
hosts = 8
[[workload]]
sizes = "fixed:20KB"
matrix = "pairs"
pairs = [[0, 4], [1, 5], [2, 6], [3, 7]]
fan_in_below = "100KB"
[sweep]
workload.fan_in_senders = [6, 2]
"#;

#[test]
fn a_case_that_fails_is_kept_as_data_and_the_others_go_on() {
    let test_dir = TestDir::new();
    test_dir.file("failing.toml", FAILING);
    done(
        &test_dir,
        &["study", "plan", "grid", "--scenario", "failing.toml"],
    );
    for _ in 0..2 {
        let ended = test_dir.run(&["case", "grid", "--threads", "1"]);
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        let said = "tailcut: 2 of 4 cases failed: 0, 2; `tailcut study status` shows why";
        assert_eq!(ended.complaint(), said);
        assert!(
            ended.stdout.starts_with("2 of 4 cases are done"),
            "{}",
            ended.stdout
        );
    }
    let path = test_dir
        .path()
        .join("grid/failed")
        .join(format!("{}.json", hash(&test_dir, 2)));
    let failure: Value = serde_json::from_slice(&fs::read(path).expect("a failure")).expect("JSON");
    assert_eq!(
        (&failure["design"], &failure["seed"]),
        (&"tcp".into(), &2.into())
    );
    let error = failure["error"].as_str().expect("an error");
    assert!(error.starts_with("workload: "), "{error}");
    assert!(failure["command_line"].as_array().expect("a command").len() > 2);
    let status = done(&test_dir, &["study", "status", "grid"]).stdout;
    assert!(status.contains(&format!("failed: {error}")), "{status}");

    let refused = test_dir.run(&["study", "collect", "grid", "--out", "out"]);
    assert_eq!(refused.code, Some(2));
    let said = "tailcut: grid: found 2 of 4 cases missing (50.0 %), 2 of them failed: 0, 2; allowed: all \
                cases done, or --partial for a report of the others";
    assert_eq!(refused.complaint(), said);
    let part = done(
        &test_dir,
        &["study", "collect", "grid", "--partial", "--out", "out"],
    );
    let said = "a part of the study: 2 of 4 cases, 50.0 %";
    assert!(
        part.stderr.lines().any(|line| line == said),
        "{}",
        part.stderr
    );

    let again = done(&test_dir, &["study", "retry", "grid"]);
    assert_eq!(
        again.stdout,
        "failed cases in grid that will be run again: 0, 2\n"
    );
    assert_eq!(
        fs::read_dir(test_dir.path().join("grid/failed"))
            .expect("failures")
            .count(),
        0
    );
    assert_eq!(
        test_dir.run(&["case", "grid"]).code,
        Some(3),
        "they fail again"
    );
}

#[test]
fn a_plan_over_a_plan_keeps_what_is_done_until_it_is_pruned() {
    let test_dir = TestDir::new();
    let rows = |bytes: u32| {
        let rows: String = (0..20)
            .map(|row| format!("{row},{},9,{bytes}\n", row % 8))
            .collect();
        format!("start_ns,src,dst,bytes\n{rows}")
    };
    let plan = |more: &[&str]| {
        let plan = with(
            &["study", "plan", "grid", "tcp", "-w", "trace:flows.csv"],
            more,
        );
        done(&test_dir, &plan)
    };
    test_dir.file("flows.csv", &rows(20_000));
    plan(&["--seeds", "3"]);
    done(&test_dir, &["case", "grid"]);
    // The input files are no longer needed, because the study's directory contains copies.
    fs::remove_file(test_dir.path().join("flows.csv")).expect("a file");
    done(&test_dir, &["study", "collect", "grid", "--out", "out"]);
    test_dir.file("flows.csv", &rows(20_000));
    let more = plan(&["--seeds", "5"]);
    assert!(
        more.stdout.starts_with("5 cases in grid, 0..4: 3 done"),
        "{}",
        more.stdout
    );
    // A trace file with the same name and different flows gives a different study.
    test_dir.file("flows.csv", &rows(30_000));
    let other = plan(&["--seeds", "5"]);
    assert!(
        other.stdout.starts_with("5 cases in grid, 0..4: 0 done"),
        "{}",
        other.stdout
    );
    let said =
        "results in grid of cases that are not planned: 3; `tailcut study prune grid` removes them";
    assert!(
        other.stderr.lines().any(|line| line == said),
        "{}",
        other.stderr
    );
    test_dir.file("flows.csv", &rows(20_000));
    let back = plan(&["--seeds", "2"]);
    assert!(
        back.stdout.starts_with("2 cases in grid, 0..1: 2 done"),
        "{}",
        back.stdout
    );

    // Killed processes leave files behind. Recent files are kept, because they may belong to a running process.
    let done_folder = test_dir.path().join("grid/done");
    for (name, silent) in [("old", MINUTE), ("young", Duration::ZERO)] {
        let partial = done_folder.join(format!("{}.{name}.partial", hash(&test_dir, 0)));
        fs::create_dir(&partial).expect("a folder");
        fs::write(partial.join("flows.parquet"), "half").expect("a file");
        age(&partial, silent);
    }
    let stale = lock(&test_dir, 1, MINUTE);
    let told = done(&test_dir, &["study", "prune", "grid"]).stdout;
    for said in [
        "results that are not planned: 1\n",
        "files that the scenario does not read: 1\n",
        "unfinished results and files: 1\n",
        "locks of processes that have ended: 1\n",
        "nothing is removed without --yes",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
    assert!(stale.exists());
    let pruned = done(&test_dir, &["study", "prune", "grid", "--yes", "--json"]).json();
    assert_eq!(pruned["removed"], true);
    let left = fs::read_dir(&done_folder).expect("results").count();
    assert_eq!(
        (left, stale.exists()),
        (3, false),
        "two results and the recent file"
    );
    done(&test_dir, &["case", "grid"]);
    let collected = done(
        &test_dir,
        &["study", "collect", "grid", "--out", "out", "--json"],
    );
    assert_eq!(collected.json().as_array().expect("runs").len(), 2);
}

#[test]
fn cases_of_several_builds_are_collected_where_that_is_accepted() {
    let test_dir = TestDir::new();
    done(&test_dir, &with(&["study", "plan", "grid"], &SMALL));
    done(&test_dir, &["case", "grid"]);
    let path = test_dir
        .path()
        .join("grid/done")
        .join(hash(&test_dir, 3))
        .join("run.json");
    let mut run: Value = serde_json::from_slice(&fs::read(&path).expect("a run")).expect("JSON");
    run["origin"]["build"] = "0".repeat(32).into();
    fs::write(&path, run.to_string()).expect("a file");
    let refused = test_dir.run(&["study", "collect", "grid"]);
    assert_eq!(refused.code, Some(2));
    let said = "tailcut: grid: found cases of 2 builds of tailcut (11 and 1); allowed: cases of one build, or \
                --accept-older for all of them";
    assert_eq!(refused.complaint(), said);
    let accepted = done(&test_dir, &["study", "collect", "grid", "--accept-older"]);
    let said = "cases from 2 builds of tailcut, reused with --accept-older";
    assert!(
        accepted.stderr.lines().any(|line| line == said),
        "{}",
        accepted.stderr
    );
    assert!(
        test_dir.path().join("out/compare/report.html").exists(),
        "where compare writes"
    );
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let test_dir = TestDir::new();
    test_dir.file("notes.txt", "mine");
    let refused = |arguments: &[&str]| {
        let ended = test_dir.run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stdout);
        ended.complaint().to_owned()
    };
    for command in [&["case", "nowhere"][..], &["study", "status", "nowhere"]] {
        let said = "tailcut: nowhere: found no such directory; allowed: a directory that `tailcut study plan` \
                    has written";
        assert_eq!(refused(command), said);
    }
    let said = "tailcut: .: found no plan.json; allowed: a directory that `tailcut study plan` has written";
    assert_eq!(refused(&["study", "collect", "."]), said);
    let planned = refused(&with(&["study", "plan", "."], &SMALL));
    assert!(
        planned.starts_with("tailcut: .: found files and no plan.json"),
        "{planned}"
    );

    done(&test_dir, &with(&["study", "plan", "grid"], &SMALL));
    for cases in ["12", "3..12", "5..4", "x", "1,,3"] {
        let said = format!(
            "tailcut: cases: found '{cases}'; allowed: I, I..J, I.. or ..J, or a list of these such as 0..3,7, with \
             places from 0 to 11"
        );
        assert_eq!(refused(&["case", "grid", cases]), said);
    }
    // The lock shows that another process is planning.
    let path = lock(&test_dir, 0, Duration::ZERO);
    let lock = test_dir.path().join("grid/lock");
    fs::rename(path, &lock).expect("a lock");
    for command in [
        &["study", "collect", "grid"][..],
        &["study", "retry", "grid"],
    ] {
        let said = "tailcut: grid: process 4711 on elsewhere, since 2026-01-01T00:00:00Z is planning or \
                    collecting here; wait until it has ended, or name another directory";
        assert_eq!(refused(command), said);
    }
    let planned = refused(&with(&["study", "plan", "grid"], &SMALL));
    assert!(
        planned.contains("is planning or collecting here"),
        "{planned}"
    );
    fs::remove_file(lock).expect("a lock");

    // The first plan has another version. The second plan was edited.
    let path = test_dir.path().join("grid/plan.json");
    let plan = fs::read_to_string(&path).expect("a plan");
    fs::write(&path, plan.replace("\"format\": 1", "\"format\": 9")).expect("a file");
    assert!(refused(&["case", "grid"]).contains("grid/plan.json: found format 9; allowed: 1"));
    fs::write(&path, plan.replace("flows = 50", "flows = 51")).expect("a file");
    let changed = refused(&["case", "grid", "0"]);
    let said = "tailcut: grid: case 0: found another configuration in this build";
    assert!(changed.starts_with(said), "{changed}");
}

#[test]
fn a_plan_of_days_has_to_be_meant() {
    let test_dir = TestDir::new();
    let long = [
        "--flows",
        "4000000000",
        "--duration",
        "100000s",
        "--seeds",
        "2",
    ];
    let plan = with(&["study", "plan", "grid", "tcp", "dctcp"], &long);
    let refused = test_dir.run(&plan);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    let told = refused.complaint();
    assert!(
        told.starts_with("tailcut: study plan: found cases that take about "),
        "{told}"
    );
    assert!(
        told.ends_with(" days of CPU time; allowed: at most a day, or --yes"),
        "{told}"
    );
    assert!(!test_dir.path().join("grid").exists(), "nothing is planned");
    let meant = done(&test_dir, &with(&plan, &["--yes", "--json"])).json();
    assert_eq!(meant["cases"], 4);
    assert!(meant["expected_cpu_seconds"].as_f64().expect("a time") > 86_400.0);
}
