//! Comparison of published figures with our figures.

use crate::format::{count, digits};
use crate::table::{Cell, Table};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tailcut_record::Error;

/// Name of the file that contains the comparisons of a study. The file is next to the study's manifest.
const FILE: &str = "comparisons.json";

/// Comparison of a paper's figure or table with our results.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// Reproduced figure or table, such as "RepNet, figure 9: testbed FCT of mice".
    pub name: String,
    /// Rows, one for each reproduced figure.
    pub rows: Vec<ComparisonRow>,
}

/// Row of a comparison: one published figure and our figure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ComparisonRow {
    /// Measured quantity, with its unit.
    pub metric: String,
    /// Our figure; `None` without a figure, or with too few flows or seeds.
    pub ours: Option<f64>,
    /// 95 % confidence interval of our figure.
    #[serde(with = "ends")]
    pub ours_ci: Option<(f64, f64)>,
    /// Number of seeds for which runs exist.
    pub seeds: u64,
    /// Number of flows, requests or sessions over all seeds in our quantile or mean. `None`: one figure per run.
    #[serde(default)]
    pub flows: Option<u64>,
    /// Published figure; `None` if the paper gives only a direction.
    pub theirs: Option<f64>,
    /// Range in which our figure should be. An open end is infinite. `None` if no published figure is comparable.
    #[serde(with = "ends")]
    pub band: Option<(f64, f64)>,
    /// Result of the check whether our figure is within its band.
    pub verdict: Verdict,
    /// Number of seeds that would be sufficient; `None` if the verdict is not "too few" or the number is unknown.
    #[serde(default)]
    pub seeds_that_would_do: Option<u64>,
    /// Reason for the difference, in one sentence; empty if no reason is given.
    pub why: String,
}

/// Encoding of a pair of numbers in JSON. JSON has no infinite numbers, so an open end is `null`.
mod ends {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Ends = Option<(f64, f64)>;

    pub fn serialize<S: Serializer>(ends: &Ends, serializer: S) -> Result<S::Ok, S::Error> {
        ends.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ends, D::Error> {
        let ends = Option::<(Option<f64>, Option<f64>)>::deserialize(deserializer)?;
        Ok(ends.map(|(low, high)| {
            (
                low.unwrap_or(f64::NEG_INFINITY),
                high.unwrap_or(f64::INFINITY),
            )
        }))
    }
}

/// Verdict on a row: whether our figure is within its band.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Our figure is within its band.
    Within,
    /// Our figure is outside its band.
    Outside,
    /// There are too few flows or seeds for a figure, or its interval is too wide for a decision.
    #[serde(rename = "too few")]
    TooFew,
    /// We have no figure for the row.
    Unknown,
    /// The row has no band, so our figure is only shown.
    Shown,
}

impl Verdict {
    /// Returns the verdict on the figure `ours` with its interval. Both ends belong to the band.
    ///
    /// A decision needs a narrow interval.
    /// For a band with two finite ends, the interval must not be wider than the band.
    /// A band with an open end has infinite width, so any interval would fit.
    /// For a band with an open end, the whole interval must be on one side of the finite end.
    /// In all other cases, the verdict is "too few".
    /// A figure that is infinite because a flow never finishes has no interval.
    /// An infinite figure is outside every band with a finite upper end.
    pub fn of(ours: Option<f64>, interval: Option<(f64, f64)>, band: Option<(f64, f64)>) -> Self {
        let Some(ours) = ours.filter(|ours| !ours.is_nan()) else {
            return Self::Unknown;
        };
        let Some(band) = band else {
            return Self::Shown;
        };
        let within = |value| (band.0..=band.1).contains(&value);
        let interval = interval.or(ours.is_infinite().then_some((ours, ours)));
        match interval {
            Some(interval) if !decides(interval, band) => Self::TooFew,
            None => Self::TooFew,
            Some(_) if within(ours) => Self::Within,
            Some(_) => Self::Outside,
        }
    }

