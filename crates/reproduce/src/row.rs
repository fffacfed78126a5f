//! Rows of ours beside theirs.

use crate::band::Band;
use crate::ours::Ours;
use tailcut_report::{ComparisonRow, Verdict, seeds_that_would_do};

/// A row: ours beside theirs.
pub fn row(
    metric: impl Into<String>,
    ours: impl Into<Ours>,
    theirs: Option<f64>,
    band: impl Into<Option<Band>>,
    why: impl Into<String>,
) -> ComparisonRow {
    let (ours, band) = (ours.into(), band.into());
    let verdict = match ours.seeds_that_would_do {
        Some(_) => Verdict::TooFew,
        None => Verdict::of(ours.value, ours.interval, band),
    };
    let estimated = || {
        let (value, interval) = (ours.value?, ours.interval?);
        seeds_that_would_do(value, interval, band?, ours.seeds as u64)
    };
    let would_do = ours.seeds_that_would_do.map(|seeds| seeds as u64);
    ComparisonRow {
        metric: metric.into(),
        ours: ours.value,
        ours_ci: ours.interval,
        seeds: ours.seeds as u64,
        flows: ours.flows.map(|flows| flows as u64),
        theirs,
        band,
        verdict,
        seeds_that_would_do: match verdict {
            Verdict::TooFew => would_do.or_else(estimated),
            _ => None,
        },
        why: why.into(),
    }
}
