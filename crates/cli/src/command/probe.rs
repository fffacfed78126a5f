//! `tailcut probe`: estimates the gain of RepNet on a network.

use crate::args::ProbeOf;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{note, print_exactly, print_json, screen};
use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tailcut_probe::command::{Progress, run};
use tailcut_probe::net::Trouble;

/// Interval between two progress lines if standard error is not a terminal.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// Runs the command. If the user interrupts the command, it prints the results so far.
///
/// # Errors
/// The input is wrong, or a measurement fails.
pub fn execute(arguments: &ProbeOf) -> Result<(), Failure> {
    let stop = interrupt::listen()?;
    let bar = std::io::stderr()
        .is_terminal()
        .then(ProgressBar::new_spinner);
    let mut printed_at = Instant::now();
    let mut report = |progress: Progress| match &bar {
        Some(bar) => {
            bar.set_message(words(progress));
            bar.tick();
        }
        None if printed_at.elapsed() >= PROGRESS_INTERVAL => {
            printed_at = Instant::now();
            note(&words(progress));
        }
        None => {}
    };
    let probed = run(
        &arguments.probe,
        arguments.out.out.as_deref(),
        &stop,
        &mut report,
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
        false => print_exactly(&probed.findings.text(screen()))?,
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
