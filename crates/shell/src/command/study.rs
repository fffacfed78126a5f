//! `tailcut study`: a study as cases that any number of processes run.

use crate::args::{Collect, Common, Plan, Study};
use crate::asked;
use crate::build;
use crate::conduct::{REPORT, remove_if_there, report};
use crate::failure::Failure;
use crate::output::{note, print, print_json};
use serde_json::json;
use std::path::Path;
use tailcut_cases::{Collecting, Draft, StudyDir};
use tailcut_scenario::record::RunSummary;

/// Runs the command.
///
/// # Errors
/// Wrong input, or what the system refuses.
pub fn execute(command: &Study, common: &Common) -> Result<(), Failure> {
    match command {
        Study::Plan(arguments) => plan(arguments, common),
        Study::Collect(arguments) => collect(arguments, common),
    }
}

fn plan(arguments: &Plan, common: &Common) -> Result<(), Failure> {
    let scenario = match &arguments.scenario {
        Some(file) => asked::of_file(file, &arguments.changes, common)?,
        None => asked::of_designs(&arguments.designs, &arguments.changes, common)?,
    };
    StudyDir::check_free(&arguments.dir)?;
    let draft = Draft::of(&scenario, build::this()?)?;
    let (study, found) = StudyDir::write(&arguments.dir, draft)?;
    let cases = study.plan().cases.len();
    let dir = study.path().display();
    if found.left_over > 0 {
        note(&format!(
            "results in {dir} of cases that are no longer planned: {}; `tailcut study prune {dir}` removes them",
            found.left_over
        ));
    }
    if common.json {
        return print_json(&json!({
            "cases": cases,
            "done": found.done,
            "failed": found.failed,
            "left_over": found.left_over,
        }));
    }
    print(&format!(
        "{cases} cases in {dir}, 0..{}: {} done, {} failed",
        cases.saturating_sub(1),
        found.done,
        found.failed
    ))
}

fn collect(arguments: &Collect, common: &Common) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.dir)?;
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
    let cases = plan.cases.len();
    if finished.len() < cases {
        let (done, share) = (finished.len(), finished.len() as f64 / cases as f64 * 100.0);
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
