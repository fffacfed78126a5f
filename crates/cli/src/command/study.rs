//! `tailcut study`: divides a study into cases that any number of processes run.

mod submit;

use crate::args::{Collect, JobFile, Plan, Prune, Status, Study, StudyAt, StudyOf};
use crate::build;
use crate::execution::{REPORT, missing_figures, remove_if_there, report};
use crate::failure::Failure;
use crate::interrupt::{self, Until};
use crate::output::{note, print, print_json};
use crate::pool::threads;
use crate::scenario_args;
use anyhow::{Context, anyhow};
use serde_json::json;
use std::env;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::Ordering;
use tailcut_scenario::record::RunSummary;
use tailcut_study::{CollectOptions, Draft, StudyDir, hq, in_words, rounded_time};

/// Runs the command.
///
/// # Errors
/// Wrong input, or an error of the operating system.
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

/// CPU time in seconds above which a plan needs the user's confirmation.
const MUCH: f64 = 86_400.0;

fn plan(arguments: &Plan, is_json: bool) -> Result<(), Failure> {
    let scenario = match &arguments.scenario {
        Some(file) => scenario_args::of_file(file, &arguments.changes, &arguments.seeds)?,
        None => {
            scenario_args::of_designs(&arguments.designs, &arguments.changes, &arguments.seeds)?
        }
    };
    if let Some(words) = missing_figures(&tailcut_scenario::Study::of(&scenario)?) {
        note(&words);
    }
    StudyDir::check_free(&arguments.dir)?;
    let stop = interrupt::listen()?;
    let mut draft = Draft::of(&scenario, build::this()?)?;
    draft.estimate(&Until(&stop));
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted);
    }
    let to_go = StudyDir::inspect(&arguments.dir, &draft)?.cpu_seconds_to_go;
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
    let program = env::current_exe().context("cannot find this program's own file");
    let job_file = match arguments.format {
        Some(JobFile::Hq) => Some(hq::write(&study, &program?)?),
        None => None,
    };
    let processes = threads(arguments.threads)?.get();
    match (is_json, &job_file) {
        (true, _) => {
            let mut output = found.json(&study, processes);
            output["job_file"] = json!(job_file);
            print_json(&output)
        }
        (false, Some(file)) => print(&format!(
            "{}\n{}",
            found.text(&study, processes),
            hq::in_words(file)
        )),
        (false, None) => print(&found.text(&study, processes)),
    }
}

/// Asks the user to confirm a long plan.
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
        _ => Err(anyhow!("study plan: not planned, because you did not confirm").into()),
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
    let what = CollectOptions {
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
        note(&format!(
            "cases from {builds} builds of tailcut, reused with --accept-older"
        ));
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
        0 => format!("no case in {dir} has failed"),
        _ => format!("failed cases in {dir} that will be run again: {places}"),
    })
}

fn prune(arguments: &Prune, is_json: bool) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.study.dir)?;
    let found = study.prunable()?;
    if arguments.yes {
        study.prune(&found)?;
    }
    if is_json {
        let mut output = json!(found);
        output["removed"] = arguments.yes.into();
        return print_json(&output);
    }
    let end = match (found.count(), arguments.yes) {
        (0, _) => "nothing to remove",
        (_, true) => "removed",
        (_, false) => "nothing is removed without --yes",
    };
    print(&format!("{}{end}", found.text()))
}
