//! Watcher of processes that run cases.
//! If a process ends without a message, the watcher records a failure of the running case.
//! After a failure, the watcher starts another process for the remaining cases.

use crate::error::Error;
use crate::plan::Program;
use crate::runner::{CaseOutcome, Runner};
use crate::study_dir::StudyDir;
use crate::tally::Tally;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::panic::resume_unwind;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tailcut_scenario::sim::RunControl;

/// Interval at which the watcher checks whether a process has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Interval at which the watcher checks the cases that other processes are running.
const LOOK_AT_OTHERS_EVERY: Duration = Duration::from_secs(1);

/// Number of last lines of a process that the watcher keeps.
/// If the process ends without a message, its last lines describe the failure.
const LAST_LINES: usize = 20;

/// Beginning of a line about a case on standard error.
const OF_A_CASE: &str = "case ";

/// Exit code of a process that has tried to run all its cases.
const DONE: i32 = 0;
/// Exit code of a process that was refused, for example because of its command line.
const REFUSED: i32 = 2;
/// Exit code of a process that was stopped.
const INTERRUPTED: i32 = 130;

impl Runner<'_> {
    /// Runs the cases with the indices `places` one at a time, until `control` stops the process.
    /// A process that [`Watch`] has started calls this function.
    /// Before each case, the function writes the index of the case to `out`.
    /// `report` receives the outcome of each case.
    ///
    /// # Errors
    /// The errors of [`Runner::run`]; an error if `out` cannot be written.
    pub fn walk(
        &self,
        places: &[usize],
        control: &dyn RunControl,
        out: &mut dyn Write,
        report: &dyn Fn(usize, &CaseOutcome),
    ) -> Result<(), Error> {
        for &place in places {
            if control.stop() {
                break;
            }
            // If this process ends without a message, the watcher reads from this line which case was running.
            let written = writeln!(out, "{place}").and_then(|()| out.flush());
            written.map_err(|error| Error::Process(format!("cannot report the case: {error}")))?;
            report(place, &self.run(place, control)?);
        }
        Ok(())
    }
}

/// Watcher. It runs cases in processes of this machine.
pub struct Watch<'a> {
    /// Study whose cases the processes run.
    pub study: &'a StudyDir,
    /// Identity of this program, for the records of failures.
    pub by: &'a Program,
    /// Function that returns a command. The command calls [`Runner::walk`] with the given indices.
    /// The command must stop when its standard input ends.
    /// The exit code is 0 if the command has tried all cases, 2 if it was refused, and 130 if it was stopped.
    /// The last line on standard error is the reason of a refusal.
    pub command: &'a (dyn Fn(&[usize]) -> Command + Sync),
    /// Callback for each line that the processes write to standard error. Lines about a case begin with `case`.
    pub report: &'a (dyn Fn(&str) + Sync),
    /// Flag that becomes true to stop the processes.
    pub stop: &'a AtomicBool,
    /// Time for which the watcher waits when other processes are running all remaining cases.
    pub wait: Duration,
}

