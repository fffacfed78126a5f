//! Tests of studies with a real Slurm. No matter how jobs end, no case is lost and no case is done twice.
#![cfg(target_os = "linux")]

mod cluster;
#[path = "../process/collected.rs"]
mod collected;
#[path = "../process/grid.rs"]
mod grid;
#[path = "../process/test_dir.rs"]
#[expect(dead_code, reason = "the tests of processes use the other functions")]
mod test_dir;

use cluster::{Cluster, until};
use collected::{answer, assert_same};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use test_dir::{Ended, TestDir};

/// Arguments of a study with twelve cases that take one or two seconds each.
const LONG: [&str; 13] = [
    "tcp",
    "dctcp",
    "--topology",
    "leaf-spine:leaves=2,spines=2,hosts=3",
    "--workload",
    "fixed:20KB",
    "--flows",
    "60000",
    "--duration=1000s",
    "--load",
    "0.3,0.5",
    "--seeds=3",
    "--threads=1",
];

const LONG_CASES: usize = 12;

/// Planned study whose name needs quoting, and the cluster on which its jobs run.
struct Planned {
    cluster: Cluster,
    test_dir: TestDir,
    /// Arguments with which `compare` runs the same study.
    study: &'static [&'static str],
    cases: usize,
}

const STUDY: &str = "it's a \"grid\"";

impl Planned {
    fn of(study: &'static [&'static str], cases: usize) -> Self {
        let planned = Self {
            cluster: Cluster::start(),
            test_dir: TestDir::new(),
            study,
            cases,
        };
        planned.done(&[&["study", "plan", STUDY][..], study].concat());
        planned
    }

    /// Runs a command that must succeed, and returns its output.
    fn done(&self, arguments: &[&str]) -> Ended {
        let mut command = self.cluster.with(self.test_dir.command(arguments));
        let ended: Ended = command.output().expect("the command runs").into();
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended
    }

    fn submit(&self, more: &[&str]) -> Value {
        let submit = ["study", "submit", STUDY, "--on", "slurm", "--json"];
        self.done(&[&submit[..], more].concat()).json()
    }

    fn status(&self) -> Value {
        self.done(&["study", "status", STUDY, "--json"]).json()
    }

    /// Waits until the given number of processes run cases and at least one case is done.
    /// Returns the numbers of the running processes.
    fn at_work(&self, processes: usize) -> Vec<Pid> {
        until("case that is done while others are run", || {
            let status = self.status();
            let cases = status["cases"].as_array().expect("cases").iter();
            let running = cases.filter(|case| case["state"] == "running");
            let pids: Vec<Pid> = running.filter_map(|case| pid(&case["pid"])).collect();
            match pids.len() == processes && status["done"] != 0 {
                true => Ok(pids),
                false => Err(status.to_string()),
            }
        })
    }

    /// Simulates a failure of the node.
    /// Kills the node's daemon and one job, including the process that runs the case and the parents of this process.
    /// Starts the daemon again after Slurm has detected the failure.
    fn fail_node(&mut self, at_case: Pid) {
        let program = parent(at_case);
        let of_slurm = parent(program);
        self.cluster.kill_node();
        for process in [of_slurm, program, at_case] {
            kill_process(process, Signal::KILL).expect("a signal");
        }
        self.cluster.wait_for_node("down");
        self.cluster.start_node();
    }

    /// Returns the cases that the outputs of the jobs report as ended.
    fn ended(&self) -> Vec<usize> {
        let jobs = fs::read_dir(self.test_dir.path().join(STUDY).join("jobs")).expect("jobs");
        let mut ended = Vec::new();
        for job in jobs {
            let said = fs::read_to_string(job.expect("a file").path()).expect("text");
            let lines = said.lines().filter(|line| line.ends_with(" CPU-seconds"));
            ended.extend(lines.map(|line| {
                let case = line
                    .strip_prefix("case ")
                    .and_then(|line| line.split_once(": "));
                case.expect("a case").0.parse::<usize>().expect("a number")
            }));
        }
        ended.sort_unstable();
        ended
    }

    /// Checks that each case is done exactly once, and that the results equal the results of one command.
    fn assert_whole(&self) {
        let status = self.status();
        assert_eq!(status["done"], self.cases, "{status}");
        let ended = self.ended();
        let mut once = ended.clone();
        once.dedup();
        assert_eq!(ended, once, "a case is done once");
        let path = self.test_dir.path();
        let results = fs::read_dir(path.join(STUDY).join("done")).expect("results");
        let names = results.map(|one| one.expect("one").file_name().into_string().expect("UTF-8"));
        let whole = names.filter(|name| !name.ends_with(".partial")).count();
        assert_eq!(whole, self.cases, "a case has one result");
        let collected = self.done(&["study", "collect", STUDY, "--out", "collected"]);
        let whole = self.done(&[&["compare", "--out", "whole"][..], self.study].concat());
        assert_eq!(answer(&collected), answer(&whole));
        assert_same(&path.join("collected"), &path.join("whole"));
    }
}

