//! Published figures beside ours.

use crate::format::digits;
use crate::table::{Cell, Table};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tailcut_record::Error;

/// The file beside a study's manifest that keeps its comparisons.
const FILE: &str = "comparisons.json";

/// A figure or table of a paper, ours beside theirs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// What is reproduced, such as "RepNet, figure 9: testbed FCT of mice".
    pub name: String,
    /// The figures.
    pub rows: Vec<ComparisonRow>,
}

/// One reproduced figure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ComparisonRow {
    /// What is measured, with its unit.
    pub metric: String,
    /// Our figure; `None` where too few flows finished.
    pub ours: Option<f64>,
    /// Its 95 % confidence interval.
    pub ours_ci: Option<(f64, f64)>,
    /// How many seeds ours is the mean of.
    pub seeds: u64,
    /// The published figure; `None` where the paper gives only a direction.
    pub theirs: Option<f64>,
    /// The range that ours should stay in; `None` where nothing was published that it could be held to.
    pub band: Option<(f64, f64)>,
    /// Whether it does.
    pub verdict: Verdict,
    /// Why the two differ, in a sentence; may be empty.
    pub why: String,
}

/// Whether a figure is within its band.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Within the band.
    Within,
    /// Outside of it.
    Outside,
    /// There is no figure of ours.
    Unknown,
    /// Shown for comparison; held to nothing.
    Shown,
}

impl Verdict {
    /// The verdict on `ours`; both ends belong to the band.
    pub fn of(ours: Option<f64>, band: Option<(f64, f64)>) -> Self {
        match (ours, band) {
            (Some(ours), _) if ours.is_nan() => Self::Unknown,
            (None, _) => Self::Unknown,
            (Some(_), None) => Self::Shown,
            (Some(ours), Some((low, high))) if (low..=high).contains(&ours) => Self::Within,
            (Some(_), Some(_)) => Self::Outside,
        }
    }

    /// The word in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Outside => "OUTSIDE",
            Self::Unknown => "unknown",
            Self::Shown => "shown",
        }
    }
}

impl Comparison {
    /// The comparison as a table.
    pub fn table(&self) -> Table {
        let rows = self.rows.iter().map(|row| {
            let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), digits);
            let ours = match row.ours_ci {
                Some((low, high)) => {
                    format!("{} ({} to {})", number(row.ours), digits(low), digits(high))
                }
                None => number(row.ours),
            };
            let band = row
                .band
                .map(|(low, high)| format!("{} to {}", digits(low), digits(high)));
            vec![
                Cell::text(&row.metric),
                Cell::new(ours, (row.ours, row.ours_ci)),
                Cell::count(row.seeds),
                Cell::new(number(row.theirs), row.theirs),
                Cell::new(band.unwrap_or_else(|| "–".to_owned()), row.band),
                Cell::text(row.verdict.name()),
                Cell::text(&row.why),
            ]
        });
        let columns = [
            "metric",
            "ours (95 % CI)",
            "seeds",
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
    }
}

/// Keeps comparisons beside the study in `dir`, so that a later report shows them.
///
/// # Errors
/// [`Error::Io`] where the system refuses.
pub fn write_comparisons(dir: impl AsRef<Path>, comparisons: &[Comparison]) -> Result<(), Error> {
    let path = dir.as_ref().join(FILE);
    tailcut_record::write_json(&path, &comparisons)
}

/// The comparisons beside the study in `dir`; none where there is no such file.
pub(crate) fn read(dir: &Path) -> Result<Vec<Comparison>, Error> {
    let path = dir.join(FILE);
    match path.exists() {
        true => tailcut_record::read_json(&path),
        false => Ok(Vec::new()),
    }
}
