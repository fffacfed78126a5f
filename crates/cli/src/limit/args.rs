//! Arguments of `--find-limit`.

use crate::failure::Failure;
use crate::shared::Seeds;
use anyhow::anyhow;
use tailcut_report::{SEEDS_FOR_QUANTILES, SearchRange, Statistic};
use tailcut_scenario::{
    Kind, Location, Outcome, Raw, Scenario, ScenarioError, SearchedKey, Value, shortened,
};

/// Default maximum number of seeds for each point; `--seeds` overrides it.
const MOST_SEEDS: u64 = 24;
const FEWEST_SEEDS: u64 = SEEDS_FOR_QUANTILES as u64;

/// Limit that `--find-limit` searches for.
pub struct Limit {
    pub key: SearchedKey,
    pub statistic: Statistic,
    /// Time that the metric must pass, in microseconds.
    pub limit_us: f64,
    /// Maximum number of seeds for each point.
    pub most_seeds: u64,
}

impl Limit {
    /// Parses the two values of the flag.
    ///
    /// # Errors
    /// A value is not allowed, or there are too few seeds.
    pub fn read(scenario: &Scenario, flag: &[String], seeds: &Seeds) -> Result<Self, Failure> {
        let location = Location::flag("--find-limit");
        let [key, metric] = flag else {
            return Err(anyhow!("--find-limit needs KEY and METRIC=VALUE").into());
        };
        let key = scenario.searched(key, &location)?;
        let (statistic, limit_us) = read_metric(metric, &location)?;
        let most_seeds = seeds.seeds.unwrap_or(MOST_SEEDS);
        if most_seeds < FEWEST_SEEDS {
            let allowed =
                format!("at least {FEWEST_SEEDS} with --find-limit (the maximum for each point)");
            let found = most_seeds.to_string();
            return Err(ScenarioError::new(&Location::flag("--seeds"), "", found, allowed).into());
        }
        Ok(Self {
            key,
            statistic,
            limit_us,
            most_seeds,
        })
    }

    /// Returns the range of the search.
    pub fn range(&self) -> SearchRange {
        let [low, high] = self.key.ends();
        SearchRange {
            low,
            high,
            is_whole: self.key.is_whole(),
        }
    }

    /// Returns the initial number of seeds for a point.
    pub const fn first_seeds(&self) -> u64 {
        FEWEST_SEEDS
    }

    /// Returns the number of seeds for the next attempt after `seeds` seeds, or `None` if `seeds` is the maximum.
    pub fn more_seeds(&self, seeds: u64) -> Option<u64> {
        (seeds < self.most_seeds).then(|| (2 * seeds).min(self.most_seeds))
    }
}

/// Parses a metric and its limit, such as `p99=2ms`. Returns the limit in microseconds.
fn read_metric(text: &str, location: &Location) -> Outcome<(Statistic, f64)> {
    let error = |found: &str, allowed: String| {
        ScenarioError::new(location, "", format!("'{}'", shortened(found)), allowed)
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
