//! Rows that compare our values with published values.

use crate::band::Band;
use crate::measured_value::MeasuredValue;
use tailcut_report::{ComparisonRow, Verdict, seeds_needed};

/// Creates a row with our value and the published value.
pub fn row(
    metric: impl Into<String>,
    ours: impl Into<MeasuredValue>,
    published: Option<f64>,
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
        seeds_needed(value, interval, band?, ours.seeds as u64)
    };
    let would_do = ours.seeds_that_would_do.map(|seeds| seeds as u64);
    ComparisonRow {
        metric: metric.into(),
        ours: ours.value,
        ours_ci: ours.interval,
        seeds: ours.seeds as u64,
        flows: ours.flows.map(|flows| flows as u64),
        theirs: published,
        band,
        verdict,
        seeds_that_would_do: match verdict {
            Verdict::TooFew => would_do.or_else(estimated),
            _ => None,
        },
        why: why.into(),
    }
}
