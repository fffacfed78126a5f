//! Series of designs, and points of distributions.

use crate::plot::{Mark, Point, Series};

/// Points of one distribution function. More points would fall on the same pixels.
pub(crate) const DISTRIBUTION_POINTS: usize = 120;

/// Designs of a study. Each one has its own colour.
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

/// Returns for each of the sorted values the share of values that are as small or smaller.
pub(crate) fn cdf(sorted: &[f64]) -> Vec<Point> {
    let n = sorted.len();
    let ranks = (0..=DISTRIBUTION_POINTS).map(|i| i * n.saturating_sub(1) / DISTRIBUTION_POINTS);
    points_at(sorted, ranks, |rank| (rank + 1) as f64 / n as f64)
}

/// Returns for each of the sorted values the share of values that are as large or larger. The ranks are spaced by the
/// logarithm of the share above them.
pub(crate) fn ccdf(sorted: &[f64]) -> Vec<Point> {
    let n = sorted.len() as f64;
    let ranks = (0..=DISTRIBUTION_POINTS).map(|i| {
        let above = n.powf(1.0 - i as f64 / DISTRIBUTION_POINTS as f64);
        // Of equal values only the first has the right share, because all of them are as large.
        let rank = (n - above).round() as usize;
        let value = sorted.get(rank).copied().unwrap_or(f64::INFINITY);
        sorted.partition_point(|other| *other < value)
    });
    let mut points = points_at(sorted, ranks, |rank| (n - rank as f64) / n);
    // If several values are equal to the largest one, the curve goes down to the last of them. A study with a single
    // value then still has a visible line.
    if let Some(&Point { x, y, .. }) = points.last()
        && y > 1.0 / n
    {
        points.push(Point::new(x, 1.0 / n));
    }
    points
}

/// Returns the finite values above zero at `ranks`, each of them once.
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
