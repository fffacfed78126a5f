//! Processes that run cases, and one that watches them: what ends without a word is a failure of its case.

use crate::build;
use crate::failure::Failure;
use crate::output::note;
use anyhow::{Context, anyhow};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tailcut_cases::{StudyDir, as_argument};

/// How often a process is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Lines of a process that has ended without a word which are kept of it.
const LAST_LINES: usize = 20;

/// Exit codes of a process that has said all there is to say: done, refused, interrupted.
const DONE: i32 = 0;
const REFUSED: i32 = 2;
const INTERRUPTED: i32 = 130;

/// Runs the cases at some places with so many processes at the same time, until each is done, has failed or
/// is another's. Each process walks over all of them: locks keep them apart.
///
/// # Errors
/// What the processes are refused, or where none can be started.
pub fn run(
    study: &StudyDir,
    places: &[usize],
    processes: usize,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    thread::scope(|scope| {
        let watchers = (0..processes).map(|_| scope.spawn(|| watch(study, places, stop)));
        let watchers: Vec<_> = watchers.collect();
        let ends = watchers.into_iter().map(|watcher| match watcher.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // All are waited for; the first refusal is told.
        let ends: Vec<Result<(), Failure>> = ends.collect();
        ends.into_iter().collect()
    })
}

/// Has a process run cases until it has said all there is to say, and another one where it could not.
fn watch(study: &StudyDir, places: &[usize], stop: &AtomicBool) -> Result<(), Failure> {
    loop {
        let ended = Process::start(study, places)?.wait(stop)?;
        match ended.status.code() {
            Some(DONE | INTERRUPTED) => return Ok(()),
            Some(REFUSED) => {
                let said = ended.last.back().map_or("", String::as_str);
                let said = said.strip_prefix(COMPLAINT).unwrap_or(said);
                return Err(anyhow!("{said}").into());
            }
            _ => {}
        }
        let last: Vec<String> = ended.last.into();
        let last = last.join("\n");
        let status = ended.status;
        let Some(place) = ended.at else {
            return Err(anyhow!("a process for cases ended early ({status}): {last}").into());
        };
        let error = format!("the process that ran it ended without a word ({status}): {last}");
        study.fail(
            place,
            ended.pid,
            error.trim_end_matches(": "),
            &build::this()?,
        )?;
        note(&format!(
            "case {place}: failed: its process ended ({status})"
        ));
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
}

/// What a line of the command begins with that says why it ends.
const COMPLAINT: &str = "tailcut: ";

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
    /// Its last lines.
    last: VecDeque<String>,
}

impl Process {
    fn start(study: &StudyDir, places: &[usize]) -> anyhow::Result<Self> {
        let start = || {
            Command::new(build::program()?)
                .arg("case")
                .arg(study.path())
                .arg(as_argument(places))
                .arg("--within")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
        };
        let child = start().context("cannot start a process for cases")?;
        Ok(Self { child })
    }

    /// Waits for its end, which it is asked for by closing its standard input once `stop` is set.
    fn wait(mut self, stop: &AtomicBool) -> anyhow::Result<Ended> {
        let (out, told) = (self.child.stdout.take(), self.child.stderr.take());
        thread::scope(|scope| {
            let at = scope.spawn(|| out.and_then(last_place));
            let last = scope.spawn(|| told.map_or_else(VecDeque::new, pass_on));
            let status = loop {
                if stop.load(Ordering::Relaxed) {
                    drop(self.child.stdin.take());
                }
                match self.child.try_wait().context("cannot wait for a process")? {
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

/// The last place that a process has told.
fn last_place(out: impl Read) -> Option<usize> {
    let lines = BufReader::new(out).lines().map_while(Result::ok);
    lines.filter_map(|line| line.parse().ok()).last()
}

/// Passes a process's lines on to standard error, but for its last complaint, and gives the last of them.
fn pass_on(told: impl Read) -> VecDeque<String> {
    let mut last = VecDeque::new();
    for line in BufReader::new(told).lines().map_while(Result::ok) {
        if !line.starts_with(COMPLAINT) {
            note(&line);
        }
        last.push_back(line);
        if last.len() > LAST_LINES {
            last.pop_front();
        }
    }
    last
}