    /// Returns the name of the verdict in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Outside => "OUTSIDE",
            Self::TooFew => "too few",
            Self::Unknown => "unknown",
            Self::Shown => "shown",
        }
    }
}

/// Returns whether an interval is narrow enough for a decision about its band.
fn decides((low, high): (f64, f64), (from, to): (f64, f64)) -> bool {
    if low == high {
        true
    } else if from.is_finite() && to.is_finite() {
        high - low <= to - from
    } else {
        let within = |value| (from..=to).contains(&value);
        within(low) == within(high)
    }
}

/// Returns the approximate number of seeds for which the interval of `ours` would be narrow enough for its band.
/// `ours` has `seeds` seeds, and the width of an interval falls with the square root of the number of seeds.
/// Returns `None` if the number is above 10,000.
pub fn seeds_needed(
    ours: f64,
    (low, high): (f64, f64),
    (from, to): (f64, f64),
    seeds: u64,
) -> Option<u64> {
    /// Maximum number of seeds that the report proposes. A larger number is not practical.
    const MOST: f64 = 10_000.0;
    let factor = match (from.is_finite(), to.is_finite()) {
        (true, true) => (high - low) / (to - from),
        (true, false) if ours < from => (high - ours) / (from - ours),
        (true, false) => (ours - low) / (ours - from),
        (false, _) if ours > to => (ours - low) / (ours - to),
        (false, _) => (high - ours) / (to - ours),
    };
    let would_do = (seeds as f64 * factor * factor).ceil();
    (would_do <= MOST).then_some(would_do as u64)
}

impl Comparison {
    /// Returns the comparison as a table.
    pub fn table(&self) -> Table {
        let rows = self.rows.iter().map(|row| {
            let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), digits);
            let ours = match row.ours_ci {
                Some((low, high)) => {
                    format!("{} ({} to {})", number(row.ours), end(low), end(high))
                }
                None => number(row.ours),
            };
            vec![
                Cell::text(&row.metric),
                Cell::new(ours, (row.ours, row.ours_ci)),
                Cell::count(row.seeds),
                Cell::new(row.flows.map_or_else(String::new, count), row.flows),
                Cell::new(number(row.theirs), row.theirs),
                Cell::new(row.band.map_or_else(|| "–".to_owned(), range), row.band),
                Cell::text(row.verdict_text()),
                Cell::text(&row.why),
            ]
        });
        let columns = [
            "metric",
            "ours (95 % CI)",
            "seeds",
            "flows",
            "theirs",
            "band",
            "verdict",
            "why they differ",
        ];
        Table {
            id: "comparison".to_owned(),
            title: self.name.clone(),
            caption: String::new(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        }
        .without_empty_columns()
    }
}

impl ComparisonRow {
    /// Returns the verdict as text. The verdict "too few" contains the number of seeds that are needed.
    fn verdict_text(&self) -> String {
        let verdict = self.verdict.name();
        match self.seeds_that_would_do {
            Some(seeds) => format!("{verdict}: {} seeds", count(seeds)),
            None => verdict.to_owned(),
        }
    }
}

/// Returns a band as text: `-45.0 to -5.00`, `up to 5.00`, `from -5.00`.
fn range((low, high): (f64, f64)) -> String {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("{} to {}", digits(low), digits(high)),
        (false, _) => format!("up to {}", digits(high)),
        (true, false) => format!("from {}", digits(low)),
    }
}

/// Returns the end of an interval as text.
fn end(value: f64) -> String {
    let sign = if value == f64::NEG_INFINITY { "-" } else { "" };
    format!("{sign}{}", digits(value))
}

/// Writes comparisons next to the study in `dir`, so that later reports show them.
///
/// # Errors
/// [`Error::Io`] if the file cannot be written.
pub fn write_comparisons(dir: impl AsRef<Path>, comparisons: &[Comparison]) -> Result<(), Error> {
    let path = dir.as_ref().join(FILE);
    tailcut_record::write_json(&path, &comparisons)
}

