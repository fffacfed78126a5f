//! Tests of the errors and messages when cases are submitted to an engine.
//! Tests with a real engine are in `tests/slurm`.

use super::*;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

/// Runs a command with a PATH that contains only the given programs, which are scripts.
fn with_programs(test_dir: &TestDir, programs: &[(&str, &str)], arguments: &[&str]) -> Ended {
    let folder = test_dir.path().join("programs");
    fs::create_dir_all(&folder).expect("a folder");
    for (name, script) in programs {
        let path = folder.join(name);
        fs::write(&path, script).expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("permissions");
    }
    let output = test_dir.command(arguments).env("PATH", &folder).output();
    output.expect("the command runs").into()
}

const SUBMIT: [&str; 5] = ["study", "submit", "grid", "--on", "slurm"];

#[test]
fn without_slurm_there_is_the_script() {
    let test_dir = TestDir::new();
    done(&test_dir, &with(&["study", "plan", "grid"], &SMALL));
    done(&test_dir, &["case", "grid", "3..4"]);
    let refused = with_programs(&test_dir, &[], &SUBMIT);
    assert_eq!(refused.code, Some(2));
    let said = "tailcut: study submit: found no sbatch on the PATH; allowed: a machine that submits jobs to \
                Slurm, or --print for a script to submit there";
    assert_eq!(refused.complaint(), said);
    let more = ["--print", "--at-most", "5", "--", "--mem=2G"];
    let printed = with_programs(&test_dir, &[], &with(&SUBMIT, &more));
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    for line in [
        "#SBATCH --array=0-0%5",
        "#SBATCH --mem=2G",
        "    0..2,5..11",
    ] {
        assert!(printed.stdout.lines().any(|found| found == line), "{line}");
    }
}

#[test]
fn what_sbatch_says_is_passed_on() {
    let test_dir = TestDir::new();
    done(&test_dir, &with(&["study", "plan", "grid"], &SMALL));
    let said = "sbatch: error: invalid partition specified: nope";
    let refusing = format!("#!/bin/sh\necho '{said}' >&2\nexit 1\n");
    let refused = with_programs(&test_dir, &[("sbatch", &refusing)], &SUBMIT);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.lines().any(|line| line == said),
        "{}",
        refused.stderr
    );
    let complaint =
        "tailcut: study submit: sbatch refused the jobs (exit status: 1) for the reason above";
    assert_eq!(refused.complaint(), complaint);
    let odd = with_programs(&test_dir, &[("sbatch", "#!/bin/sh\necho hello\n")], &SUBMIT);
    assert_eq!(odd.code, Some(2));
    assert!(
        odd.complaint().ends_with("allowed: a job's number"),
        "{}",
        odd.stderr
    );
}

#[test]
fn an_array_has_no_more_jobs_than_slurm_allows() {
    let test_dir = TestDir::new();
    done(&test_dir, &with(&["study", "plan", "grid"], &GRID));
    // The plan is changed so that each case is expected to take almost a minute.
    let path = test_dir.path().join("grid/plan.json");
    let plan = fs::read(&path).expect("a plan");
    let mut plan: Value = serde_json::from_slice(&plan).expect("JSON");
    for case in plan["cases"].as_array_mut().expect("cases") {
        case["cpu_seconds"] = 50.0.into();
    }
    fs::write(&path, plan.to_string()).expect("a file");
    let jobs = |told: &Ended| told.json()["chunks"].as_array().expect("chunks").len();
    let print = with(&SUBMIT, &["--print", "--json"]);
    assert_eq!(jobs(&with_programs(&test_dir, &[], &print)), CASES / 2);
    let scontrol = "#!/bin/sh\necho 'MaxArraySize            = 3'\n";
    let sbatch = "#!/bin/sh\necho '7;cluster'\n";
    let programs = [("scontrol", scontrol), ("sbatch", sbatch)];
    let told = with_programs(&test_dir, &programs, &with(&SUBMIT, &["--json"]));
    assert!((2..=3).contains(&jobs(&told)), "{}", told.stdout);
    let told = told.json();
    assert_eq!((&told["job"], &told["cases"]), (&"7".into(), &CASES.into()));
    let words = with_programs(&test_dir, &programs, &SUBMIT).stdout;
    assert!(
        words.contains("Watch: squeue --job 7; tailcut study status grid"),
        "{words}"
    );
}

#[test]
fn who_waits_gets_the_case_of_a_process_that_has_gone_silent() {
    let test_dir = TestDir::new();
    done(&test_dir, &with(&["study", "plan", "grid"], &SMALL));
    // The lock's holder has been silent for almost a minute, so its lock is still valid at first.
    let path = lock(&test_dir, 4, MINUTE - Duration::from_secs(3));
    assert_eq!(test_dir.run(&["case", "grid", "0,3..4"]).code, Some(4));
    let ended = done(&test_dir, &["case", "grid", "0,3..4", "--wait", "60"]);
    let said = "3 of 3 cases are done in grid, 1 of them now\n";
    assert_eq!(ended.stdout, said, "{}", ended.stderr);
    assert!(!path.exists());
}

#[test]
fn what_jobs_printed_is_removed_once_no_case_is_run() {
    let test_dir = TestDir::new();
    done(&test_dir, &with(&["study", "plan", "grid"], &SMALL));
    let jobs = test_dir.path().join("grid/jobs");
    fs::create_dir(&jobs).expect("a folder");
    let printed = jobs.join("7_0.log");
    fs::write(&printed, "case 0").expect("a file");
    age(&printed, MINUTE);
    let running = lock(&test_dir, 4, Duration::ZERO);
    done(&test_dir, &["study", "prune", "grid", "--yes"]);
    assert!(printed.exists(), "the job may still be running");
    fs::remove_file(running).expect("a lock");
    let told = done(&test_dir, &["study", "prune", "grid", "--yes"]).stdout;
    assert!(told.contains("outputs of jobs: 1\n"), "{told}");
    assert!(!printed.exists());
}

#[test]
fn a_job_file_has_a_command_for_each_chunk_that_runs_its_cases() {
    let test_dir = TestDir::new();
    let plan = with(&["study", "plan", "grid", "--format", "hq"], &SMALL);
    let told = done(&test_dir, &plan).stdout;
    let said = "Job file, not tested with `hq`: hq job submit-file grid/hq.toml";
    assert!(told.lines().any(|line| line == said), "{told}");
    let file = fs::read_to_string(test_dir.path().join("grid/hq.toml")).expect("a job file");
    // The job file contains the commands that HyperQueue would start.
    let commands = file
        .lines()
        .filter_map(|line| line.strip_prefix("command = "));
    for command in commands {
        let command: Vec<String> = serde_json::from_str(command).expect("words");
        let mut started = std::process::Command::new(&command[0]);
        let ended: Ended = started
            .args(&command[1..])
            .output()
            .expect("a program")
            .into();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let status = done(&test_dir, &["study", "status", "grid", "--json"]).json();
    assert_eq!(status["done"], 12);
    let again = done(&test_dir, &with(&plan, &["--json"])).json();
    assert_eq!(again["job_file"], "grid/hq.toml");
    let file = fs::read_to_string(test_dir.path().join("grid/hq.toml")).expect("a job file");
    assert!(!file.contains("[[task]]"), "{file}");
}