impl Watch<'_> {
    /// Runs the cases with the indices `places` with `processes` processes at the same time.
    /// The function returns when each case is done, has failed, or belongs to another process.
    /// Each process tries all cases in `places`. The lock of a case keeps other processes from running it.
    ///
    /// # Errors
    /// [`Error::Process`] if a process is refused, or if no process can be started.
    pub fn run(&self, places: &[usize], processes: usize) -> Result<Tally, Error> {
        let mut tally = self.study.tally(places)?;
        let mut idle_since = None;
        while tally.open() > 0 && !self.stop.load(Ordering::Relaxed) {
            let before = tally.open();
            if !tally.waiting.is_empty() {
                self.run_once(places, processes.min(tally.waiting.len()).max(1))?;
                tally = self.study.tally(places)?;
            }
            // Another process may have released a case in the meantime.
            if tally.open() < before && !tally.waiting.is_empty() {
                idle_since = None;
                continue;
            }
            // Other processes are running all remaining cases, or will run them soon.
            let since = *idle_since.get_or_insert_with(Instant::now);
            if tally.open() == 0 || since.elapsed() >= self.wait {
                break;
            }
            thread::sleep(LOOK_AT_OTHERS_EVERY);
            tally = self.study.tally(places)?;
        }
        Ok(tally)
    }

    fn run_once(&self, places: &[usize], processes: usize) -> Result<(), Error> {
        thread::scope(|scope| {
            let watcher = |_| thread::Builder::new().spawn_scoped(scope, || self.one(places));
            let watchers: Vec<io::Result<_>> = (0..processes).map(watcher).collect();
            let ends = watchers.into_iter().map(|watcher| match watcher {
                Ok(watcher) => watcher.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(error) => Err(cannot("start a thread", &error)),
            });
            // All results are collected first, so that all processes have ended when the first error is returned.
            let ends: Vec<Result<(), Error>> = ends.collect();
            ends.into_iter().collect()
        })
    }

    /// Runs a process for the cases with the indices `places`.
    /// A new process starts each time a process ends without a message.
    fn one(&self, places: &[usize]) -> Result<(), Error> {
        loop {
            let command = (self.command)(places);
            let ended = Process::start(command)?.wait(self)?;
            match ended.status.code() {
                Some(DONE | INTERRUPTED) => return Ok(()),
                Some(REFUSED) => {
                    return Err(Error::Process(
                        ended.last.back().cloned().unwrap_or_default(),
                    ));
                }
                _ => {}
            }
            let last: Vec<String> = ended.last.into();
            let status = ended.status;
            let ended_early = |what: &str| match last.is_empty() {
                true => format!("{what} ended without a message ({status})"),
                false => format!("{what} ended ({status}): {}", last.join("\n")),
            };
            let Some(place) = ended.at else {
                return Err(Error::Process(ended_early("a process for cases")));
            };
            let error = ended_early("the process that ran it");
            self.study.fail(place, ended.pid, &error, self.by)?;
            (self.report)(&format!(
                "case {place}: failed: its process ended ({status})"
            ));
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }
}

/// Process that runs cases.
struct Process {
    child: Child,
}

/// State of a process that has ended.
struct Ended {
    pid: u32,
    status: ExitStatus,
    /// Index of the case that the process was running. `None` if the process had not started a case.
    at: Option<usize>,
    /// Last lines of the process on standard error, without lines about cases.
    last: VecDeque<String>,
}

impl Process {
    fn start(mut command: Command) -> Result<Self, Error> {
        let piped = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = piped
            .spawn()
            .map_err(|error| cannot("start a process", &error))?;
        Ok(Self { child })
    }

    /// Waits until the process ends. If [`Watch::stop`] is true, closes the standard input of the process to stop it.
    fn wait(mut self, watch: &Watch<'_>) -> Result<Ended, Error> {
        let (out, errors) = (self.child.stdout.take(), self.child.stderr.take());
        thread::scope(|scope| {
            let read = |error: io::Error| cannot("start a thread", &error);
            let at = thread::Builder::new();
            let at = at
                .spawn_scoped(scope, || out.and_then(last_place))
                .map_err(read)?;
            let pass_on = |errors| pass_on(errors, watch.report);
            let last = thread::Builder::new();
            let last = last.spawn_scoped(scope, move || errors.map_or_else(VecDeque::new, pass_on));
            let last = last.map_err(read)?;
            let status = loop {
                if watch.stop.load(Ordering::Relaxed) {
                    drop(self.child.stdin.take());
                }
                let ended = self.child.try_wait();
                match ended.map_err(|error| cannot("wait for a process", &error))? {
                    Some(status) => break status,
                    None => thread::sleep(LOOK_EVERY),
                }
            };
            Ok(Ended {
                pid: self.child.id(),
                status,
                at: at.join().unwrap_or_default(),
                last: last.join().unwrap_or_default(),
            })
        })
    }
}

impl Drop for Process {
    /// Closes the standard input of the process, so that the process stops, and waits for its end.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn cannot(what: &str, error: &io::Error) -> Error {
    Error::Process(format!("cannot {what} for cases: {error}"))
}

/// Returns the last case index that a process reported.
fn last_place(out: impl Read) -> Option<usize> {
    let lines = BufReader::new(out).lines().map_while(Result::ok);
    lines.filter_map(|line| line.parse().ok()).last()
}

/// Passes the lines of a process to `to`, and returns the last lines that are not about cases.
fn pass_on(errors: impl Read, to: &(dyn Fn(&str) + Sync)) -> VecDeque<String> {
    let mut last = VecDeque::new();
    for line in BufReader::new(errors).lines().map_while(Result::ok) {
        to(&line);
        if line.starts_with(OF_A_CASE) {
            continue;
        }
        last.push_back(line);
        if last.len() > LAST_LINES {
            last.pop_front();
        }
    }
    last
}
