//! Forecast of the remaining time of a study, from its finished runs.

use std::collections::HashMap;
use tailcut_record::RunKey;

/// Run in progress.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
    /// Index of the run in the study.
    pub run: usize,
    /// Time since its start, in seconds.
    pub elapsed: f64,
    /// Finished share of the run, 0 to 1.
    pub share: f64,
}

/// Smallest finished share of a run from which its remaining time can be estimated.
const LEAST_SHARE_TO_EXTRAPOLATE: f64 = 0.1;

/// Measured and expected time of some runs, in seconds.
#[derive(Clone, Copy, Default, Debug)]
struct TimeTotals {
    took: f64,
    expected: f64,
}

impl TimeTotals {
    fn add(&mut self, took: f64, expected: f64) {
        self.took += took;
        self.expected += expected;
    }

    /// Returns the measured time divided by the expected time.
    fn ratio(&self) -> Option<f64> {
        (self.expected > 0.0).then(|| self.took / self.expected)
    }
}

/// Totals of the runs of one kind. Runs of one kind differ only in their seeds.
#[derive(Clone, Copy, Default, Debug)]
struct Kind {
    ended: u32,
    seconds: f64,
    totals: TimeTotals,
    /// Index of the design of the runs.
    design: usize,
}

impl Kind {
    fn mean(&self) -> Option<f64> {
        (self.ended > 0).then(|| self.seconds / f64::from(self.ended))
    }
}

/// Data from which the time of a run is forecast.
#[derive(Clone, Copy, Debug)]
struct RunForecast {
    kind: usize,
    /// Time in seconds that was expected before the first run finished.
    expected: Option<f64>,
    /// Whether the run has not started.
    is_waiting: bool,
}

/// Forecast of the time that runs take.
///
/// - For a run without an expected time, the forecast is the mean time of the finished runs of its kind.
/// - For a run with an expected time, the forecast is this time, multiplied by the ratio of measured to expected time.
///   The ratio comes from the finished runs of the same kind.
///   If this kind has no finished run, the ratio comes from the same design, or else from the whole study.
#[derive(Debug)]
pub struct Forecast {
    runs: Vec<RunForecast>,
    kinds: Vec<Kind>,
    designs: Vec<TimeTotals>,
    all: TimeTotals,
}

impl Forecast {
    /// Creates the forecast of a study's runs, none of which has started.
    pub fn new<'a>(runs: impl IntoIterator<Item = &'a RunKey>) -> Self {
        Self::expecting(runs.into_iter().map(|key| (key, None)))
    }

    /// Creates the forecast of a study's runs, none of which has started, each with its expected seconds.
    pub fn expecting<'a>(runs: impl IntoIterator<Item = (&'a RunKey, Option<f64>)>) -> Self {
        let (mut known, mut of_design) = (HashMap::new(), HashMap::new());
        let mut forecast = Self {
            runs: Vec::new(),
            kinds: Vec::new(),
            designs: Vec::new(),
            all: TimeTotals::default(),
        };
        for (key, expected) in runs {
            let load = key.load.map(f64::to_bits);
            let parameters: Vec<String> = key.parameters.iter().map(|p| p.to_string()).collect();
            let alike = (&key.design, &key.topology, &key.workload, load, parameters);
            let kind = *known.entry(alike).or_insert(forecast.kinds.len());
            if kind == forecast.kinds.len() {
                let designs = &mut forecast.designs;
                let design = *of_design.entry(&key.design).or_insert(designs.len());
                if design == designs.len() {
                    designs.push(TimeTotals::default());
                }
                forecast.kinds.push(Kind {
                    design,
                    ..Kind::default()
                });
            }
            forecast.runs.push(RunForecast {
                kind,
                expected,
                is_waiting: true,
            });
        }
        forecast
    }

    /// Records that a run starts, or that the run is not necessary.
    pub fn started(&mut self, run: usize) {
        self.runs[run].is_waiting = false;
    }

    /// Records that a run took `seconds`, in this study or in an earlier study.
    pub fn ended(&mut self, run: usize, seconds: f64) {
        let run = self.runs[run];
        let kind = &mut self.kinds[run.kind];
        kind.ended += 1;
        kind.seconds += seconds;
        if let Some(expected) = run.expected {
            kind.totals.add(seconds, expected);
            self.designs[kind.design].add(seconds, expected);
            self.all.add(seconds, expected);
        }
    }

    /// Returns the seconds that a run takes, or `None` if they are unknown.
    fn seconds_of(&self, run: &RunForecast) -> Option<f64> {
        let kind = &self.kinds[run.kind];
        let Some(expected) = run.expected else {
            return kind.mean();
        };
        let of_kind = kind.totals.ratio();
        let of_design = || self.designs[kind.design].ratio();
        let ratio = of_kind.or_else(of_design).or_else(|| self.all.ratio());
        Some(expected * ratio.unwrap_or(1.0))
    }

    /// Returns the seconds that a run of the study takes, or `None` if they are unknown.
    pub fn seconds_of_run(&self, run: usize) -> Option<f64> {
        self.seconds_of(self.runs.get(run)?)
    }

    /// Returns the remaining seconds of the study. `None` if the time of a remaining run is unknown.
    pub fn seconds_to_go(&self, under_way: &[UnderWay], threads: usize) -> Option<f64> {
        let (work, longest) = self.to_go(under_way)?;
        Some(longest.max(work / threads as f64))
    }

    /// Returns the remaining seconds of the study on one thread. `None` if the time of a remaining run is unknown.
    pub fn work_to_go(&self, under_way: &[UnderWay]) -> Option<f64> {
        self.to_go(under_way).map(|(work, _)| work)
    }

    /// Returns the total seconds of all remaining runs, and the seconds of the longest one.
    fn to_go(&self, under_way: &[UnderWay]) -> Option<(f64, f64)> {
        let (mut work, mut longest) = (0.0, 0.0f64);
        for run in self.runs.iter().filter(|run| run.is_waiting) {
            let seconds = self.seconds_of(run)?;
            work += seconds;
            longest = longest.max(seconds);
        }
        for run in under_way {
            let rest = match self.seconds_of(&self.runs[run.run]) {
                Some(seconds) => (seconds - run.elapsed).max(0.0),
                None if run.share >= LEAST_SHARE_TO_EXTRAPOLATE => {
                    run.elapsed * (1.0 / run.share - 1.0)
                }
                None => return None,
            };
            work += rest;
            longest = longest.max(rest);
        }
        Some((work, longest))
    }
}

