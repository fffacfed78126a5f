//! `tailcut case`: runs cases of a planned study, each in a separate process.

use crate::args::Case;
use crate::build;
use crate::failure::Failure;
use crate::interrupt::{self, Until};
use crate::output::{note, print, print_json};
use crate::pool::threads;
use anyhow::Context;
use serde_json::json;
use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tailcut_study::{CaseOutcome, StudyDir, Tally, Watch, as_argument, in_a_line, in_words};

/// Prefix of the line in which a process reports its error.
const COMPLAINT: &str = "tailcut: ";

/// Runs the command.
///
/// # Errors
/// Wrong input, an error of the operating system, failed cases, or cases that other processes run.
pub fn execute(arguments: &Case) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.dir)?;
    let places = study.places(arguments.cases.as_deref())?;
    let stop = interrupt::listen()?;
    if arguments.within {
        return within(&study, &places, &stop);
    }
    let cases = places.len();
    let before = study.tally(&places)?.done;
    if before > 0 {
        note(&format!("{before} of {cases} cases are done already"));
    }
    let program = build::program().context("cannot find this program's own file")?;
    let command = |places: &[usize]| {
        let mut command = Command::new(&program);
        command
            .arg("case")
            .arg(study.path())
            .arg(as_argument(places))
            .arg("--within");
        command
    };
    let watch = Watch {
        study: &study,
        by: &build::this()?,
        command: &command,
        report: &|line| {
            if !line.starts_with(COMPLAINT) {
                note(line);
            }
        },
        stop: &stop,
        wait: Duration::from_secs(arguments.wait),
    };
    let now = watch
        .run(&places, threads(arguments.threads)?.get())
        .map_err(complaint)?;
    for (place, by) in now.running.iter().zip(&now.by) {
        note(&format!("case {place}: skipped, {by} runs it"));
    }
    let run = now.done.saturating_sub(before);
    if arguments.json.json {
        let mut output = json!(now);
        output["run"] = run.into();
        print_json(&output)?;
    } else {
        let (done, dir) = (now.done, study.path().display());
        print(&format!(
            "{done} of {cases} cases are done in {dir}, {run} of them now"
        ))?;
    }
    if stop.load(Ordering::Relaxed) && now.done < cases {
        return Err(Failure::Interrupted);
    }
    verdict(&now)
}

/// Converts the error of a process that was started for a case.
fn complaint(error: tailcut_study::Error) -> Failure {
    match error {
        tailcut_study::Error::Process(said) => {
            let said = said.strip_prefix(COMPLAINT).unwrap_or(&said).to_owned();
            Failure::Refused(anyhow::Error::msg(said))
        }
        other => other.into(),
    }
}

fn verdict(tally: &Tally) -> Result<(), Failure> {
    let cases = tally.cases;
    if !tally.failed.is_empty() {
        let (count, places) = (tally.failed.len(), in_words(&tally.failed));
        return Err(Failure::CasesFailed(format!(
            "{count} of {cases} cases failed: {places}; `tailcut study status` shows why"
        )));
    }
    match tally.open() {
        0 => Ok(()),
        count => Err(Failure::CasesRunElsewhere(format!(
            "other processes run {count} of {cases} cases"
        ))),
    }
}

/// Runs cases in this process, which a parent process monitors.
/// The end of standard input stops the cases, because it means that the parent process has ended.
fn within(study: &StudyDir, places: &[usize], stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    let orphaned = Arc::clone(stop);
    let until_it_ends = move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        orphaned.store(true, Ordering::Relaxed);
    };
    let started = thread::Builder::new().spawn(until_it_ends);
    started.context("cannot start a thread")?;
    let report = |place: usize, ran: &CaseOutcome| {
        let label = study.plan().cases[place].key.label();
        match ran {
            CaseOutcome::Done(summary) => {
                note(&format!("case {place}: {label}: {}", in_a_line(summary)))
            }
            CaseOutcome::Failed(failure) => {
                note(&format!("case {place}: {label}: failed: {}", failure.error));
            }
            _ => {}
        }
    };
    let runner = study.runner(build::this()?)?;
    runner.walk(places, &Until(stop), &mut io::stdout(), &report)?;
    match stop.load(Ordering::Relaxed) {
        true => Err(Failure::Interrupted),
        false => Ok(()),
    }
}
