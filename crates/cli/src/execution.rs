//! Execution of a study: its runs, its directory and its report.

use crate::build;
use crate::captures::Captures;
use crate::failure::Failure;
use crate::output::{note, print_exactly, print_json, screen};
use crate::pool::Pool;
use crate::sensitivity;
use crate::shared::Shared;
use anyhow::Context;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_scenario::record::{Earlier, Found, Manifest, OutputDir, RunSummary};
use tailcut_scenario::sim::RunConfig;
use tailcut_scenario::{CapturePlan, Study};

/// Name of the report in a study's directory.
pub const REPORT: &str = "report.html";

/// Options of a study's execution.
#[derive(Clone)]
pub struct StudyOptions {
    /// Treatment of runs that already exist in the directory.
    pub earlier: Earlier,
    /// Whether the runs are repeated with other timers and buffers.
    pub sensitivity: bool,
    /// Packets that are captured; `None`: no packets.
    pub capture: Option<CapturePlan>,
}

/// Result of a study's execution.
pub struct StudyResult {
    /// Directory of the study. Other processes cannot use the directory until this value is dropped.
    pub output: OutputDir,
    /// Summaries of the runs; `None` for runs that did not finish.
    pub runs: Vec<Option<RunSummary>>,
}

impl StudyResult {
    /// Returns the number of finished runs.
    pub fn finished(&self) -> usize {
        self.runs.iter().flatten().count()
    }
}

/// Executes the runs that are missing in `dir`, and writes each run when it finishes.
/// Runs that `capture` includes are executed even if they already exist.
///
/// # Errors
/// A run cannot be executed or written. Runs that have already finished are kept.
pub fn execute_study(
    study: &Study,
    dir: PathBuf,
    earlier: Earlier,
    pool: Pool<'_>,
    capture: Option<&CapturePlan>,
) -> Result<StudyResult, Failure> {
    let output = open(study, &dir, earlier)?;
    report_existing_runs(output.found(), &dir);
    run_missing(study, output, pool, capture)
}

/// Opens the directory of a study, and finds the runs that it already contains.
///
/// # Errors
/// The directory contains files but no study, or the operating system reports an error.
pub fn open(study: &Study, dir: &Path, earlier: Earlier) -> Result<OutputDir, Failure> {
    let manifest = Manifest::new(
        env!("CARGO_PKG_VERSION"),
        build::command_line(),
        study.seed,
        study.config.clone(),
        study.runs.iter().map(RunConfig::key),
    );
    let manifest = manifest.with_origins(study.origins(&build::identity()?));
    let output = OutputDir::open(dir, manifest, study.format, earlier)?;
    remove_if_there(&dir.join(REPORT))?;
    Ok(output)
}

/// Executes the runs that are missing in `output`, and the runs that must be captured.
///
/// # Errors
/// The errors of [`execute_study`].
pub fn run_missing(
    study: &Study,
    output: OutputDir,
    pool: Pool<'_>,
    capture: Option<&CapturePlan>,
) -> Result<StudyResult, Failure> {
    let taken = &output.found().taken;
    let captures = Captures::new(study, &output, capture);
    let outcome = pool.run(
        &study.runs,
        &captures.done(),
        |index| captures.begin(index),
        |index, record, capture| {
            captures.keep(index, capture, &record)?;
            match &taken[index] {
                // The run was repeated only for its capture, so the existing tables stay.
                Some(summary) => Ok(summary.clone()),
                None => Ok(output.write_run(index, &record)?),
            }
        },
    );
    // If the runs and the conclusion fail, only the first error is reported. Both often have the same cause.
    let concluded = output.conclude();
    let runs = outcome?;
    concluded?;
    captures.report();
    // A run that already existed counts as finished, even if its repetition for the capture was interrupted.
    let runs = runs.into_iter().zip(taken);
    let runs = runs.map(|(run, taken)| run.or_else(|| taken.clone()));
    Ok(StudyResult {
        runs: runs.collect(),
        output,
    })
}

