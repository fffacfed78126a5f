//! Series of designs, and distributions as their points.

use crate::plot::{Mark, Point, Series};

/// Points of one distribution function; more would lie on the same pixels.
pub(crate) const DISTRIBUTION_POINTS: usize = 120;

/// The study's designs, each with its own colour.
pub(crate) struct Designs<'a>(pub Vec<&'a str>);

impl Designs<'_> {
    pub fn series(&self, design: &str, mark: Mark, points: Vec<Point>) -> Series {
        Series {
            name: design.to_owned(),
            colour: self.0.iter().position(|name| *name == design).unwrap_or(0),
            mark,
            points,
        }
    }
}

/// The share of the sorted values that are as small as each or smaller.
pub(crate) fn cdf(sorted: &[f64]) -> Vec<Point> {
    let n = sorted.len();
    let ranks = (0..=DISTRIBUTION_POINTS).map(|i| i * n.saturating_sub(1) / DISTRIBUTION_POINTS);
    points_at(sorted, ranks, |rank| (rank + 1) as f64 / n as f64)
}

/// The share of the sorted values that are as large as each or larger, at ranks spaced by the
/// logarithm of the share above them.
pub(crate) fn ccdf(sorted: &[f64]) -> Vec<Point> {
    let n = sorted.len() as f64;
    let ranks = (0..=DISTRIBUTION_POINTS).map(|i| {
        let above = n.powf(1.0 - i as f64 / DISTRIBUTION_POINTS as f64);
        // Of equal values the first, which says how many there are.
        let rank = (n - above).round() as usize;
        let value = sorted.get(rank).copied().unwrap_or(f64::INFINITY);
        sorted.partition_point(|other| *other < value)
    });
    let mut points = points_at(sorted, ranks, |rank| (n - rank as f64) / n);
    // Several that share the largest value: down to the last of them, so that even a single value shows.
    if let Some(&Point { x, y, .. }) = points.last()
        && y > 1.0 / n
    {
        points.push(Point::new(x, 1.0 / n));
    }
    points
}

/// The finite values above zero at `ranks`, each once.
fn points_at(
    sorted: &[f64],
    ranks: impl Iterator<Item = usize>,
    share: impl Fn(usize) -> f64,
) -> Vec<Point> {
    let mut last = None;
    let mut points = Vec::new();
    for rank in ranks {
        let value = sorted
            .get(rank)
            .copied()
            .filter(|v| v.is_finite() && *v > 0.0);
        if let Some(value) = value.filter(|_| last != Some(rank)) {
            points.push(Point::new(value, share(rank)));
            last = Some(rank);
        }
    }
    points
}