/// Returns an estimated time in text, rounded to its largest unit: `about 4 min`.
pub fn rounded_time(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds {
        0..90 => format!("about {seconds} s"),
        90..5_400 => format!("about {} min", (seconds + 30) / 60),
        5_400..172_800 => format!("about {} h", (seconds + 1_800) / 3_600),
        _ => format!("about {} days", (seconds + 43_200) / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a forecast for two designs with two seeds.
    fn forecast() -> Forecast {
        let key = |design: &str, seed| RunKey {
            design: design.to_owned(),
            topology: String::new(),
            workload: String::new(),
            load: Some(0.5),
            seed,
            ..RunKey::default()
        };
        let keys = [key("tcp", 1), key("scdp", 1), key("tcp", 2), key("scdp", 2)];
        Forecast::new(&keys)
    }

    fn under_way(run: usize, elapsed: f64, share: f64) -> UnderWay {
        UnderWay {
            run,
            elapsed,
            share,
        }
    }

    #[test]
    fn nothing_is_said_while_a_kind_of_run_is_unknown() {
        let mut forecast = forecast();
        assert_eq!(forecast.seconds_to_go(&[], 2), None);
        forecast.started(0);
        forecast.started(1);
        forecast.ended(0, 3.0);
        let scdp = under_way(1, 3.0, 0.5);
        assert_eq!(
            forecast.seconds_to_go(&[scdp], 2),
            None,
            "a second run of scdp remains"
        );
    }

    #[test]
    fn each_kind_takes_what_its_own_runs_took() {
        let mut forecast = forecast();
        for (run, seconds) in [(0, 3.0), (1, 60.0)] {
            forecast.started(run);
            forecast.ended(run, seconds);
        }
        assert_eq!(forecast.seconds_to_go(&[], 1), Some(63.0));
        assert_eq!(
            forecast.seconds_to_go(&[], 2),
            Some(60.0),
            "one run uses one thread"
        );
        forecast.started(2);
        forecast.started(3);
        let both = [under_way(2, 5.0, 0.9), under_way(3, 20.0, 0.9)];
        assert_eq!(forecast.seconds_to_go(&both, 2), Some(40.0));
    }

    #[test]
    fn what_was_expected_is_corrected_by_what_runs_took() {
        let key = |design: &str, load, seed| RunKey {
            design: design.to_owned(),
            load: Some(load),
            seed,
            ..RunKey::default()
        };
        let keys = [
            key("tcp", 0.3, 1),
            key("tcp", 0.3, 2),
            key("tcp", 0.5, 1),
            key("scdp", 0.3, 1),
        ];
        let expected = [10.0, 12.0, 20.0, 30.0].map(Some);
        let mut forecast = Forecast::expecting(keys.iter().zip(expected));
        assert_eq!(forecast.work_to_go(&[]), Some(72.0));
        forecast.started(0);
        // The run took twice as long as expected. The forecast applies the factor 2 to all other runs.
        forecast.ended(0, 20.0);
        assert_eq!(forecast.work_to_go(&[]), Some(124.0));
        forecast.started(3);
        forecast.ended(3, 30.0);
        // The design now has its own finished run. The runs of all other designs keep their forecast.
        assert_eq!(forecast.work_to_go(&[]), Some(64.0));
        forecast.started(1);
        assert_eq!(forecast.work_to_go(&[under_way(1, 4.0, 0.0)]), Some(60.0));
        assert_eq!(
            forecast.seconds_to_go(&[under_way(1, 4.0, 0.0)], 2),
            Some(40.0)
        );
    }

    #[test]
    fn the_last_runs_tell_by_how_far_they_are() {
        let mut forecast = forecast();
        (0..4).for_each(|run| forecast.started(run));
        let early = under_way(3, 10.0, 0.05);
        assert_eq!(forecast.seconds_to_go(&[early], 2), None);
        let later = under_way(3, 30.0, 0.25);
        assert_eq!(forecast.seconds_to_go(&[later], 2), Some(90.0));
        assert_eq!(forecast.seconds_to_go(&[], 2), Some(0.0));
    }

    #[test]
    fn times_are_said_in_few_digits() {
        let said = [0.2, 89.0, 90.0, 5_399.0, 5_400.0, 36_000.0, 300_000.0].map(rounded_time);
        let words = ["1 s", "89 s", "2 min", "90 min", "2 h", "10 h", "3 days"];
        assert_eq!(said, words.map(|time| format!("about {time}")));
    }
}
