//! Model of a plot: axes, series and points.

use crate::format::{Quantity, signed_percent};

/// Plot of one or more series. It has at least one point.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// Name for files and scripts, unique within a report.
    pub id: String,
    /// Title.
    pub title: String,
    /// Explanation in one or two sentences. May be empty.
    pub caption: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Series in the order of the legend.
    pub series: Vec<Series>,
    /// Line at one value of an axis, such as a ratio of one.
    pub reference: Option<Reference>,
}

/// Axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Name of the shown figure, without the unit.
    pub label: String,
    /// Quantity of the numbers.
    pub quantity: Quantity,
    /// Scale of the values.
    pub scale: Scale,
    /// Values that have a labelled tick, in place of round values. The list may be empty.
    pub ticks: Vec<f64>,
    /// Minimum range of the axis. It can give several plots the same range.
    pub reach: Option<(f64, f64)>,
}

/// Scale of an axis.
#[derive(Clone, PartialEq, Debug)]
pub enum Scale {
    /// Linear, from zero or the lowest value.
    Linear,
    /// Logarithmic. Values are above zero, but intervals may reach zero.
    Log,
    /// One position for each name. The value of a point is the index of a name, with a small deviation if necessary.
    Names(Vec<String>),
}

/// Line at one value of an axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reference {
    /// A vertical line.
    X(f64),
    /// A horizontal line.
    Y(f64),
}

/// Series of a plot.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Index of colour, marker and dashes. A design has the same index in all plots of a report.
    pub colour: usize,
    /// Style of the series.
    pub mark: Mark,
    /// Points. The points of a line are in the order of `x`.
    pub points: Vec<Point>,
    /// Runs from which the points were computed. The list is empty if no point comes from a single row.
    pub runs: Vec<SeriesRun>,
}

/// Style of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Straight lines from point to point.
    Line,
    /// Steps: after each point, the line keeps the height of this point. Used for distribution functions.
    Step,
    /// Steps: before each point, the line has the height of this point. Used for complementary distribution functions.
    StepBefore,
    /// Line with a marker at each point.
    LineAndDots,
    /// Markers only.
    Dots,
    /// Cells of a heat map that all have the same level. Both axes have names.
    Cells,
}

/// Point, with an interval if there is one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Value in the horizontal axis's quantity.
    pub x: f64,
    /// Value in the vertical axis's quantity.
    pub y: f64,
    /// Whiskers.
    pub whisker: Option<Whisker>,
    /// Value that the cell of a heat map shows; `None` if the point is not a cell.
    pub shows: Option<CellValue>,
    /// Row of a run's table from which the point was computed; `None` for a point of several rows.
    pub row: Option<RowKey>,
}

/// Row of a run's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowKey {
    /// Number of the row in its table, such as the number of a flow.
    pub number: u32,
    /// Index of the run in [`Series::runs`].
    pub run: u32,
}

/// Run that a series shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeriesRun {
    /// Name of the run's directory below the study's `runs/`.
    pub id: String,
    /// Seed of the run.
    pub seed: u64,
    /// Noun for a row of the table that the points come from, such as `flow`.
    pub noun: &'static str,
}

/// Value in a cell of a heat map.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CellValue {
    /// Name of the value.
    pub label: &'static str,
    /// Quantity of the value.
    pub quantity: Quantity,
    /// Value.
    pub value: f64,
    /// Interval of the value.
    pub interval: Option<(f64, f64)>,
    /// Whether the text is in brackets, because the value is not a significant difference.
    pub is_doubtful: bool,
}

impl CellValue {
    /// Returns the text inside the cell.
    pub(crate) fn text(&self) -> String {
        let text = match self.quantity {
            Quantity::Number => format!("{} %", signed_percent((self.value - 1.0) * 100.0)),
            quantity => quantity.text(self.value),
        };
        match self.is_doubtful {
            true => format!("({text})"),
            false => text,
        }
    }
}

/// Interval around a point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Whisker {
    /// Along the horizontal axis.
    X(f64, f64),
    /// Along the vertical axis.
    Y(f64, f64),
}

impl Axis {
    /// Creates an axis.
    pub fn new(label: impl Into<String>, quantity: Quantity, scale: Scale) -> Self {
        Self {
            label: label.into(),
            quantity,
            scale,
            ticks: Vec::new(),
            reach: None,
        }
    }

    /// Creates an axis with one position per name.
    pub fn names(label: impl Into<String>, names: Vec<String>) -> Self {
        Self::new(label, Quantity::Number, Scale::Names(names))
    }

    /// Returns the value as text.
    fn text(&self, value: f64, interval: Option<(f64, f64)>) -> String {
        match &self.scale {
            Scale::Names(names) => names
                .get(value.round().max(0.0) as usize)
                .cloned()
                .unwrap_or_default(),
            _ => self.quantity.with_interval(value, interval),
        }
    }
}

impl Point {
    /// Creates a point without an interval.
    pub const fn new(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            whisker: None,
            shows: None,
            row: None,
        }
    }
}

impl Plot {
    /// Returns whether a legend shows more than the axes.
    pub fn has_legend(&self) -> bool {
        let has_cells = self.series.iter().any(|series| series.mark == Mark::Cells);
        has_cells || self.series.len() > 1 && !matches!(self.y.scale, Scale::Names(_))
    }

    /// Returns whether any series has a point to draw.
    pub fn has_points(&self) -> bool {
        self.series.iter().any(|series| !series.points.is_empty())
    }

    /// Returns the values of a point as text, for the tooltips of the page: `x`, `y` and the value of a cell.
    /// The names of the axes are not included, because thousands of points share them.
    pub(crate) fn texts(&self, point: &Point) -> Vec<String> {
        let (x_interval, y_interval) = match point.whisker {
            Some(Whisker::X(low, high)) => (Some((low, high)), None),
            Some(Whisker::Y(low, high)) => (None, Some((low, high))),
            None => (None, None),
        };
        let shows = point.shows.map(|shown| {
            let value = shown.quantity.with_interval(shown.value, shown.interval);
            format!("{}: {value}", shown.label)
        });
        let x = self.x.text(point.x, x_interval);
        let y = self.y.text(point.y, y_interval);
        [x, y].into_iter().chain(shows).collect()
    }
}
