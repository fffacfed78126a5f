//! Cases as jobs of an engine: what is told where it cannot be. That it works is shown with a real one.

use super::*;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

/// Runs a command where these programs, as scripts, are all that is on the PATH.
fn with_programs(place: &Place, programs: &[(&str, &str)], arguments: &[&str]) -> Ended {
    let folder = place.path().join("programs");
    fs::create_dir_all(&folder).expect("a folder");
    for (name, script) in programs {
        let path = folder.join(name);
        fs::write(&path, script).expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("permissions");
    }
    let output = place.command(arguments).env("PATH", &folder).output();
    output.expect("the command runs").into()
}

const SUBMIT: [&str; 5] = ["study", "submit", "grid", "--on", "slurm"];

#[test]
fn without_slurm_there_is_the_script() {
    let place = Place::new();
    done(&place, &with(&["study", "plan", "grid"], &SMALL));
    done(&place, &["case", "grid", "3..4"]);
    let refused = with_programs(&place, &[], &SUBMIT);
    assert_eq!(refused.code, Some(2));
    let said = "tailcut: study submit: found no sbatch on the PATH; allowed: a machine that hands jobs to \
                Slurm, or --print for a script to take there";
    assert_eq!(refused.complaint(), said);
    let more = ["--print", "--at-most", "5", "--", "--mem=2G"];
    let printed = with_programs(&place, &[], &with(&SUBMIT, &more));
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
    let place = Place::new();
    done(&place, &with(&["study", "plan", "grid"], &SMALL));
    let said = "sbatch: error: invalid partition specified: nope";
    let refusing = format!("#!/bin/sh\necho '{said}' >&2\nexit 1\n");
    let refused = with_programs(&place, &[("sbatch", &refusing)], &SUBMIT);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.lines().any(|line| line == said),
        "{}",
        refused.stderr
    );
    let complaint =
        "tailcut: study submit: sbatch refused the jobs (exit status: 1) for the reason above";
    assert_eq!(refused.complaint(), complaint);
    let odd = with_programs(&place, &[("sbatch", "#!/bin/sh\necho hello\n")], &SUBMIT);
    assert_eq!(odd.code, Some(2));
    assert!(
        odd.complaint().ends_with("allowed: a job's number"),
        "{}",
        odd.stderr
    );
}

#[test]
fn an_array_has_no_more_jobs_than_slurm_allows() {
    let place = Place::new();
    done(&place, &with(&["study", "plan", "grid"], &GRID));
    // As if each took most of a minute.
    let path = place.path().join("grid/plan.json");
    let plan = fs::read(&path).expect("a plan");
    let mut plan: Value = serde_json::from_slice(&plan).expect("JSON");
    for case in plan["cases"].as_array_mut().expect("cases") {
        case["cpu_seconds"] = 50.0.into();
    }
    fs::write(&path, plan.to_string()).expect("a file");
    let jobs = |told: &Ended| told.json()["chunks"].as_array().expect("chunks").len();
    let print = with(&SUBMIT, &["--print", "--json"]);
    assert_eq!(jobs(&with_programs(&place, &[], &print)), CASES / 2);
    let scontrol = "#!/bin/sh\necho 'MaxArraySize            = 3'\n";
    let sbatch = "#!/bin/sh\necho '7;cluster'\n";
    let programs = [("scontrol", scontrol), ("sbatch", sbatch)];
    let told = with_programs(&place, &programs, &with(&SUBMIT, &["--json"]));
    assert!((2..=3).contains(&jobs(&told)), "{}", told.stdout);
    let told = told.json();
    assert_eq!((&told["job"], &told["cases"]), (&"7".into(), &CASES.into()));
    let words = with_programs(&place, &programs, &SUBMIT).stdout;
    assert!(
        words.contains("Watch: squeue --job 7; tailcut study status grid"),
        "{words}"
    );
}

#[test]
fn who_waits_gets_the_case_of_a_process_that_has_gone_silent() {
    let place = Place::new();
    done(&place, &with(&["study", "plan", "grid"], &SMALL));
    // It has two more seconds to be heard of.
    let path = lock(&place, 4, MINUTE - Duration::from_secs(3));
    assert_eq!(place.run(&["case", "grid", "0,3..4"]).code, Some(4));
    let ended = done(&place, &["case", "grid", "0,3..4", "--wait", "60"]);
    let said = "3 of 3 cases are done in grid, 1 of them now\n";
    assert_eq!(ended.stdout, said, "{}", ended.stderr);
    assert!(!path.exists());
}

#[test]
fn what_jobs_printed_is_removed_once_no_case_is_run() {
    let place = Place::new();
    done(&place, &with(&["study", "plan", "grid"], &SMALL));
    let jobs = place.path().join("grid/jobs");
    fs::create_dir(&jobs).expect("a folder");
    let printed = jobs.join("7_0.log");
    fs::write(&printed, "case 0").expect("a file");
    age(&printed, MINUTE);
    let running = lock(&place, 4, Duration::ZERO);
    done(&place, &["study", "prune", "grid", "--yes"]);
    assert!(printed.exists(), "its job may go on");
    fs::remove_file(running).expect("a lock");
    let told = done(&place, &["study", "prune", "grid", "--yes"]).stdout;
    assert!(told.contains("outputs of jobs: 1\n"), "{told}");
    assert!(!printed.exists());
}

#[test]
fn a_job_file_has_a_command_for_each_chunk_that_runs_its_cases() {
    let place = Place::new();
    let plan = with(&["study", "plan", "grid", "--format", "hq"], &SMALL);
    let told = done(&place, &plan).stdout;
    let said = "Job file, not tested with `hq`: hq job submit-file grid/hq.toml";
    assert!(told.lines().any(|line| line == said), "{told}");
    let file = fs::read_to_string(place.path().join("grid/hq.toml")).expect("a job file");
    // What HyperQueue would start.
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
    let status = done(&place, &["study", "status", "grid", "--json"]).json();
    assert_eq!(status["done"], 12);
    let again = done(&place, &with(&plan, &["--json"])).json();
    assert_eq!(again["job_file"], "grid/hq.toml");
    let file = fs::read_to_string(place.path().join("grid/hq.toml")).expect("a job file");
    assert!(!file.contains("[[task]]"), "{file}");
}