fn pid(told: &Value) -> Option<Pid> {
    Pid::from_raw(told.as_i64()?.try_into().ok()?)
}

/// Returns the parent process of a process.
fn parent(process: Pid) -> Pid {
    let path = format!("/proc/{}/stat", process.as_raw_nonzero());
    let stat = fs::read_to_string(path).expect("a process");
    // The name of the process may contain any character. The state and the parent follow the name.
    let (_, behind) = stat.rsplit_once(") ").expect("a name");
    let parent = behind.split(' ').nth(1).and_then(|pid| pid.parse().ok());
    parent.and_then(Pid::from_raw).expect("a parent")
}

#[test]
fn a_node_that_fails_and_a_case_that_is_killed_cost_no_case() {
    let mut planned = Planned::of(&LONG, LONG_CASES);
    let submitted = planned.submit(&["--chunk", "2", "--at-most", "2"]);
    assert_eq!(submitted["cases"], LONG_CASES);
    assert!(submitted["chunks"].as_array().expect("chunks").len() > 2);
    let at_work = planned.at_work(2);
    // The process that runs one case is killed. After that, the node of the second job fails.
    let (of_one, of_other) = (at_work[0], at_work[1]);
    kill_process(of_one, Signal::KILL).expect("a signal");
    until("killed case that counts as failed", || {
        let status = planned.status();
        match status["failed"] == 1 {
            true => Ok(()),
            false => Err(status.to_string()),
        }
    });
    planned.fail_node(of_other);
    planned.cluster.wait_for_jobs();

    // Slurm ran the cases of the failed node again. The killed case counts as failed until `study retry`.
    let status = planned.status();
    assert_eq!(
        (&status["waiting"], &status["stale"]),
        (&0.into(), &0.into()),
        "{status}"
    );
    assert_eq!(
        (&status["failed"], &status["done"]),
        (&1.into(), &(LONG_CASES - 1).into()),
        "{status}"
    );
    planned.done(&["study", "retry", STUDY]);
    let again = planned.submit(&[]);
    assert_eq!(again["cases"], 1);
    planned.cluster.wait_for_jobs();
    planned.assert_whole();
}

#[test]
fn a_job_that_has_to_leave_gives_its_case_back_and_goes_on_later() {
    let planned = Planned::of(&LONG, LONG_CASES);
    // The printed script is submitted with sbatch, as a user may do on another machine.
    let print = ["study", "submit", STUDY, "--on", "slurm", "--print"];
    let script = planned.done(&print).stdout;
    let script = planned.test_dir.file("array.sh", &script);
    let job = planned
        .cluster
        .query("sbatch", &["--parsable", &script.display().to_string()]);
    let at_work = planned.at_work(1);
    // Slurm requeues a job in the same way when a job with higher priority preempts it.
    planned.cluster.query("scontrol", &["requeue", job.trim()]);
    until("end of the process", || {
        let process = format!("/proc/{}", at_work[0].as_raw_nonzero());
        match fs::exists(&process).expect("a look") {
            true => Err(process),
            false => Ok(()),
        }
    });
    // The process that runs a case has ended. Its parent releases the lock.
    let locks = planned.test_dir.path().join(STUDY).join("locks");
    until("return of the lock", || {
        match fs::read_dir(&locks).expect("locks").count() {
            0 => Ok(()),
            held => Err(format!("{held} locks")),
        }
    });
    assert_ne!(planned.status()["waiting"], 0);
    planned.cluster.wait_for_jobs();
    planned.assert_whole();
    let said = planned.done(&["study", "submit", STUDY, "--on", "slurm"]);
    assert!(said.stderr.starts_with("no case in "), "{}", said.stderr);
}

#[test]
fn a_grid_whose_node_fails_in_the_middle_is_the_same_in_the_end() {
    let mut planned = Planned::of(&grid::GRID, grid::CASES);
    let submitted = planned.submit(&[]);
    assert_eq!(submitted["cases"], grid::CASES);
    let at_work = planned.at_work(1);
    planned.fail_node(at_work[0]);
    assert_ne!(
        planned.status()["done"],
        grid::CASES,
        "the node must fail before all cases are done"
    );
    planned.cluster.wait_for_jobs();
    planned.assert_whole();
}
