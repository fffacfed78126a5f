//! A study from its runs to its directory and its report.

use crate::args::Common;
use crate::failure::Failure;
use crate::output::{note, print, print_json};
use crate::runner::{Crew, checked_threads};
use crate::sensitivity;
use crate::study::Study;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_record::{Manifest, OutputDir, RunKey, RunRecord, RunSummary};
use tailcut_sim::RunConfig;

/// The name of the report within a study's directory.
pub const REPORT: &str = "report.html";

/// What a study left.
pub struct Conducted {
    /// Its directory.
    pub dir: PathBuf,
    /// What `inspect` gave for each run; `None` for those that did not finish.
    pub runs: Vec<Option<RunSummary>>,
}

/// Runs a study and writes it into `dir`, each run as it finishes; `inspect` sees every record.
///
/// # Errors
/// Whatever keeps a run from being run or written. What was finished before stays.
pub fn conduct(
    study: &Study,
    dir: PathBuf,
    crew: Crew<'_>,
    inspect: impl Fn(usize, &RunRecord) + Sync,
) -> Result<Conducted, Failure> {
    let manifest = Manifest::new(
        env!("CARGO_PKG_VERSION"),
        std::env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        study.seed,
        study.config.clone(),
        study.runs.iter().map(key),
    );
    let output = OutputDir::create(&dir, manifest, study.format)?;
    remove_if_there(&dir.join(REPORT))?;
    let outcome = crew.run(&study.runs, |index, record| {
        inspect(index, &record);
        Ok(output.write_run(index, &record)?)
    });
    match outcome {
        Ok(runs) if runs.iter().all(Option::is_some) => Ok(Conducted { dir, runs }),
        Ok(runs) => {
            output.interrupt()?;
            Ok(Conducted { dir, runs })
        }
        Err(failure) => {
            // The first failure is the one to tell; the manifest may be unwritable for the same reason.
            let _ = output.interrupt();
            Err(failure)
        }
    }
}

/// Runs a study, with other timers and buffers too where that is asked, prints its answer and writes its
/// report.
///
/// # Errors
/// As [`conduct`]; [`Failure::Interrupted`] after what was finished has been reported.
pub fn conduct_and_report(
    study: &Study,
    common: &Common,
    with_sensitivity: bool,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let dir = common
        .out
        .clone()
        .unwrap_or_else(|| Path::new("out").join(&study.name));
    let crew = Crew {
        threads: checked_threads(common.threads)?,
        stop,
        json: common.json,
    };
    let planned = study.runs.len();
    if !study.about.is_empty() {
        note(&study.about);
    }
    let conducted = conduct(study, dir, crew, |_, _| ())?;
    // What an earlier study said of other timers is not about this one.
    remove_if_there(&conducted.dir.join(tailcut_report::SENSITIVITY_FILE))?;
    let finished: Vec<&RunSummary> = conducted.runs.iter().flatten().collect();
    let mut interrupted = stop.load(Ordering::Relaxed) && finished.len() < planned;
    if with_sensitivity && !interrupted {
        match sensitivity::vary(study, &conducted.dir, crew) {
            Err(Failure::Interrupted) => interrupted = true,
            outcome => outcome?,
        }
    }
    let dir = conducted.dir.display();
    if interrupted {
        note(&format!(
            "interrupted: {} of {planned} runs had finished; they are in {dir}",
            finished.len()
        ));
    }
    if !finished.is_empty() {
        let loaded = tailcut_report::load(&conducted.dir)?;
        let report = conducted.dir.join(REPORT);
        tailcut_report::write_html(&loaded, &report)?;
        let shown = report.display();
        if common.json {
            note(&format!("report: {shown}"));
            print_json(&finished)?;
        } else {
            let answer = tailcut_report::answer(&loaded);
            let table = tailcut_report::text_table(&loaded);
            print(&format!("{answer}\n\n{table}\nReport: {shown}"))?;
        }
    } else if common.json {
        print_json(&finished)?;
    }
    if interrupted {
        Err(Failure::Interrupted)
    } else {
        Ok(())
    }
}

fn key(config: &RunConfig) -> RunKey {
    RunKey {
        design: config.design.to_string(),
        topology: config.topology.name.clone(),
        workload: config.workload.name.clone(),
        load: config.workload.load,
        seed: config.seed,
    }
}

/// Removes an earlier report, so that a stopped study never stands beside a report of another one.
fn remove_if_there(path: &Path) -> anyhow::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
