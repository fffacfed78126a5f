//! What `--find-limit` asks for.

use crate::failure::Failure;
use crate::shared::Seeds;
use anyhow::anyhow;
use tailcut_report::{SEEDS_FOR_QUANTILES, SearchRange, Statistic};
use tailcut_scenario::{
    Kind, Outcome, Place, Raw, Scenario, ScenarioError, SearchedKey, Value, shortened,
};

/// The most seeds at a point, unless `--seeds` says how many.
const MOST_SEEDS: u64 = 24;
const FEWEST_SEEDS: u64 = SEEDS_FOR_QUANTILES as u64;

/// A limit to be found.
pub struct Limit {
    pub key: SearchedKey,
    pub statistic: Statistic,
    /// In microseconds.
    pub limit_us: f64,
    /// The most seeds at a point.
    pub most_seeds: u64,
}

impl Limit {
    /// Reads the flag's two values.
    ///
    /// # Errors
    /// What is not allowed in them, or too few seeds.
    pub fn read(scenario: &Scenario, flag: &[String], seeds: &Seeds) -> Result<Self, Failure> {
        let place = Place::flag("--find-limit");
        let [key, metric] = flag else {
            return Err(anyhow!("--find-limit takes KEY and METRIC=VALUE").into());
        };
        let key = scenario.searched(key, &place)?;
        let (statistic, limit_us) = read_metric(metric, &place)?;
        let most_seeds = seeds.seeds.unwrap_or(MOST_SEEDS);
        if most_seeds < FEWEST_SEEDS {
            let allowed = format!("at least {FEWEST_SEEDS} with --find-limit: the most at a point");
            let found = most_seeds.to_string();
            return Err(ScenarioError::new(&Place::flag("--seeds"), "", found, allowed).into());
        }
        Ok(Self {
            key,
            statistic,
            limit_us,
            most_seeds,
        })
    }

    /// Where to search.
    pub fn range(&self) -> SearchRange {
        let [low, high] = self.key.ends();
        SearchRange {
            low,
            high,
            is_whole: self.key.is_whole(),
        }
    }

    /// The seeds to run at a point at first.
    pub const fn first_seeds(&self) -> u64 {
        FEWEST_SEEDS
    }

    /// The seeds to run after so many; `None` where there are no more.
    pub fn more_seeds(&self, seeds: u64) -> Option<u64> {
        (seeds < self.most_seeds).then(|| (2 * seeds).min(self.most_seeds))
    }
}

/// `p99=2ms`: a figure, and the time that it is to pass in microseconds.
fn read_metric(text: &str, place: &Place) -> Outcome<(Statistic, f64)> {
    let error = |found: &str, allowed: String| {
        ScenarioError::new(place, "", format!("'{}'", shortened(found)), allowed)
    };
    let names: Vec<String> = Statistic::NAMED.iter().map(|one| one.name()).collect();
    let Some((name, value)) = text.split_once('=') else {
        let allowed = format!("METRIC=VALUE, such as p99=2ms, of {}", names.join(", "));
        return Err(error(text, allowed));
    };
    let named = |one: &&Statistic| one.name() == name.trim();
    let Some(&statistic) = Statistic::NAMED.iter().find(named) else {
        return Err(error(name, names.join(", ")));
    };
    let span = Kind::Duration { least: "1ns" };
    match span.read(&Raw::Argument(value.trim().to_owned())) {
        Some(Value::Duration(span)) => Ok((statistic, span.as_us_f64())),
        _ => Err(error(value, span.allowed())),
    }
}
