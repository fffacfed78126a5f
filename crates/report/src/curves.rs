//! Series of designs, and points of distributions.

use crate::group::Group;
use crate::plot::{Mark, Point, RowKey, Series, SeriesRun};
use crate::run::{Flow, Run};
use crate::study::Study;

/// Number of points of a distribution function, minus one.
/// In a file with 300 dots per inch, neighbouring points are at most one dot apart on the axis of the share.
const DISTRIBUTION_POINTS: usize = 1_260;

/// Designs of a study. Each one has its own colour.
pub(crate) struct Designs<'a>(pub Vec<&'a str>);

impl Designs<'_> {
    pub fn series(&self, design: &str, mark: Mark, points: Vec<Point>) -> Series {
        Series {
            name: design.to_owned(),
            colour: self.0.iter().position(|name| *name == design).unwrap_or(0),
            mark,
            points,
            runs: Vec::new(),
        }
    }
}

/// Sorted values of one group of flows, over all seeds of one design. Each value has its run and its row number.
pub(crate) struct Ranked<'a> {
    noun: &'static str,
    runs: &'a [&'a Run],
    sorted: Vec<(f64, u32, u32)>,
}

impl<'a> Ranked<'a> {
    /// Sorts the values of the members of `group`. A member whose value is not a number is left out.
    pub fn new(runs: &'a [&'a Run], group: &Group, value: impl Fn(&Flow) -> f64) -> Self {
        let mut sorted = Vec::new();
        for (run, index) in runs.iter().zip(0u32..) {
            let members = group.members(run).iter().filter(|flow| group.has(flow));
            let values = members.map(|flow| (value(flow), index, flow.number));
            sorted.extend(values.filter(|(value, ..)| !value.is_nan()));
        }
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        Self {
            noun: group.member_noun(),
            runs,
            sorted,
        }
    }

    /// Returns the runs to which the values of the curve belong.
    pub fn runs(&self, study: &Study) -> Vec<SeriesRun> {
        let runs = self.runs.iter();
        runs.map(|run| SeriesRun {
            id: study
                .run_id(&run.summary.key)
                .unwrap_or_default()
                .to_owned(),
            seed: run.summary.key.seed,
            noun: self.noun,
        })
        .collect()
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Returns the largest value, or `None` if there is none.
    pub fn largest(&self) -> Option<f64> {
        self.sorted.last().map(|(value, ..)| *value)
    }

    /// Returns the values over their ranks, including the first and the last value.
    pub fn over_ranks(&self) -> Vec<Point> {
        let n = self.len();
        let ranks =
            (0..=DISTRIBUTION_POINTS).map(|i| i * n.saturating_sub(1) / DISTRIBUTION_POINTS);
        self.points_at(ranks, |rank, value| ((rank as f64 + 0.5) / n as f64, value))
    }

    /// Returns the cumulative distribution: for each value, the share of values that are at most as large.
    /// Only values above zero are shown.
    pub fn cdf(&self) -> Vec<Point> {
        let n = self.len();
        let ranks =
            (0..=DISTRIBUTION_POINTS).map(|i| i * n.saturating_sub(1) / DISTRIBUTION_POINTS);
        let mut points = self.points_at(ranks, |rank, value| (value, (rank + 1) as f64 / n as f64));
        points.retain(|point| point.x > 0.0);
        // The curve rises from zero at the smallest value.
        if let Some(&first) = points.first() {
            points.insert(0, Point { y: 0.0, ..first });
        }
        points
    }

    /// Returns the complementary distribution: for each value, the share of values that are at least as large.
    /// Only values above zero are shown.
    /// The ranks are spaced by the logarithm of the share above them.
    pub fn ccdf(&self) -> Vec<Point> {
        let n = self.len() as f64;
        let ranks = (0..=DISTRIBUTION_POINTS).map(|i| {
            let above = n.powf(1.0 - i as f64 / DISTRIBUTION_POINTS as f64);
            let rank = (n - above).round() as usize;
            // Equal values have the same share. This share follows from the rank of the first equal value.
            let value = self.sorted.get(rank).map_or(f64::INFINITY, |row| row.0);
            self.sorted.partition_point(|(other, ..)| *other < value)
        });
        let mut points = self.points_at(ranks, |rank, value| (value, (n - rank as f64) / n));
        points.retain(|point| point.x > 0.0);
        points.extend(lowest_step(&points, n));
        points
    }

    /// Returns the finite values at `ranks`, each of them once.
    fn points_at(
        &self,
        ranks: impl Iterator<Item = usize>,
        at: impl Fn(usize, f64) -> (f64, f64),
    ) -> Vec<Point> {
        let mut last = None;
        let mut points = Vec::new();
        for rank in ranks {
            let Some(&(value, run, number)) = self.sorted.get(rank) else {
                continue;
            };
            if !value.is_finite() || last == Some(rank) {
                continue;
            }
            let (x, y) = at(rank, value);
            points.push(Point {
                row: Some(RowKey { number, run }),
                ..Point::new(x, y)
            });
            last = Some(rank);
        }
        points
    }
}

/// Returns the last point of a complementary distribution function of `n` values: the largest value, at the share 1/n.
/// Returns `None` if the curve already ends at the share 1/n.
/// If all values are equal, a point at the share 1/n keeps the curve a visible line.
fn lowest_step(points: &[Point], n: f64) -> Option<Point> {
    let last = *points.last()?;
    (last.y > 1.0 / n).then_some(Point { y: 1.0 / n, ..last })
}
