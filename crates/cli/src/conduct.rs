//! A study from its runs to its directory and its report.

use crate::build;
use crate::captures::Captures;
use crate::failure::Failure;
use crate::output::{note, print, print_json, width};
use crate::pool::Pool;
use crate::sensitivity;
use crate::shared::Shared;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_scenario::record::{Earlier, Found, Manifest, OutputDir, RunSummary};
use tailcut_scenario::sim::RunConfig;
use tailcut_scenario::{CapturePlan, Study};

/// The name of the report within a study's directory.
pub const REPORT: &str = "report.html";

/// What is asked of a study beside its runs.
#[derive(Clone)]
pub struct Asked {
    /// Which runs that are there already it takes.
    pub earlier: Earlier,
    /// Whether to run it with other timers and buffers too.
    pub sensitivity: bool,
    /// What is captured of its runs.
    pub capture: Option<CapturePlan>,
}

/// What a study left.
pub struct Conducted {
    /// Its directory, which no other process writes into while this lives.
    pub output: OutputDir,
    /// The runs' summaries; `None` for those that did not finish.
    pub runs: Vec<Option<RunSummary>>,
}

impl Conducted {
    /// How many runs have finished.
    pub fn finished(&self) -> usize {
        self.runs.iter().flatten().count()
    }
}

/// Runs what a study has not run yet and writes it into `dir`, each run as it finishes; with a plan of
/// captures also those that it takes.
///
/// # Errors
/// Whatever keeps a run from being run or written. What was finished before stays.
pub fn conduct(
    study: &Study,
    dir: PathBuf,
    earlier: Earlier,
    pool: Pool<'_>,
    capture: Option<&CapturePlan>,
) -> Result<Conducted, Failure> {
    let output = open(study, &dir, earlier)?;
    tell(output.found(), &dir);
    run_missing(study, output, pool, capture)
}

/// Opens the directory of a study, with the runs that it holds already.
///
/// # Errors
/// A directory that is not one of a study, or whatever the system refuses.
pub fn open(study: &Study, dir: &Path, earlier: Earlier) -> Result<OutputDir, Failure> {
    let manifest = Manifest::new(
        env!("CARGO_PKG_VERSION"),
        build::command_line(),
        study.seed,
        study.config.clone(),
        study.runs.iter().map(RunConfig::key),
    );
    let manifest = manifest.with_origins(study.origins(&build::hash()?));
    let output = OutputDir::open(dir, manifest, study.format, earlier)?;
    remove_if_there(&dir.join(REPORT))?;
    Ok(output)
}

/// Runs what `output` does not hold yet of a study, and those that are captured.
///
/// # Errors
/// As [`conduct`].
pub fn run_missing(
    study: &Study,
    output: OutputDir,
    pool: Pool<'_>,
    capture: Option<&CapturePlan>,
) -> Result<Conducted, Failure> {
    let taken = &output.found().taken;
    let captures = Captures::new(study, &output, capture);
    let outcome = pool.run(
        &study.runs,
        &captures.done(),
        |index| captures.begin(index),
        |index, record, capture| {
            captures.keep(index, capture, &record)?;
            match &taken[index] {
                // It was run again for its capture.
                Some(summary) => Ok(summary.clone()),
                None => Ok(output.write_run(index, &record)?),
            }
        },
    );
    // Of two failures the first is the one to tell; both may have the same reason.
    let concluded = output.conclude();
    let runs = outcome?;
    concluded?;
    captures.tell();
    // What was there already is there, even if its capture was interrupted.
    let runs = runs.into_iter().zip(taken);
    let runs = runs.map(|(run, taken)| run.or_else(|| taken.clone()));
    Ok(Conducted {
        runs: runs.collect(),
        output,
    })
}

/// Says what became of the runs that the directory held.
fn tell(found: &Found, dir: &Path) {
    let runs = |count: usize| match count {
        1 => "1 run".to_owned(),
        _ => format!("{count} runs"),
    };
    let shown = dir.display();
    for reason in &found.damaged {
        note(&format!("{reason}; that run is run again"));
    }
    if found.count() > 0 {
        let (here, planned) = (found.count(), found.taken.len());
        note(&format!("{here} of {planned} runs are in {shown} already"));
    }
    if found.of_other_builds > 0 {
        let others = runs(found.of_other_builds);
        note(&format!(
            "{others} of these: of another build of tailcut, as accepted"
        ));
    }
    if found.left_of_other_builds > 0 {
        let others = runs(found.left_of_other_builds);
        note(&format!(
            "{others} in {shown} of another build of tailcut: run again; --accept-older takes them"
        ));
    }
    if found.set_aside > 0 {
        let others = runs(found.set_aside);
        note(&format!(
            "{others} of earlier studies: kept in {shown}/kept for when they are asked for again; \
             --fresh removes them"
        ));
    }
}

/// Runs a study, with other timers and buffers too where that is asked, prints its answer and writes its
/// report.
///
/// # Errors
/// As [`conduct`]; [`Failure::Interrupted`] after what was finished has been reported.
pub fn conduct_and_report(
    study: &Study,
    shared: &Shared,
    asked: Asked,
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
    let conducted = conduct(study, dir, asked.earlier, pool, asked.capture.as_ref())?;
    let dir = conducted.output.path();
    // What an earlier study said of other timers is not about this one.
    remove_if_there(&dir.join(tailcut_report::SENSITIVITY_FILE))?;
    let finished: Vec<&RunSummary> = conducted.runs.iter().flatten().collect();
    let mut interrupted = stop.load(Ordering::Relaxed) && finished.len() < planned;
    if asked.sensitivity && !interrupted {
        match sensitivity::vary(study, dir, asked.earlier, pool) {
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

/// Writes the report of a directory's runs and prints their answer, or with `--json` the runs.
///
/// # Errors
/// Runs that cannot be read, or a report that cannot be written.
pub fn report(dir: &Path, finished: &[&RunSummary], is_json: bool) -> Result<(), Failure> {
    if !finished.is_empty() {
        let loaded = tailcut_report::load(dir)?;
        let report = dir.join(REPORT);
        tailcut_report::write_html(&loaded, &report)?;
        let shown = report.display();
        if !is_json {
            let answer = tailcut_report::text_answer(&loaded);
            let table = tailcut_report::text_table_within(&loaded, width());
            return print(&format!("{answer}\n\n{table}\nReport: {shown}"));
        }
        note(&format!("report: {shown}"));
    }
    match is_json {
        true => print_json(&finished),
        false => Ok(()),
    }
}

/// Removes an earlier report, so that a stopped study never stands beside a report of another one.
///
/// # Errors
/// Where the system refuses.
pub fn remove_if_there(path: &Path) -> anyhow::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
