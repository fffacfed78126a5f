//! Job file for HyperQueue's program `hq`. No test has run the file with this program.

use crate::error::Error;
use crate::paths::{WAIT, absolute, refused, text};
use crate::study_dir::StudyDir;
use serde_json::json;
use std::path::{Path, PathBuf};
use tailcut_record::write_whole;

/// Name of the job file in a study's directory.
const FILE: &str = "hq.toml";

/// Smallest expected CPU time of a task, in seconds. A task runs one chunk of cases.
/// The start of a task costs some hundredths of a second.
const CHUNK: f64 = 10.0;

/// Writes the waiting cases into a job file, with one chunk per task, and returns the file's path.
/// `program` is the path of `tailcut`. The path must be the same on all workers.
///
/// # Errors
/// [`Error::Engine`] for a path that the file cannot contain; a failed system call.
pub fn write(study: &StudyDir, program: &Path) -> Result<PathBuf, Error> {
    let file = study.path().join(FILE);
    write_whole(&file, job(study, program)?.as_bytes())?;
    Ok(file)
}

/// Returns the text that shows the user how to submit the job file.
pub fn in_words(file: &Path) -> String {
    format!(
        "Job file, not tested with `hq`: hq job submit-file {}",
        file.display()
    )
}

fn job(study: &StudyDir, program: &Path) -> Result<String, Error> {
    let (dir, printed) = (absolute(study.path())?, absolute(&study.jobs()?)?);
    let (dir, printed) = (text(&dir)?, text(&printed)?);
    if printed.contains("%{") {
        return Err(refused(format!(
            "study plan: {printed}: found '%{{' in the path; allowed: any other text, because HyperQueue \
             reads it as the beginning of a placeholder"
        )));
    }
    // A JSON string or array of strings is also valid TOML.
    let log = json!(format!("{printed}/hq-%{{JOB_ID}}_%{{TASK_ID}}.log"));
    let mut job = format!("name = {}\n", json!(study.plan().name));
    for chunk in study.chunks(CHUNK, usize::MAX)? {
        let (program, wait) = (text(program)?, WAIT.to_string());
        let places = chunk.places_as_argument();
        let command = json!([
            program,
            "case",
            dir,
            places,
            "--threads",
            "1",
            "--wait",
            wait
        ]);
        job.push_str(&format!(
            "\n[[task]]\ncommand = {command}\nstdout = \"none\"\nstderr = {log}\n\
             [[task.request]]\nresources = {{ \"cpus\" = 1 }}\n"
        ));
    }
    Ok(job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Draft, Program};
    use tailcut_scenario::Scenario;
    use tailcut_scenario::sim::Unattended;
    use toml::Table;

    const SCENARIO: &str = r#"
        name = "a-grid"
        designs = ["tcp"]
        loads = 0.3
        flows = 5
        seeds = 3
        [topology]
        kind = "single-switch"
        hosts = 2
        [[workload]]
        sizes = "fixed:20KB"
    "#;

    /// Returns a study in directory `dir` of a temporary folder. Each case is expected to take `cpu_seconds`.
    fn study(dir: &str, cpu_seconds: f64) -> (tempfile::TempDir, StudyDir) {
        let place = tempfile::tempdir().expect("a directory");
        let scenario = Scenario::from_text(SCENARIO).expect("a scenario");
        let mut draft = Draft::of(&scenario, Program::default()).expect("a plan");
        for case in &mut draft.plan.cases {
            case.cpu_seconds = Some(cpu_seconds);
        }
        let (study, _) = StudyDir::write(place.path().join(dir), draft).expect("a study");
        (place, study)
    }

    /// Returns the tasks of a study's job file, and the cases of each.
    fn tasks(study: &StudyDir) -> (Vec<Table>, Vec<String>) {
        let file = write(study, Path::new("/opt/my bin/tailcut")).expect("a job file");
        let text = std::fs::read_to_string(file).expect("a file");
        let job: Table = text.parse().expect("TOML");
        assert_eq!(job["name"].as_str(), Some("a-grid"));
        let tasks = job.get("task").map_or_else(Vec::new, |tasks| {
            let tasks = tasks.as_array().expect("tasks").iter();
            tasks
                .map(|task| task.as_table().expect("a task").clone())
                .collect()
        });
        let places = |task: &Table| task["command"][3].as_str().expect("places").to_owned();
        let places = tasks.iter().map(places).collect();
        (tasks, places)
    }

    #[test]
    fn a_task_runs_a_chunk_of_cases_and_prints_into_one_file() {
        let (_place, study) = study("it's \"mine\"", 8.0);
        let (tasks, places) = tasks(&study);
        assert_eq!(places, ["0..2"], "the last task gets all remaining cases");
        let path = study.path().to_str().expect("text");
        let command = [
            "/opt/my bin/tailcut",
            "case",
            path,
            "0..2",
            "--threads",
            "1",
            "--wait",
            "90",
        ];
        let found = tasks[0]["command"].as_array().expect("a command").iter();
        assert!(found.map(|word| word.as_str().expect("a word")).eq(command));
        assert_eq!(tasks[0]["stdout"].as_str(), Some("none"));
        let log = format!("{path}/jobs/hq-%{{JOB_ID}}_%{{TASK_ID}}.log");
        assert_eq!(tasks[0]["stderr"].as_str(), Some(log.as_str()));
        assert_eq!(
            tasks[0]["request"][0]["resources"]["cpus"].as_integer(),
            Some(1)
        );
    }

    #[test]
    fn only_cases_that_wait_are_in_it() {
        let (_place, study) = study("grid", 20.0);
        assert_eq!(tasks(&study).1, ["0", "1", "2"]);
        let runner = study.runner(Program::default()).expect("a runner");
        runner.run(1, &Unattended).expect("a run");
        // The finished case took almost no time, so that all other cases are expected to be short.
        assert_eq!(tasks(&study).1, ["0,2"]);
        for place in [0, 2] {
            runner.run(place, &Unattended).expect("a run");
        }
        assert_eq!(tasks(&study).1, Vec::<String>::new());
    }

    #[test]
    fn a_path_that_hyperqueue_would_change_is_refused() {
        let (_place, study) = study("%{CWD}", 20.0);
        let error = write(&study, Path::new("tailcut")).expect_err("a refusal");
        assert!(
            error
                .to_string()
                .contains("found '%{' in the path; allowed: "),
            "{error}"
        );
    }
}