/// Returns the comparisons next to the study in `dir`. The list is empty without a file of comparisons.
pub(crate) fn read(dir: &Path) -> Result<Vec<Comparison>, Error> {
    let path = dir.join(FILE);
    match path.exists() {
        true => tailcut_record::read_json(&path),
        false => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(ours: f64, interval: (f64, f64), band: (f64, f64)) -> Verdict {
        Verdict::of(Some(ours), Some(interval), Some(band))
    }

    #[test]
    fn an_interval_no_wider_than_the_band_lets_the_figure_decide() {
        let band = (-40.0, -10.0);
        assert_eq!(verdict(-20.0, (-30.0, -5.0), band), Verdict::Within);
        assert_eq!(verdict(-5.0, (-12.0, 2.0), band), Verdict::Outside);
        assert_eq!(verdict(-40.0, (-55.0, -25.0), band), Verdict::Within);
    }

    #[test]
    fn an_interval_wider_than_the_band_decides_nothing() {
        let band = (0.0, 2.4);
        assert_eq!(verdict(0.7, (-3.8, 5.1), band), Verdict::TooFew);
        assert_eq!(verdict(9.0, (6.0, 12.0), band), Verdict::TooFew);
        let without = Verdict::of(Some(0.7), None, Some(band));
        assert_eq!(without, Verdict::TooFew);
    }

    #[test]
    fn a_band_open_to_one_side_asks_for_all_of_the_interval_on_one_side_of_its_end() {
        let no_harm = (f64::NEG_INFINITY, 10.0);
        assert_eq!(verdict(-30.0, (-60.0, 9.0), no_harm), Verdict::Within);
        assert_eq!(verdict(-30.0, (-75.0, 15.0), no_harm), Verdict::TooFew);
        assert_eq!(verdict(15.0, (11.0, 19.0), no_harm), Verdict::Outside);
        let not_less = (-5.0, f64::INFINITY);
        assert_eq!(verdict(20.0, (1.0, 39.0), not_less), Verdict::Within);
        assert_eq!(verdict(20.0, (-9.0, 49.0), not_less), Verdict::TooFew);
    }

    #[test]
    fn what_does_not_vary_is_decided_even_by_a_band_without_width() {
        assert_eq!(verdict(6.0, (6.0, 6.0), (6.0, 6.0)), Verdict::Within);
        assert_eq!(verdict(6.0, (5.0, 6.0), (6.0, 6.0)), Verdict::TooFew);
    }

    #[test]
    fn what_never_ends_is_outside_and_nothing_is_unknown() {
        let band = Some((0.0, 10.0));
        assert_eq!(
            Verdict::of(Some(f64::INFINITY), None, band),
            Verdict::Outside
        );
        assert_eq!(Verdict::of(Some(f64::NAN), None, band), Verdict::Unknown);
        assert_eq!(Verdict::of(None, None, band), Verdict::Unknown);
        assert_eq!(Verdict::of(Some(1.0), None, None), Verdict::Shown);
    }

    #[test]
    fn an_interval_twice_as_wide_as_it_may_be_takes_four_times_the_seeds() {
        let two_sided = seeds_needed(5.0, (-5.0, 15.0), (0.0, 10.0), 6);
        assert_eq!(two_sided, Some(24));
        let open = seeds_needed(0.0, (-20.0, 20.0), (f64::NEG_INFINITY, 10.0), 6);
        assert_eq!(open, Some(24));
        let on_the_end = seeds_needed(10.0, (0.0, 20.0), (f64::NEG_INFINITY, 10.0), 6);
        assert_eq!(on_the_end, None);
        let endless = seeds_needed(5.0, (1.0, f64::INFINITY), (0.0, 10.0), 6);
        assert_eq!(endless, None);
    }
}
