//! How long a study still takes, from the runs of it that have ended.

use std::collections::HashMap;
use tailcut_record::RunKey;

/// A run under way.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
    /// Its place in the study.
    pub run: usize,
    /// Since it started, in seconds.
    pub elapsed: f64,
    /// The share of it that is over, 0 to 1.
    pub share: f64,
}

/// The least share of a run that says something about the rest of it.
const TELLING_SHARE: f64 = 0.1;

/// Runs of one kind: they differ by their seeds only.
#[derive(Clone, Copy, Default, Debug)]
struct Kind {
    ended: u32,
    seconds: f64,
    /// Those that have not started.
    waiting: u32,
}

impl Kind {
    fn mean(&self) -> Option<f64> {
        (self.ended > 0).then(|| self.seconds / f64::from(self.ended))
    }
}

/// What is known of the time that runs take.
#[derive(Debug)]
pub struct Forecast {
    kinds: Vec<Kind>,
    /// By run.
    kind_of: Vec<usize>,
}

impl Forecast {
    /// Of a study's runs, none of which has started.
    pub fn new<'a>(runs: impl IntoIterator<Item = &'a RunKey>) -> Self {
        let mut known = HashMap::new();
        let mut kinds: Vec<Kind> = Vec::new();
        let mut kind_of = Vec::new();
        for key in runs {
            let load = key.load.map(f64::to_bits);
            let parameters: Vec<String> = key.parameters.iter().map(|p| p.to_string()).collect();
            let alike = (&key.design, &key.topology, &key.workload, load, parameters);
            let kind = *known.entry(alike).or_insert(kinds.len());
            if kind == kinds.len() {
                kinds.push(Kind::default());
            }
            kinds[kind].waiting += 1;
            kind_of.push(kind);
        }
        Self { kinds, kind_of }
    }

    /// A run starts, or need not be run.
    pub fn started(&mut self, run: usize) {
        self.kinds[self.kind_of[run]].waiting -= 1;
    }

    /// A run took so many seconds, now or in an earlier study.
    pub fn ended(&mut self, run: usize, seconds: f64) {
        let kind = &mut self.kinds[self.kind_of[run]];
        kind.ended += 1;
        kind.seconds += seconds;
    }

    /// How many seconds the study still takes; `None` while there is a run to come of which nothing
    /// is known.
    pub fn seconds_to_go(&self, under_way: &[UnderWay], threads: usize) -> Option<f64> {
        let (mut work, mut longest) = (0.0, 0.0f64);
        for kind in self.kinds.iter().filter(|kind| kind.waiting > 0) {
            let mean = kind.mean()?;
            work += mean * f64::from(kind.waiting);
            longest = longest.max(mean);
        }
        for run in under_way {
            let rest = match self.kinds[self.kind_of[run.run]].mean() {
                Some(mean) => (mean - run.elapsed).max(0.0),
                None if run.share >= TELLING_SHARE => run.elapsed * (1.0 / run.share - 1.0),
                None => return None,
            };
            work += rest;
            longest = longest.max(rest);
        }
        Some(longest.max(work / threads as f64))
    }
}

/// A time that nobody knows better: `about 4 min`.
pub fn in_words(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds {
        0..90 => format!("about {seconds} s"),
        90..5_400 => format!("about {} min", (seconds + 30) / 60),
        _ => format!("about {} h", (seconds + 1_800) / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two designs, two seeds.
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
            "another scdp is to come"
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
            "one run is on one thread"
        );
        forecast.started(2);
        forecast.started(3);
        let both = [under_way(2, 5.0, 0.9), under_way(3, 20.0, 0.9)];
        assert_eq!(forecast.seconds_to_go(&both, 2), Some(40.0));
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
        let said = [0.2, 89.0, 90.0, 5_399.0, 5_400.0, 36_000.0].map(in_words);
        let words = ["1 s", "89 s", "2 min", "90 min", "2 h", "10 h"];
        assert_eq!(said, words.map(|time| format!("about {time}")));
    }
}
