//! Progress of a study on standard error. A terminal shows a progress bar.
//! Without a terminal, one line is printed for each finished run, and from time to time during a run.

use crate::output::{is_quiet, note};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tailcut_scenario::record::{RunKey, RunSummary};
use tailcut_scenario::{Ended, Progress};
use tailcut_study::StudyState;

/// Length of the progress bar's part for each run.
const PER_RUN: f64 = 1_000.0;

/// Interval between two updates of the progress bar.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Progress of a study's runs.
pub struct StudyProgress<'a> {
    bar: Option<ProgressBar>,
    state: Mutex<StudyState>,
    stop: &'a AtomicBool,
}

impl<'a> StudyProgress<'a> {
    /// Creates the progress of `runs` on `threads` threads. The runs in `done` already have results.
    /// `plain` disables the progress bar. The runs stop when `stop` becomes true.
    pub fn new(
        runs: &[RunKey],
        done: &[Option<RunSummary>],
        threads: usize,
        plain: bool,
        stop: &'a AtomicBool,
    ) -> Self {
        let bar = (std::io::stderr().is_terminal() && !plain && !is_quiet()).then(|| {
            let bar = ProgressBar::new((runs.len() as f64 * PER_RUN) as u64);
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            let style = "{bar:32.cyan/blue} {percent:>3} %  {msg}  {elapsed} elapsed";
            bar.set_style(
                ProgressStyle::with_template(style)
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let wait = match bar {
            Some(_) => LOOK_EVERY,
            None => StudyState::FIRST_WAIT,
        };
        let progress = Self {
            bar,
            state: Mutex::new(StudyState::new(runs, done, threads, wait)),
            stop,
        };
        progress.draw(&progress.state());
        progress
    }

    /// Removes the progress bar from the terminal.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, StudyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self, state: &StudyState) {
        if let Some(bar) = &self.bar {
            bar.set_position((state.over() * PER_RUN) as u64);
            bar.set_message(state.message(Instant::now()));
        }
    }
}

impl Progress for StudyProgress<'_> {
    fn started(&self, run: usize) {
        self.state().start(run, Instant::now());
    }

    fn advanced(&self, run: usize, share: f64) {
        let mut state = self.state();
        state.advance(run, share);
        let now = Instant::now();
        if !state.is_due(now) {
            return;
        }
        match self.bar.is_some() {
            true => {
                state.told(now);
                self.draw(&state);
            }
            false => note(&state.next_line(now)),
        }
    }

    fn ended(&self, run: usize, ended: &Ended<'_>) {
        let mut state = self.state();
        state.finish(run, Instant::now());
        match &self.bar {
            Some(_) => self.draw(&state),
            None => {
                let (finished, runs) = state.finished();
                note(&format!("[{finished}/{runs}] {}", in_a_line(ended)));
            }
        }
    }

    fn left(&self, run: usize) {
        self.state().leave(run);
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Returns the line for a finished run.
fn in_a_line(ended: &Ended<'_>) -> String {
    format!(
        "{}: {}, {:.1} s",
        ended.config.key().label(),
        match (ended.flows, ended.requests) {
            (flows, 0) => format!("{flows} flows"),
            (0, requests) => format!("{requests} requests"),
            (flows, requests) => format!("{flows} flows, {requests} requests"),
        },
        ended.wall_seconds.unwrap_or_default()
    )
}
