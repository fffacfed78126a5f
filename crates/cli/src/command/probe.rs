//! `tailcut probe`.

use crate::args::ProbeOf;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{note, print, print_json, width};
use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tailcut_probe::command::{Progress, run};
use tailcut_probe::net::Trouble;

/// Without a terminal, between two lines.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Runs the command. What was measured when the user ends it is told.
///
/// # Errors
/// Wrong input, or nothing could be measured.
pub fn execute(arguments: &ProbeOf) -> Result<(), Failure> {
    let stop = interrupt::listen()?;
    let bar = std::io::stderr()
        .is_terminal()
        .then(ProgressBar::new_spinner);
    let mut told_at = Instant::now();
    let mut tell = |progress: Progress| match &bar {
        Some(bar) => {
            bar.set_message(words(progress));
            bar.tick();
        }
        None if told_at.elapsed() >= TOLD_EVERY => {
            told_at = Instant::now();
            note(&words(progress));
        }
        None => {}
    };
    let probed = run(
        &arguments.probe,
        arguments.out.out.as_deref(),
        &stop,
        &mut tell,
    );
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let probed = probed.map_err(|error| match error.downcast_ref() {
        Some(Trouble::Interrupted) => Failure::Interrupted,
        _ => Failure::Refused(error),
    })?;
    match arguments.json.json {
        true => print_json(&probed.findings)?,
        false => print(&probed.findings.text(width()))?,
    }
    if let Some(report) = probed.report {
        note(&format!("report: {}", report.display()));
    }
    match probed.is_interrupted {
        true => Err(Failure::Interrupted),
        false => Ok(()),
    }
}

fn words(progress: Progress) -> String {
    match progress {
        Progress::Paths(hop, probes) => format!("paths: hop {hop}, {probes} SYNs sent"),
        Progress::Volleys(done, all) => format!("handshakes: {done} of {all} volleys"),
        Progress::Resting(round, left) => {
            format!(
                "round {round} begins in {} s",
                left.as_secs().saturating_add(1)
            )
        }
    }
}
