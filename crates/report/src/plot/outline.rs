//! Outline of a curve: the corners of the curve's lines or steps, in whole cells of a grid.
//! Corners that change no cell are left out.

use super::model::{Mark, Point, Series};
use super::scale::ScaledAxis;
use std::fmt::Write;

/// Grid over the area inside a plot's axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grid {
    pub columns: u32,
    pub rows: u32,
}

impl Grid {
    /// Grid of the page. The grid has about two cells for each pixel of a usual screen, so that curves can be zoomed.
    pub const PAGE: Self = Self {
        columns: 1_400,
        rows: 800,
    };
    /// Grid of a file. A picture of 7 inches with 300 dots per inch has about one dot for each cell.
    pub const FILE: Self = Self {
        columns: 2_100,
        rows: 1_260,
    };
}

/// Maximum distance in cells between a curve and its outline. Afterwards, corners are moved to whole cells.
const TOLERANCE: f64 = 0.5;

/// Corner of an outline, in cells from the left and from the top.
pub(super) type Corner = (i32, i32);

/// Returns the outline of the series in `grid`. Each point of the curve is at most one cell away from the outline.
pub(super) fn outline(
    (x, y): (&ScaledAxis<'_>, &ScaledAxis<'_>),
    series: &Series,
    grid: Grid,
) -> Vec<Corner> {
    let at = |point: &Point| {
        (
            x.place(point.x) * f64::from(grid.columns),
            (1.0 - y.place(point.y)) * f64::from(grid.rows),
        )
    };
    let mut corners: Vec<(f64, f64)> = Vec::with_capacity(2 * series.points.len());
    for corner in series.points.iter().map(at) {
        let before = corners.last().copied();
        corners.extend(before.and_then(|before| step(series.mark, before, corner)));
        corners.push(corner);
    }
    let mut outline: Vec<Corner> = simplified(&corners)
        .into_iter()
        .map(|(x, y)| (x.round() as i32, y.round() as i32))
        .collect();
    // A single point keeps its corner, and is drawn as a dot with the width of the line.
    outline.dedup();
    outline
}

/// Returns the corner of a step between two points, or `None` if the line is straight.
fn step(mark: Mark, before: (f64, f64), after: (f64, f64)) -> Option<(f64, f64)> {
    match mark {
        Mark::Step => Some((after.0, before.1)),
        Mark::StepBefore => Some((before.0, after.1)),
        _ => None,
    }
}

/// Returns the outline as the data of an SVG path in whole cells.
pub(super) fn path(outline: &[Corner]) -> String {
    let mut path = String::new();
    let mut last: Option<Corner> = None;
    for &(x, y) in outline {
        let _ = match last {
            None => write!(path, "M{x} {y}"),
            Some((from, at)) if at == y => write!(path, "h{}", x - from),
            Some((at, from)) if at == x => write!(path, "v{}", y - from),
            Some((from_x, from_y)) => write!(path, "l{} {}", x - from_x, y - from_y),
        };
        last = Some((x, y));
    }
    if outline.len() == 1 {
        path.push_str("h0");
    }
    path
}

/// Returns the corners that are needed for the outline (algorithm of Ramer, Douglas and Peucker).
/// Corners that are at most [`TOLERANCE`] away from the line through other corners are left out.
fn simplified(corners: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let Some(last) = corners.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut keeps = vec![false; corners.len()];
    keeps[0] = true;
    keeps[last] = true;
    let mut open = vec![(0, last)];
    while let Some((from, to)) = open.pop() {
        let distances = (from + 1..to)
            .map(|index| (index, distance(corners[index], corners[from], corners[to])));
        let farthest = distances.max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((index, far)) = farthest
            && far > TOLERANCE
        {
            keeps[index] = true;
            open.extend([(from, index), (index, to)]);
        }
    }
    let kept = corners.iter().zip(keeps).filter(|(_, keeps)| *keeps);
    kept.map(|(corner, _)| *corner).collect()
}

/// Returns the distance between a corner and the line from `from` to `to`.
fn distance(corner: (f64, f64), from: (f64, f64), to: (f64, f64)) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (px, py) = (corner.0 - from.0, corner.1 - from.1);
    let square = dx * dx + dy * dy;
    // Nearest position on the line, from 0 (start) to 1 (end).
    let along = match square > 0.0 {
        true => ((px * dx + py * dy) / square).clamp(0.0, 1.0),
        false => 0.0,
    };
    (px - along * dx).hypot(py - along * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_on_a_straight_line_are_left_out_and_a_step_keeps_its_corners() {
        let straight: Vec<(f64, f64)> = (0..=100).map(|i| (f64::from(i), f64::from(i))).collect();
        assert_eq!(simplified(&straight), [(0.0, 0.0), (100.0, 100.0)]);
        let step = [(0.0, 0.0), (50.0, 0.0), (50.0, 20.0), (90.0, 20.0)];
        assert_eq!(simplified(&step), step);
    }

    #[test]
    fn a_path_uses_whole_cells_and_short_commands() {
        assert_eq!(
            path(&[(3, 400), (8, 400), (8, 390), (9, 388)]),
            "M3 400h5v-10l1 -2"
        );
        assert_eq!(path(&[(3, 4)]), "M3 4h0");
    }
}
