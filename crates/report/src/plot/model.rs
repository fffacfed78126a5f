//! What a plot is: axes, series and points.

use crate::format::{Quantity, signed_percent};

/// A plot of one or more series. It has at least one point.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// A name for files and scripts, unique within a report.
    pub id: String,
    /// The title.
    pub title: String,
    /// What a reader has to know, in a sentence or two; may be empty.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series in the order of the legend.
    pub series: Vec<Series>,
    /// A line at one value of an axis, such as a ratio of one.
    pub reference: Option<Reference>,
}

/// A drawing as a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// A name for the file, unique within a report.
    pub id: String,
    /// The drawing as an SVG file of its own.
    pub svg: String,
}

/// An axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// What it shows, without the unit.
    pub label: String,
    /// What its numbers count.
    pub quantity: Quantity,
    /// How values are laid out.
    pub scale: Scale,
    /// Values to be labelled in place of round ones; may be empty.
    pub ticks: Vec<f64>,
    /// Values that the axis reaches at least, so that several plots have one range.
    pub reach: Option<(f64, f64)>,
}

/// How an axis lays values out.
#[derive(Clone, PartialEq, Debug)]
pub enum Scale {
    /// Evenly, from zero or the lowest value.
    Linear,
    /// By their logarithm; values are above zero, intervals may reach it.
    Log,
    /// One place a name; a value is an index, with fractions around it.
    Names(Vec<String>),
}

/// A line at one value of an axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reference {
    /// A vertical line.
    X(f64),
    /// A horizontal line.
    Y(f64),
}

/// One series.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its colour, marker and dashes, as an index; the same over all plots of a report.
    pub colour: usize,
    /// How it is drawn.
    pub mark: Mark,
    /// Its points; for lines in order of `x`.
    pub points: Vec<Point>,
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Straight lines from point to point.
    Line,
    /// A line that keeps its height until the next point, as a distribution function does.
    Step,
    /// A line with a marker at every point.
    LineAndDots,
    /// Markers only.
    Dots,
    /// The cells of a heat map, all of one level: both axes are names.
    Cells,
}

/// A point, with an interval where there is one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// In the horizontal axis's quantity.
    pub x: f64,
    /// In the vertical axis's quantity.
    pub y: f64,
    /// Whiskers.
    pub whisker: Option<Whisker>,
    /// What a cell shows.
    pub shows: Option<Shown>,
}

/// The value of a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shown {
    /// What it is.
    pub label: &'static str,
    /// What it counts.
    pub quantity: Quantity,
    /// The value.
    pub value: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Whether it is in brackets: no difference beyond doubt.
    pub is_doubtful: bool,
}

impl Shown {
    /// The value within its cell.
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

/// An interval around a point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Whisker {
    /// Along the horizontal axis.
    X(f64, f64),
    /// Along the vertical axis.
    Y(f64, f64),
}

impl Axis {
    /// An axis.
    pub fn new(label: impl Into<String>, quantity: Quantity, scale: Scale) -> Self {
        Self {
            label: label.into(),
            quantity,
            scale,
            ticks: Vec::new(),
            reach: None,
        }
    }

    /// One place a name.
    pub fn names(label: impl Into<String>, names: Vec<String>) -> Self {
        Self::new(label, Quantity::Number, Scale::Names(names))
    }

    /// The value in words.
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
    /// A point without an interval.
    pub const fn new(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            whisker: None,
            shows: None,
        }
    }
}

impl Plot {
    /// Whether a legend says more than the axes do.
    pub fn has_legend(&self) -> bool {
        let has_cells = self.series.iter().any(|series| series.mark == Mark::Cells);
        has_cells || self.series.len() > 1 && !matches!(self.y.scale, Scale::Names(_))
    }

    /// Whether any series has a point to draw.
    pub fn has_points(&self) -> bool {
        self.series.iter().any(|series| !series.points.is_empty())
    }

    /// Every point in words, for the page's tooltips, by series.
    pub(crate) fn texts(&self, point: &Point) -> String {
        let (x_interval, y_interval) = match point.whisker {
            Some(Whisker::X(low, high)) => (Some((low, high)), None),
            Some(Whisker::Y(low, high)) => (None, Some((low, high))),
            None => (None, None),
        };
        let shows = point.shows.map_or_else(String::new, |shown| {
            let value = shown.quantity.with_interval(shown.value, shown.interval);
            format!("; {}: {value}", shown.label)
        });
        format!(
            "{}: {}; {}: {}{shows}",
            self.x.label,
            self.x.text(point.x, x_interval),
            self.y.label,
            self.y.text(point.y, y_interval)
        )
    }
}