/// Prints which existing runs were found to be reused, moved or damaged.
fn report_existing_runs(found: &Found, dir: &Path) {
    let runs = |count: usize| match count {
        1 => "1 run".to_owned(),
        _ => format!("{count} runs"),
    };
    let shown = dir.display();
    for reason in &found.damaged {
        note(&format!("{reason}; this run is executed again"));
    }
    if found.count() > 0 {
        let (here, planned) = (found.count(), found.taken.len());
        note(&format!("{here} of {planned} runs are in {shown} already"));
    }
    if found.of_other_builds > 0 {
        let others = runs(found.of_other_builds);
        note(&format!(
            "from another build of tailcut, reused with --accept-older: {others}"
        ));
    }
    if found.left_of_other_builds > 0 {
        let others = runs(found.left_of_other_builds);
        note(&format!(
            "from another build of tailcut, executed again: {others} in {shown}; --accept-older reuses them"
        ));
    }
    if found.set_aside > 0 {
        let others = runs(found.set_aside);
        note(&format!(
            "{others} of earlier studies: moved to {shown}/kept, where a later study finds them; \
             --fresh removes them"
        ));
    }
}

/// Executes a study, prints its answer and writes its report.
/// Optionally repeats the study with other timers and buffers.
///
/// # Errors
/// The errors of [`execute_study`]. After an interruption, the finished runs are reported.
/// An interruption causes the error [`Failure::Interrupted`].
pub fn execute_and_report(
    study: &Study,
    shared: &Shared,
    options: StudyOptions,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let dir = shared
        .out
        .out
        .clone()
        .unwrap_or_else(|| Path::new("out").join(&study.name));
    let pool = Pool::new(shared.threads, shared.json, stop)?;
    let planned = study.runs.len();
    if !study.about.is_empty() {
        note(&study.about);
    }
    if let Some(words) = missing_figures(study) {
        note(&words);
    }
    let executed = execute_study(study, dir, options.earlier, pool, options.capture.as_ref())?;
    let dir = executed.output.path();
    // If the file exists, it describes the sensitivity of an earlier study.
    remove_if_there(&dir.join(tailcut_report::SENSITIVITY_FILE))?;
    let finished: Vec<&RunSummary> = executed.runs.iter().flatten().collect();
    let mut interrupted = stop.load(Ordering::Relaxed) && finished.len() < planned;
    if options.sensitivity && !interrupted {
        match sensitivity::vary(study, dir, options.earlier, pool) {
            Err(Failure::Interrupted) => interrupted = true,
            outcome => outcome?,
        }
    }
    if interrupted {
        note(&format!(
            "interrupted: {} of {planned} runs had finished; they are in {}",
            finished.len(),
            dir.display()
        ));
    }
    report(dir, &finished, shared.json.json)?;
    if interrupted {
        Err(Failure::Interrupted)
    } else {
        Ok(())
    }
}

/// Returns a text that names the figures that the study will not have, and the flag that adds them.
pub fn missing_figures(study: &Study) -> Option<String> {
    let seeds: BTreeSet<u64> = study.runs.iter().map(|run| run.seed).collect();
    let workloads = study.config["workload"].as_array();
    // A burst or a file contains all of its flows, so its percentiles are exact and need no sample.
    let is_sample = workloads.is_some_and(|parts| parts.iter().all(|part| part["kind"] == "open"));
    let flows = study.config["study"]["flows"].as_u64();
    tailcut_report::missing_figures(seeds.len(), flows.filter(|_| is_sample))
}

/// Writes the report of a directory's runs. Prints the answer of the runs, or with `--json` their summaries.
///
/// # Errors
/// The runs cannot be read, or the report cannot be written.
pub fn report(dir: &Path, finished: &[&RunSummary], is_json: bool) -> Result<(), Failure> {
    if !finished.is_empty() {
        let loaded = tailcut_report::load(dir)?;
        let report = dir.join(REPORT);
        tailcut_report::write_html(&loaded, &report)?;
        let shown = report.display();
        if !is_json {
            let answer = tailcut_report::text_answer_on(&loaded, screen());
            let table = tailcut_report::text_table_on(&loaded, screen());
            return print_exactly(&format!("{answer}\n\n{table}\nReport: {shown}"));
        }
        note(&format!("report: {shown}"));
    }
    match is_json {
        true => print_json(&finished),
        false => Ok(()),
    }
}

/// Removes an earlier report.
/// An earlier report in the directory of an interrupted study would be the report of another study.
///
/// # Errors
/// The operating system reports an error.
pub fn remove_if_there(path: &Path) -> anyhow::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
