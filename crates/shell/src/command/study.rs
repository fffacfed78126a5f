//! `tailcut study`: a study as cases that any number of processes run.

mod slurm;
mod status;
mod submit;

use crate::args::{Collect, Common, Plan, Prune, Study, StudyAt};
use crate::asked;
use crate::build;
use crate::conduct::{REPORT, remove_if_there, report};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{note, print, print_json, seconds};
use crate::pool::threads;
use anyhow::anyhow;
use serde_json::json;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::Ordering;
use tailcut_cases::{Collecting, Draft, Found, StudyDir, in_words};
use tailcut_scenario::record::RunSummary;

/// Runs the command.
///
/// # Errors
/// Wrong input, or what the system refuses.
pub fn execute(command: &Study, common: &Common) -> Result<(), Failure> {
    match command {
        Study::Plan(arguments) => plan(arguments, common),
        Study::Submit(arguments) => submit::execute(arguments, common),
        Study::Status(arguments) => status::tell(&StudyDir::open(&arguments.dir)?, common),
        Study::Collect(arguments) => collect(arguments, common),
        Study::Retry(arguments) => retry(arguments, common),
        Study::Prune(arguments) => prune(arguments, common),
    }
}

/// The CPU time, in seconds, beyond which a plan has to be meant.
const MUCH: f64 = 86_400.0;

fn plan(arguments: &Plan, common: &Common) -> Result<(), Failure> {
    let scenario = match &arguments.scenario {
        Some(file) => asked::of_file(file, &arguments.changes, common)?,
        None => asked::of_designs(&arguments.designs, &arguments.changes, common)?,
    };
    StudyDir::check_free(&arguments.dir)?;
    let stop = interrupt::listen()?;
    let mut draft = Draft::of(&scenario, build::this()?)?;
    draft.estimate(&interrupt::Until(&stop));
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted);
    }
    let found = StudyDir::look(&arguments.dir, &draft)?;
    if let Some(cpu) = found
        .cpu_seconds_to_go
        .filter(|cpu| *cpu > MUCH && !arguments.yes)
    {
        confirm(cpu)?;
    }
    let (study, found) = StudyDir::write(&arguments.dir, draft)?;
    tell_plan(&study, &found, common)
}

/// Asks whether a plan is meant that takes long.
fn confirm(cpu: f64) -> Result<(), Failure> {
    let long = tailcut_scenario::in_words(cpu);
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

fn tell_plan(study: &StudyDir, found: &Found, common: &Common) -> Result<(), Failure> {
    let plan = study.plan();
    let (cases, dir) = (plan.cases.len(), study.path().display());
    if found.left_over > 0 {
        let results = found.left_over;
        note(&format!(
            "results in {dir} of cases that are not planned: {results}; `tailcut study prune {dir}` \
             removes them"
        ));
    }
    let expected: Option<f64> = plan.cases.iter().map(|case| case.cpu_seconds).sum();
    let to_go = found.cpu_seconds_to_go;
    let longest = plan
        .cases
        .iter()
        .filter_map(|case| case.cpu_seconds)
        .fold(0.0, f64::max);
    let processes = threads(common)?.get();
    let time = to_go.map(|cpu| (cpu / processes as f64).max(longest.min(cpu)));
    if common.json {
        return print_json(&json!({
            "cases": cases,
            "done": found.done,
            "failed": found.failed,
            "left_over": found.left_over,
            "expected_cpu_seconds": expected,
            "expected_cpu_seconds_to_go": to_go,
            "processes": processes,
            "expected_seconds_to_go": time,
        }));
    }
    let mut text = format!(
        "{cases} cases in {dir}, 0..{}: {} done, {} failed\n",
        cases.saturating_sub(1),
        found.done,
        found.failed
    );
    text.push_str(&match (to_go, time) {
        (Some(cpu), Some(time)) => format!(
            "To go: about {} CPU-seconds, {} on this machine with {processes} at a time",
            seconds(cpu),
            tailcut_scenario::in_words(time)
        ),
        _ => {
            "To go: a time that nobody can tell, as no case of this kind could be tried".to_owned()
        }
    });
    print(&text)
}

fn collect(arguments: &Collect, common: &Common) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.study.dir)?;
    let plan = study.plan();
    let usual = Path::new("out").join(&plan.name);
    let out = common.out.as_ref().unwrap_or(&usual);
    let collected = study.collect(
        out,
        Collecting {
            partial: arguments.partial,
            any_build: arguments.accept_older,
        },
    )?;
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
    report(out, &finished, common)
}

fn retry(arguments: &StudyAt, common: &Common) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.dir)?;
    let again = study.retry()?;
    if common.json {
        return print_json(&again);
    }
    let dir = study.path().display();
    print(&match again.len() {
        0 => format!("no case in {dir} had failed"),
        count => format!(
            "{count} failed cases in {dir} wait again: {}",
            in_words(&again)
        ),
    })
}

fn prune(arguments: &Prune, common: &Common) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.study.dir)?;
    let found = study.prunable()?;
    if arguments.yes {
        study.prune(&found)?;
    }
    let kinds = [
        ("results", "results that are not planned", &found.results),
        (
            "failures",
            "failures that are not planned, or done by now",
            &found.failures,
        ),
        (
            "files",
            "files that the scenario does not read",
            &found.files,
        ),
        (
            "partial",
            "results and files that were not written to their end",
            &found.partial,
        ),
        ("locks", "locks of processes that have ended", &found.locks),
        ("printed", "outputs of jobs", &found.printed),
    ];
    if common.json {
        let kinds = kinds.map(|(kind, _, paths)| (kind.to_owned(), json!(paths)));
        let mut told = serde_json::Map::from_iter(kinds);
        told.insert("removed".to_owned(), arguments.yes.into());
        return print_json(&told);
    }
    let mut text = String::new();
    for (_, what, paths) in kinds.iter().filter(|(_, _, paths)| !paths.is_empty()) {
        text.push_str(&format!("{} {what}\n", paths.len()));
        for path in paths.iter() {
            text.push_str(&format!("  {}\n", path.display()));
        }
    }
    text.push_str(match (found.count(), arguments.yes) {
        (0, _) => "nothing to remove",
        (_, true) => "removed",
        (_, false) => "nothing is removed without --yes",
    });
    print(&text)
}
