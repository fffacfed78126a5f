//! `--capture`: the files of a study's captures, and what is told of them.

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

/// What the flags ask for.
///
/// # Errors
/// A name that the study's network does not have, or a limit that is none.
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

/// The captures of a study, while its runs are run; none without a plan.
pub struct Captures<'a> {
    study: &'a Study,
    output: &'a OutputDir,
    plan: Option<&'a CapturePlan>,
    kept: Mutex<Vec<Kept>>,
}

/// A capture in its place.
struct Kept {
    run: usize,
    path: PathBuf,
    captured: Captured,
    /// Whether the run that was there already has another record.
    differs: bool,
}

type Observer = Option<Box<RunCapture<CaptureFile>>>;

impl<'a> Captures<'a> {
    pub fn new(study: &'a Study, output: &'a OutputDir, plan: Option<&'a CapturePlan>) -> Self {
        Self {
            study,
            output,
            plan,
            kept: Mutex::new(Vec::new()),
        }
    }

    fn takes(&self, run: usize) -> bool {
        self.plan
            .is_some_and(|plan| plan.takes(&self.study.runs[run]))
    }

    /// The runs that need not be run: they are there already and are not captured.
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

    /// The observer of a run.
    pub fn begin(&self, run: usize) -> Result<Observer, Failure> {
        match self.plan.filter(|_| self.takes(run)) {
            None => Ok(None),
            Some(plan) => {
                let file = self.output.begin_capture(run)?;
                Ok(Some(Box::new(plan.capture(&self.study.runs[run], file))))
            }
        }
    }

    /// Keeps the capture of a run that has ended.
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
        let kept = Kept {
            run,
            path: self.output.keep_capture(run, file)?,
            captured,
            differs: taken.is_some_and(|taken| taken.record_hash != record.hash()),
        };
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(kept);
        Ok(())
    }

    /// Says where the captures are, and what they leave out and why.
    pub fn tell(self) {
        if self.plan.is_none() {
            return;
        }
        let mut kept = self
            .kept
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        kept.sort_by_key(|kept| kept.run);
        let packets: u64 = kept.iter().map(|kept| kept.captured.packets).sum();
        let shown = self.output.path().display();
        let files = counted(kept.len(), "file");
        note(&format!(
            "captures: {packets} packets in {files} in {shown}/captures"
        ));
        for kept in &kept {
            for left_out in left_out(&kept.captured) {
                note(&format!("{}: {left_out}", kept.path.display()));
            }
            if kept.differs {
                note(&format!(
                    "{}: this build runs it otherwise than the build whose tables were there",
                    kept.path.display()
                ));
            }
        }
        let (with, without): (Vec<_>, Vec<_>) = self
            .study
            .runs
            .iter()
            .partition(|run| run.stack.design.has_packets());
        if !without.is_empty() {
            note("runs of stations are not captured: they have no packets");
        }
        let plan = self.plan;
        let of_other_seeds = |run: &&&_| plan.is_some_and(|plan| !plan.takes(run));
        let others = with.iter().filter(of_other_seeds).count();
        if others > 0 {
            let runs = counted(others, "run");
            note(&format!(
                "not captured: {runs} of other seeds; --capture-seeds N takes the first N"
            ));
        }
    }
}

/// A number of things, such as 1 file or 2 files.
fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// What a capture leaves out, a sentence for each reason.
fn left_out(captured: &Captured) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(at) = captured.full_at {
        told.push(format!(
            "full at {:.3} ms of simulated time; {} packets from then on are left out \
             (--capture-bytes)",
            at.as_secs_f64() * 1e3,
            captured.too_late
        ));
    }
    if captured.of_other_flows > 0 {
        told.push(format!(
            "{} packets of other flows are left out (--capture-flows)",
            captured.of_other_flows
        ));
    }
    if let Some(why) = captured.why {
        told.push(format!(
            "{} packets that no frame can hold are left out; the first: {why}",
            captured.without_frame
        ));
    }
    told
}
