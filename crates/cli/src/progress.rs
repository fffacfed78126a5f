//! Progress of a study on standard error. A terminal shows a progress bar. Otherwise a line is printed for each
//! finished run, and occasionally during a run.

use crate::output::{is_quiet, note};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tailcut_scenario::record::{RunKey, RunSummary};
use tailcut_scenario::{Ended, Progress};
use tailcut_study::{Forecast, UnderWay, rounded_time};

/// Length of the progress bar for each run.
const PER_RUN: f64 = 1_000.0;

/// First and longest interval between two lines without a terminal. Each interval is twice as long as the previous one.
const FIRST_WAIT: Duration = Duration::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(160);

/// Interval between two updates of the progress bar.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Progress of a study's runs.
pub struct StudyProgress<'a> {
    bar: Option<ProgressBar>,
    state: Mutex<State>,
    stop: &'a AtomicBool,
}

struct State {
    runs: usize,
    threads: usize,
    finished: usize,
    forecast: Forecast,
    /// Running runs, indexed by number: start time, and completed share from 0 to 1.
    under_way: BTreeMap<usize, (Instant, f64)>,
    told_at: Instant,
    wait: Duration,
}

impl<'a> StudyProgress<'a> {
    /// Creates the progress of `runs` on `threads` threads. Runs in `done` already exist. `plain` disables the progress
    /// bar. The runs stop when `stop` becomes true.
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
            None => FIRST_WAIT,
        };
        let progress = Self {
            bar,
            state: Mutex::new(State::new(runs, done, threads, wait)),
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self, state: &State) {
        if let Some(bar) = &self.bar {
            bar.set_position((state.over() * PER_RUN) as u64);
            bar.set_message(state.message(Instant::now()));
        }
    }
}

impl State {
    fn new(runs: &[RunKey], done: &[Option<RunSummary>], threads: usize, wait: Duration) -> Self {
        let mut forecast = Forecast::new(runs);
        for (run, summary) in done.iter().enumerate() {
            if let Some(summary) = summary {
                forecast.started(run);
                if let Some(seconds) = summary.wall_seconds {
                    forecast.ended(run, seconds);
                }
            }
        }
        Self {
            runs: runs.len(),
            threads,
            finished: done.iter().flatten().count(),
            forecast,
            under_way: BTreeMap::new(),
            told_at: Instant::now(),
            wait,
        }
    }

    fn start(&mut self, run: usize, now: Instant) {
        self.forecast.started(run);
        self.under_way.insert(run, (now, 0.0));
    }

    /// Records the completed share of a run. The recorded share never decreases.
    fn advance(&mut self, run: usize, share: f64) {
        if let Some((_, over)) = self.under_way.get_mut(&run) {
            *over = over.max(share.min(1.0));
        }
    }

    fn finish(&mut self, run: usize, now: Instant) {
        self.finished += 1;
        self.told_at = now;
        if let Some((start, _)) = self.under_way.remove(&run) {
            self.forecast.ended(run, (now - start).as_secs_f64());
        }
    }

    /// Returns the number of finished runs plus the completed shares of the running ones.
    fn over(&self) -> f64 {
        let shares = self.under_way.values().map(|(_, share)| share);
        self.finished as f64 + shares.sum::<f64>()
    }

    /// Returns the progress of the study, with the remaining time if it is known.
    fn message(&self, now: Instant) -> String {
        let under_way = self
            .under_way
            .iter()
            .map(|(&run, &(start, share))| UnderWay {
                run,
                elapsed: now.saturating_duration_since(start).as_secs_f64(),
                share,
            });
        let under_way: Vec<UnderWay> = under_way.collect();
        let to_go = self.forecast.seconds_to_go(&under_way, self.threads);
        // Less than a second means that the running runs take longer than the similar runs before them. The remaining
        // time is then unknown.
        let to_go = to_go.filter(|&seconds| seconds >= 1.0);
        let to_go = to_go.map_or_else(String::new, |time| {
            format!(", {} to go", rounded_time(time))
        });
        format!("{} of {} runs{to_go}", self.finished, self.runs)
    }

    /// Returns the line that is printed without a terminal. It also describes the running runs.
    fn line(&self, now: Instant) -> String {
        let furthest = self.under_way.values().map(|(_, share)| *share);
        let per_cent = furthest.fold(0.0, f64::max) * 100.0;
        let going = match self.under_way.len() {
            1 => format!("1 is running, at {per_cent:.0} %"),
            several => format!("{several} are running, the furthest at {per_cent:.0} %"),
        };
        format!("{}; {going}", self.message(now))
    }

    /// Whether the next update is due.
    fn is_due(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.told_at) >= self.wait
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
        state.told_at = now;
        if self.bar.is_some() {
            self.draw(&state);
        } else {
            state.wait = (state.wait * 2).min(LONGEST_WAIT);
            note(&state.line(now));
        }
    }

    fn ended(&self, run: usize, ended: &Ended<'_>) {
        let mut state = self.state();
        state.finish(run, Instant::now());
        match &self.bar {
            Some(_) => self.draw(&state),
            None => {
                let (finished, runs) = (state.finished, state.runs);
                note(&format!("[{finished}/{runs}] {}", in_a_line(ended)));
            }
        }
    }

    fn left(&self, run: usize) {
        self.state().under_way.remove(&run);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn state(seeds: u64) -> State {
        let key = |seed| RunKey {
            design: "tcp".to_owned(),
            topology: String::new(),
            workload: String::new(),
            load: None,
            seed,
            ..RunKey::default()
        };
        let runs: Vec<RunKey> = (1..=seeds).map(key).collect();
        State::new(&runs, &[], 1, FIRST_WAIT)
    }

    #[test]
    fn a_run_that_takes_longer_than_expected_never_overfills_its_share() {
        let mut state = state(2);
        state.start(0, Instant::now());
        for (share, over) in [(0.5, 0.5), (0.2, 0.5), (5.0, 1.0)] {
            state.advance(0, share);
            assert_eq!(state.over(), over);
        }
    }

    #[test]
    fn a_time_to_go_is_told_once_a_run_has_ended() {
        let mut state = state(4);
        let start = Instant::now();
        state.start(0, start);
        state.advance(0, 0.4);
        let later = start + Duration::from_secs(40);
        let first = "0 of 4 runs; 1 is running, at 40 %";
        assert_eq!(state.line(later), first);
        state.finish(0, start + Duration::from_secs(100));
        assert_eq!(state.message(later), "1 of 4 runs, about 5 min to go");
    }

    #[test]
    fn silence_is_broken_after_a_while() {
        let state = state(1);
        assert!(!state.is_due(state.told_at));
        assert!(state.is_due(state.told_at + FIRST_WAIT));
    }
}
