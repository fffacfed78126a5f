//! `tailcut study`: a study as cases that any number of processes run.

mod submit;

use crate::args::{Collect, JobFile, Plan, Prune, Status, Study, StudyAt, StudyOf};
use crate::asked;
use crate::build;
use crate::conduct::{REPORT, remove_if_there, report};
use crate::failure::Failure;
use crate::interrupt::{self, Until};
use crate::output::{note, print, print_json};
use crate::pool::threads;
use anyhow::{Context, anyhow};
use serde_json::json;
use std::env;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::Ordering;
use tailcut_scenario::record::RunSummary;
use tailcut_study::{Collecting, Draft, StudyDir, hq, in_words, rounded_time};

/// Runs the command.
///
/// # Errors
/// Wrong input, or what the system refuses.
pub fn execute(StudyOf { json, command }: &StudyOf) -> Result<(), Failure> {
    match command {
        Study::Plan(arguments) => plan(arguments, json.json),
        Study::Submit(arguments) => submit::execute(arguments, json.json),
        Study::Status(arguments) => status(arguments, json.json),
        Study::Collect(arguments) => collect(arguments, json.json),
        Study::Retry(arguments) => retry(arguments, json.json),
        Study::Prune(arguments) => prune(arguments, json.json),
    }
}

/// The CPU time, in seconds, beyond which a plan has to be meant.
const MUCH: f64 = 86_400.0;

fn plan(arguments: &Plan, is_json: bool) -> Result<(), Failure> {
    let scenario = match &arguments.scenario {
        Some(file) => asked::of_file(file, &arguments.changes, &arguments.seeds)?,
        None => asked::of_designs(&arguments.designs, &arguments.changes, &arguments.seeds)?,
    };
    StudyDir::check_free(&arguments.dir)?;
    let stop = interrupt::listen()?;
    let mut draft = Draft::of(&scenario, build::this()?)?;
    draft.estimate(&Until(&stop));
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted);
    }
    let to_go = StudyDir::look(&arguments.dir, &draft)?.cpu_seconds_to_go;
    if let Some(cpu) = to_go.filter(|cpu| *cpu > MUCH && !arguments.yes) {
        confirm(cpu)?;
    }
    let (study, found) = StudyDir::write(&arguments.dir, draft)?;
    if found.left_over > 0 {
        let (dir, results) = (study.path().display(), found.left_over);
        note(&format!(
            "results in {dir} of cases that are not planned: {results}; `tailcut study prune {dir}` \
             removes them"
        ));
    }
    let program = env::current_exe().context("cannot tell where this program is");
    let job_file = match arguments.format {
        Some(JobFile::Hq) => Some(hq::write(&study, &program?)?),
        None => None,
    };
    let processes = threads(arguments.threads)?.get();
    match (is_json, &job_file) {
        (true, _) => {
            let mut told = found.json(&study, processes);
            told["job_file"] = json!(job_file);
            print_json(&told)
        }
        (false, Some(file)) => print(&format!(
            "{}\n{}",
            found.text(&study, processes),
            hq::in_words(file)
        )),
        (false, None) => print(&found.text(&study, processes)),
    }
}

/// Asks whether a plan is meant that takes long.
fn confirm(cpu: f64) -> Result<(), Failure> {
    let long = rounded_time(cpu);
    if !io::stdin().is_terminal() {
        let found = format!("study plan: found cases that take {long} of CPU time");
        let allowed = "at most a day, or --yes";
        return Err(anyhow!("{found}; allowed: {allowed}").into());
    }
    note(&format!(
        "These cases take {long} of CPU time. Plan them? [y/N]"
    ));
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(anyhow::Error::new)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(anyhow!("study plan: not planned, as you said").into()),
    }
}

fn status(arguments: &Status, is_json: bool) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.study.dir)?;
    let status = study.status()?;
    let processes = match (arguments.threads.threads, status.at_work()) {
        (None, at_work) if at_work > 0 => at_work,
        _ => threads(arguments.threads)?.get(),
    };
    match is_json {
        true => print_json(&status.json(&study, processes)),
        false => print(&status.text(&study, processes)),
    }
}

fn collect(arguments: &Collect, is_json: bool) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.study.dir)?;
    let plan = study.plan();
    let usual = Path::new("out").join(&plan.name);
    let out = arguments.out.out.as_ref().unwrap_or(&usual);
    let what = Collecting {
        partial: arguments.partial,
        any_build: arguments.accept_older,
    };
    let collected = study.collect(out, what)?;
    remove_if_there(&out.join(REPORT))?;
    remove_if_there(&out.join(tailcut_report::SENSITIVITY_FILE))?;
    let finished: Vec<&RunSummary> = collected.runs.iter().flatten().collect();
    let (cases, done) = (plan.cases.len(), finished.len());
    if done < cases {
        let share = done as f64 / cases as f64 * 100.0;
        note(&format!(
            "a part of the study: {done} of {cases} cases, {share:.1} %"
        ));
    }
    if collected.builds > 1 {
        let builds = collected.builds;
        note(&format!("cases of {builds} builds of tailcut, as accepted"));
    }
    if !plan.about.is_empty() {
        note(&plan.about);
    }
    report(out, &finished, is_json)
}

fn retry(arguments: &StudyAt, is_json: bool) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.dir)?;
    let again = study.retry()?;
    if is_json {
        return print_json(&again);
    }
    let (dir, places) = (study.path().display(), in_words(&again));
    print(&match again.len() {
        0 => format!("no case in {dir} had failed"),
        _ => format!("failed cases in {dir} that wait again: {places}"),
    })
}

fn prune(arguments: &Prune, is_json: bool) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.study.dir)?;
    let found = study.prunable()?;
    if arguments.yes {
        study.prune(&found)?;
    }
    if is_json {
        let mut told = json!(found);
        told["removed"] = arguments.yes.into();
        return print_json(&told);
    }
    let end = match (found.count(), arguments.yes) {
        (0, _) => "nothing to remove",
        (_, true) => "removed",
        (_, false) => "nothing is removed without --yes",
    };
    print(&format!("{}{end}", found.text()))
}
