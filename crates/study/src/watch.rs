//! Processes that run cases, and one that watches them: what ends without a word is a failure of its case,
//! and not a hole.

use crate::error::Error;
use crate::plan::Program;
use crate::runner::{Ran, Runner};
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

/// How often a process is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How often cases are looked at that other processes are at.
const LOOK_AT_OTHERS_EVERY: Duration = Duration::from_secs(1);

/// Lines of a process that has ended without a word which are kept of it.
const LAST_LINES: usize = 20;

/// What a line begins with that tells of a case.
const OF_A_CASE: &str = "case ";

/// Exit codes of a process that has said all there is to say: done, refused, interrupted.
const DONE: i32 = 0;
const REFUSED: i32 = 2;
const INTERRUPTED: i32 = 130;

impl Runner<'_> {
    /// Runs the cases at some places until `control` stops it, in a process that [`Watch`] has started: it
    /// tells that one on `out` where it is. `told` hears what became of each case.
    ///
    /// # Errors
    /// As [`Runner::run`]; an `out` that nobody reads.
    pub fn walk(
        &self,
        places: &[usize],
        control: &dyn RunControl,
        out: &mut dyn Write,
        told: &dyn Fn(usize, &Ran),
    ) -> Result<(), Error> {
        for &place in places {
            if control.stop() {
                break;
            }
            let written = writeln!(out, "{place}").and_then(|()| out.flush());
            written.map_err(|error| Error::Process(format!("cannot tell where it is: {error}")))?;
            told(place, &self.run(place, control)?);
        }
        Ok(())
    }
}

/// Runs cases in processes of this machine, and watches over these.
pub struct Watch<'a> {
    /// The study.
    pub study: &'a StudyDir,
    /// This program.
    pub by: &'a Program,
    /// The command that [walks](Runner::walk) over some places. It ends when its standard input does, with
    /// an exit code of 0, with 2 and a last line on standard error that says what was refused, or with 130
    /// when it was stopped.
    pub command: &'a (dyn Fn(&[usize]) -> Command + Sync),
    /// Hears each line that the processes write to standard error. Those that tell of a case begin with
    /// `case`.
    pub told: &'a (dyn Fn(&str) + Sync),
    /// Turns true when they are to stop.
    pub stop: &'a AtomicBool,
    /// How long to wait for cases that other processes are at, once there is nothing else to run.
    pub wait: Duration,
}

impl Watch<'_> {
    /// Runs the cases at some places with so many processes at the same time, until each is done, has
    /// failed or is another's. Each process walks over all of them: locks keep them apart.
    ///
    /// # Errors
    /// [`Error::Process`] for what the processes are refused, or where none can be started.
    pub fn run(&self, places: &[usize], processes: usize) -> Result<Tally, Error> {
        let mut tally = self.study.tally(places)?;
        let mut idle_since = None;
        while tally.open() > 0 && !self.stop.load(Ordering::Relaxed) {
            let before = tally.open();
            if !tally.waiting.is_empty() {
                self.run_once(places, processes.min(tally.waiting.len()).max(1))?;
                tally = self.study.tally(places)?;
            }
            // A case may be left over that another process has given up meanwhile.
            if tally.open() < before && !tally.waiting.is_empty() {
                idle_since = None;
                continue;
            }
            // Others are at all that is left, or about to take it.
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
            // All are waited for; the first refusal is told.
            let ends: Vec<Result<(), Error>> = ends.collect();
            ends.into_iter().collect()
        })
    }

    /// Has a process run cases until it has said all there is to say, and another one where it could not.
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
                true => format!("{what} ended without a word ({status})"),
                false => format!("{what} ended ({status}): {}", last.join("\n")),
            };
            let Some(place) = ended.at else {
                return Err(Error::Process(ended_early("a process for cases")));
            };
            let error = ended_early("the process that ran it");
            self.study.fail(place, ended.pid, &error, self.by)?;
            (self.told)(&format!(
                "case {place}: failed: its process ended ({status})"
            ));
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }
}

/// A process that runs cases.
struct Process {
    child: Child,
}

/// What is known of a process that has ended.
struct Ended {
    pid: u32,
    status: ExitStatus,
    /// The case that it was at.
    at: Option<usize>,
    /// Its last lines, without those that tell of cases.
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

    /// Waits for its end, which it is asked for by closing its standard input once it is to stop.
    fn wait(mut self, watch: &Watch<'_>) -> Result<Ended, Error> {
        let (out, told) = (self.child.stdout.take(), self.child.stderr.take());
        thread::scope(|scope| {
            let read = |error: io::Error| cannot("start a thread", &error);
            let at = thread::Builder::new();
            let at = at
                .spawn_scoped(scope, || out.and_then(last_place))
                .map_err(read)?;
            let pass_on = |told| pass_on(told, watch.told);
            let last = thread::Builder::new();
            let last = last.spawn_scoped(scope, move || told.map_or_else(VecDeque::new, pass_on));
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
    /// A process that nobody watches any more ends with its standard input.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn cannot(what: &str, error: &io::Error) -> Error {
    Error::Process(format!("cannot {what} for cases: {error}"))
}

/// The last place that a process has told.
fn last_place(out: impl Read) -> Option<usize> {
    let lines = BufReader::new(out).lines().map_while(Result::ok);
    lines.filter_map(|line| line.parse().ok()).last()
}

/// Passes a process's lines on, and gives the last of them.
fn pass_on(told: impl Read, to: &(dyn Fn(&str) + Sync)) -> VecDeque<String> {
    let mut last = VecDeque::new();
    for line in BufReader::new(told).lines().map_while(Result::ok) {
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
