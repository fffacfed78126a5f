//! `--capture`: capture files of a study, and messages about them.

use crate::args::Capture;
use crate::failure::Failure;
use crate::output::note;
use anyhow::anyhow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tailcut_scenario::captures::Captured;
use tailcut_scenario::record::{CaptureFile, OutputDir, PackedRun, RunSummary};
use tailcut_scenario::units::Time;
use tailcut_scenario::{CapturePlan, Outcome, RunCapture, Study};

/// Returns the capture plan that the flags describe, or `None` without `--capture`.
///
/// # Errors
/// The study's network does not have the named host or port, or a limit is not a number.
pub fn plan(study: &Study, flags: &Capture) -> Outcome<Option<CapturePlan>> {
    let Some(what) = &flags.capture else {
        return Ok(None);
    };
    let mut plan = CapturePlan::new(study, what)?;
    if let Some(bytes) = &flags.capture_bytes {
        plan = plan.with_bytes(bytes)?;
    }
    if let Some(flows) = flags.capture_flows {
        plan = plan.with_flows(flows);
    }
    if let Some(seeds) = flags.capture_seeds {
        plan = plan.with_seeds(seeds);
    }
    Ok(Some(plan))
}

/// Packet captures of a study's runs. Nothing is captured if there is no plan.
pub struct Captures<'a> {
    study: &'a Study,
    output: &'a OutputDir,
    plan: Option<&'a CapturePlan>,
    finished: Mutex<Vec<FinishedCapture>>,
}

/// Capture file that is complete.
struct FinishedCapture {
    run: usize,
    path: PathBuf,
    captured: Captured,
    /// Whether the repeated run gave a different result than the run whose tables exist.
    differs: bool,
}

type Observer = Option<Box<RunCapture<CaptureFile>>>;

impl<'a> Captures<'a> {
    pub fn new(study: &'a Study, output: &'a OutputDir, plan: Option<&'a CapturePlan>) -> Self {
        Self {
            study,
            output,
            plan,
            finished: Mutex::new(Vec::new()),
        }
    }

    fn takes(&self, run: usize) -> bool {
        self.plan
            .is_some_and(|plan| plan.takes(&self.study.runs[run]))
    }

    /// Returns the summaries of runs that need not be executed: their results exist, and no capture includes them.
    pub fn done(&self) -> Vec<Option<RunSummary>> {
        let taken = self.output.found().taken.iter().enumerate();
        let done = taken.map(|(run, taken)| taken.clone().filter(|_| !self.takes(run)));
        let done: Vec<_> = done.collect();
        let again = self.output.found().count() - done.iter().flatten().count();
        if again > 0 {
            let runs = counted(again, "run");
            note(&format!("run again for its capture: {runs}"));
        }
        done
    }

    /// Creates the packet observer of a run.
    pub fn begin(&self, run: usize) -> Result<Observer, Failure> {
        match self.plan.filter(|_| self.takes(run)) {
            None => Ok(None),
            Some(plan) => {
                let file = self.output.begin_capture(run)?;
                Ok(Some(Box::new(plan.capture(&self.study.runs[run], file))))
            }
        }
    }

    /// Stores the capture of a run that has ended.
    pub fn keep(&self, run: usize, capture: Observer, record: &PackedRun) -> Result<(), Failure> {
        let Some(capture) = capture else {
            return Ok(());
        };
        let end = Time::ZERO + record.totals.simulated;
        let (file, captured) = capture.finish(end).map_err(|error| {
            let run = self.study.runs[run].key().label();
            anyhow!("cannot write the capture of {run}: {error}")
        })?;
        let taken = self.output.found().taken[run].as_ref();
        let finished = FinishedCapture {
            run,
            path: self.output.keep_capture(run, file)?,
            captured,
            differs: taken.is_some_and(|taken| taken.record_hash != record.hash()),
        };
        let mut all = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(finished);
        Ok(())
    }

    /// Prints the location of the captures, and which packets are missing in them and why.
    pub fn report(self) {
        if self.plan.is_none() {
            return;
        }
        let mut finished = self
            .finished
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        finished.sort_by_key(|finished| finished.run);
        let packets: u64 = finished
            .iter()
            .map(|finished| finished.captured.packets)
            .sum();
        let shown = self.output.path().display();
        let files = counted(finished.len(), "file");
        note(&format!(
            "captures: {packets} packets in {files} in {shown}/captures"
        ));
        for finished in &finished {
            for left_out in finished.captured.omissions() {
                note(&format!("{}: {left_out}", finished.path.display()));
            }
            if finished.differs {
                note(&format!(
                    "{}: the result differs from the existing tables, which another build wrote",
                    finished.path.display()
                ));
            }
        }
        let (with, without): (Vec<_>, Vec<_>) = self
            .study
            .runs
            .iter()
            .partition(|run| run.stack.design.has_packets());
        if !without.is_empty() {
            note("runs of the design stations are not captured, because they have no packets");
        }
        let plan = self.plan;
        let of_other_seeds = |run: &&&_| plan.is_some_and(|plan| !plan.takes(run));
        let others = with.iter().filter(of_other_seeds).count();
        if others > 0 {
            let runs = counted(others, "run");
            note(&format!(
                "not captured: {runs} of other seeds; --capture-seeds N captures the first N seeds"
            ));
        }
    }
}

/// Returns a count with its noun, such as "1 file" or "2 files".
fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
