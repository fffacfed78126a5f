//! State of a study's runs while some of them are running.

use crate::forecast::{Forecast, UnderWay, rounded_time};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tailcut_scenario::record::{RunKey, RunSummary};

/// State of a study's runs while some of them are running. A progress bar or lines of text show it.
#[derive(Debug)]
pub struct StudyState {
    runs: usize,
    threads: usize,
    finished: usize,
    forecast: Forecast,
    /// Running runs, indexed by number: start time, and completed share from 0 to 1.
    under_way: BTreeMap<usize, (Instant, f64)>,
    told_at: Instant,
    wait: Duration,
}

impl StudyState {
    /// First interval between two lines of progress. Each interval is twice as long as the previous one.
    pub const FIRST_WAIT: Duration = Duration::from_secs(10);
    /// Longest interval between two lines of progress.
    const LONGEST_WAIT: Duration = Duration::from_secs(160);

    /// Creates the state of `runs` on `threads` threads. Runs in `done` already exist.
    /// `wait` is the interval between two updates.
    pub fn new(
        runs: &[RunKey],
        done: &[Option<RunSummary>],
        threads: usize,
        wait: Duration,
    ) -> Self {
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

    /// Records the start of a run.
    pub fn start(&mut self, run: usize, now: Instant) {
        self.forecast.started(run);
        self.under_way.insert(run, (now, 0.0));
    }

    /// Records the completed share of a run. The recorded share never decreases.
    pub fn advance(&mut self, run: usize, share: f64) {
        if let Some((_, over)) = self.under_way.get_mut(&run) {
            *over = over.max(share.min(1.0));
        }
    }

    /// Records the end of a run.
    pub fn finish(&mut self, run: usize, now: Instant) {
        self.finished += 1;
        self.told_at = now;
        if let Some((start, _)) = self.under_way.remove(&run) {
            self.forecast.ended(run, (now - start).as_secs_f64());
        }
    }

    /// Returns the number of finished runs, plus the completed shares of the running runs.
    pub fn over(&self) -> f64 {
        let shares = self.under_way.values().map(|(_, share)| share);
        self.finished as f64 + shares.sum::<f64>()
    }

    /// Returns the progress of the study, with the remaining time if it is known.
    pub fn message(&self, now: Instant) -> String {
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
        // Less than a second means that the running runs take longer than the similar runs before them.
        // With less than a second, the remaining time is unknown.
        let to_go = to_go.filter(|&seconds| seconds >= 1.0);
        let to_go = to_go.map_or_else(String::new, |time| {
            format!(", {} to go", rounded_time(time))
        });
        format!("{} of {} runs{to_go}", self.finished, self.runs)
    }

    /// Returns the line that is printed if there is no terminal. The line also describes the running runs.
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
    pub fn is_due(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.told_at) >= self.wait
    }

    /// Records the time of an update.
    pub fn told(&mut self, now: Instant) {
        self.told_at = now;
    }

    /// Returns the line that is due, and doubles the interval until the next one.
    pub fn next_line(&mut self, now: Instant) -> String {
        self.told(now);
        self.wait = (self.wait * 2).min(Self::LONGEST_WAIT);
        self.line(now)
    }

    /// Returns the number of finished runs, and of all runs.
    pub fn finished(&self) -> (usize, usize) {
        (self.finished, self.runs)
    }

    /// Records that a run was stopped or has failed.
    pub fn leave(&mut self, run: usize) {
        self.under_way.remove(&run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(seeds: u64) -> StudyState {
        let key = |seed| RunKey {
            design: "tcp".to_owned(),
            topology: String::new(),
            workload: String::new(),
            load: None,
            seed,
            ..RunKey::default()
        };
        let runs: Vec<RunKey> = (1..=seeds).map(key).collect();
        StudyState::new(&runs, &[], 1, StudyState::FIRST_WAIT)
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
        assert!(state.is_due(state.told_at + StudyState::FIRST_WAIT));
    }
}
