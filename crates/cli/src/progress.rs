//! How far a study has come, on standard error: a bar on a terminal, a line a run elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration as WallDuration;
use tailcut_sim::RunControl;
use tailcut_units::Duration;

/// A run's share of the bar.
const PER_RUN: u64 = 1_000;

/// The progress of a study's runs.
pub struct Progress {
    bar: Option<ProgressBar>,
    runs: usize,
    finished: AtomicU64,
}

impl Progress {
    /// Of so many runs, none of which has started. `json` keeps it to plain lines.
    pub fn new(runs: usize, json: bool) -> Self {
        let bar = (std::io::stderr().is_terminal() && !json).then(|| {
            let bar = ProgressBar::new(runs as u64 * PER_RUN);
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            let style = "{bar:32.cyan/blue} {percent:>3} %  {msg}  {elapsed} gone, {eta} to go";
            bar.set_style(
                ProgressStyle::with_template(style)
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar.set_message(format!("0 of {runs} runs"));
            bar.enable_steady_tick(WallDuration::from_millis(200));
            bar
        });
        Self {
            bar,
            runs,
            finished: AtomicU64::new(0),
        }
    }

    /// Follows one run, which stops when either flag turns true.
    pub fn follow<'a>(&'a self, stop: &'a AtomicBool, failed: &'a AtomicBool) -> Following<'a> {
        Following {
            progress: self,
            stop: [stop, failed],
            told: AtomicU64::new(0),
        }
    }

    /// Says that a run has finished, and in a line what it was.
    pub fn finished(&self, following: &Following<'_>, line: &str) {
        let finished = self.finished.fetch_add(1, Ordering::Relaxed) + 1;
        following.tell(PER_RUN);
        match &self.bar {
            Some(bar) => bar.set_message(format!("{finished} of {} runs", self.runs)),
            None => crate::output::note(&format!("[{finished}/{}] {line}", self.runs)),
        }
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// One run under way.
pub struct Following<'a> {
    progress: &'a Progress,
    stop: [&'a AtomicBool; 2],
    told: AtomicU64,
}

impl Following<'_> {
    /// Moves the run's share of the bar to `share`; never back.
    fn tell(&self, share: u64) {
        let before = self.told.fetch_max(share, Ordering::Relaxed);
        if let Some(bar) = &self.progress.bar {
            bar.inc(share.saturating_sub(before));
        }
    }
}

impl RunControl for Following<'_> {
    fn progress(&self, simulated: Duration, expected: Duration) {
        let share = simulated.as_secs_f64() / expected.as_secs_f64().max(f64::MIN_POSITIVE);
        self.tell((share.min(1.0) * PER_RUN as f64) as u64);
    }

    fn stop(&self) -> bool {
        self.stop.iter().any(|flag| flag.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_takes_longer_than_expected_never_overfills_its_share() {
        let progress = Progress::new(2, true);
        let stop = AtomicBool::new(false);
        let following = progress.follow(&stop, &stop);
        following.progress(Duration::from_ms(5), Duration::from_ms(10));
        following.progress(Duration::from_ms(2), Duration::from_ms(10));
        assert_eq!(following.told.load(Ordering::Relaxed), PER_RUN / 2);
        following.progress(Duration::from_ms(50), Duration::ZERO);
        assert_eq!(following.told.load(Ordering::Relaxed), PER_RUN);
    }
}
