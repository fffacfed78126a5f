//! `tailcut case`: runs cases of a planned study, in processes of their own, so that one which ends without
//! a word leaves a failure and not a hole.

mod watched;

use crate::args::{Case, Common};
use crate::build;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{note, print, print_json, seconds};
use crate::pool::threads;
use serde_json::json;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tailcut_cases::{CaseState, Ran, StudyDir, in_words};
use tailcut_scenario::record::RunSummary;

/// How often cases are looked at that other processes are at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Runs the command.
///
/// # Errors
/// Wrong input, what the system refuses, cases that failed, or cases that other processes are at.
pub fn execute(arguments: &Case, common: &Common) -> Result<(), Failure> {
    let study = StudyDir::open(&arguments.dir)?;
    let places = study.places(arguments.cases.as_deref())?;
    let stop = interrupt::listen()?;
    if arguments.within {
        return within(&study, &places, &stop);
    }
    let before = Counts::of(&study, &places)?;
    if before.done > 0 {
        note(&format!(
            "{} of {} cases are done already",
            before.done,
            places.len()
        ));
    }
    let mut now = before.clone();
    let mut idle_since = None;
    while now.open() > 0 && !stop.load(Ordering::Relaxed) {
        let open = now.open();
        if !now.waiting.is_empty() {
            let most = threads(common)?.get().min(now.waiting.len());
            watched::run(&study, &places, most, &stop)?;
            now = Counts::of(&study, &places)?;
        }
        // A case may be left over that another process has given up meanwhile.
        if now.open() < open && !now.waiting.is_empty() {
            idle_since = None;
            continue;
        }
        let since = *idle_since.get_or_insert_with(Instant::now);
        if now.open() == 0 || since.elapsed().as_secs() >= arguments.wait {
            break;
        }
        thread::sleep(LOOK_EVERY);
        now = Counts::of(&study, &places)?;
    }
    now.tell(&study, &before, common)?;
    if stop.load(Ordering::Relaxed) && now.done < places.len() {
        return Err(Failure::Interrupted);
    }
    now.verdict()
}

/// What has become of some cases.
#[derive(Clone, Default, Debug)]
struct Counts {
    cases: usize,
    done: usize,
    failed: Vec<usize>,
    /// By places: cases that other processes are at, and which.
    elsewhere: Vec<(usize, String)>,
    waiting: Vec<usize>,
}

impl Counts {
    fn of(study: &StudyDir, places: &[usize]) -> Result<Self, Failure> {
        let mut counts = Self {
            cases: places.len(),
            ..Self::default()
        };
        let states = study.states(places.iter().copied())?;
        for (&place, state) in places.iter().zip(states) {
            match state {
                CaseState::Done => counts.done += 1,
                CaseState::Failed(_) => counts.failed.push(place),
                CaseState::Running(holding) => {
                    let by = holding
                        .by
                        .map_or("a process".to_owned(), |by| by.to_string());
                    counts.elsewhere.push((place, by));
                }
                CaseState::Stale(_) | CaseState::Waiting => counts.waiting.push(place),
            }
        }
        Ok(counts)
    }

    /// How many are neither done nor failed.
    fn open(&self) -> usize {
        self.elsewhere.len() + self.waiting.len()
    }

    fn tell(&self, study: &StudyDir, before: &Self, common: &Common) -> Result<(), Failure> {
        for (place, by) in &self.elsewhere {
            note(&format!("case {place}: skipped, {by} is at it"));
        }
        let run = self.done.saturating_sub(before.done);
        if common.json {
            let elsewhere: Vec<usize> = self.elsewhere.iter().map(|(place, _)| *place).collect();
            return print_json(&json!({
                "cases": self.cases,
                "done": self.done,
                "run": run,
                "failed": self.failed,
                "elsewhere": elsewhere,
                "waiting": self.waiting,
            }));
        }
        let dir = study.path().display();
        print(&format!(
            "{} of {} cases are done in {dir}, {run} of them now",
            self.done, self.cases
        ))
    }

    fn verdict(&self) -> Result<(), Failure> {
        if !self.failed.is_empty() {
            let (count, places) = (self.failed.len(), in_words(&self.failed));
            return Err(Failure::CasesFailed(format!(
                "{count} of {} cases failed: {places}; `tailcut study status` says why",
                self.cases
            )));
        }
        let count = self.open();
        if count > 0 {
            let cases = self.cases;
            return Err(Failure::Elsewhere(format!(
                "other processes are at {count} of {cases} cases"
            )));
        }
        Ok(())
    }
}

/// Runs cases within this process, which another one watches. It tells that one on standard output where it
/// is, and ends when standard input does.
fn within(study: &StudyDir, places: &[usize], stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    let orphaned = Arc::clone(stop);
    thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        orphaned.store(true, Ordering::Relaxed);
    });
    let runner = study.runner(build::this()?)?;
    let mut out = io::stdout();
    for &place in places {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        writeln!(out, "{place}")
            .and_then(|()| out.flush())
            .map_err(Failure::of_stdout)?;
        let ran = runner.run(place, &interrupt::Until(stop))?;
        let label = || study.plan().cases[place].key.label();
        match ran {
            Ran::Done(summary) => note(&format!(
                "case {place}: {}: {}",
                label(),
                in_a_line(&summary)
            )),
            Ran::Failed(failure) => {
                note(&format!(
                    "case {place}: {}: failed: {}",
                    label(),
                    failure.error
                ));
            }
            Ran::Stopped => break,
            Ran::DoneAlready | Ran::FailedBefore(_) | Ran::Busy(_) => {}
        }
    }
    match stop.load(Ordering::Relaxed) {
        true => Err(Failure::Interrupted),
        false => Ok(()),
    }
}

fn in_a_line(summary: &RunSummary) -> String {
    let cpu = summary
        .cpu_seconds
        .or(summary.wall_seconds)
        .unwrap_or_default();
    match &summary.requests {
        Some(_) if summary.flows == 0 => format!("{} CPU-seconds", seconds(cpu)),
        _ => format!("{} flows, {} CPU-seconds", summary.flows, seconds(cpu)),
    }
}
