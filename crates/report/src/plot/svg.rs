//! Plots as SVG. The same drawing has a wide and a narrow layout for the page, and layouts for files.

use super::cells;
use super::model::{Mark, Plot, Point, Reference, Scale, Series, Whisker};
use super::outline::{self, Grid};
use super::scale::{ScaledAxis, Side, Tick};
use maud::{Markup, html};
use std::fmt::Write;

/// Colours on a light background: grey for the baseline, then the palette of Okabe and Ito.
/// People with any common kind of colour blindness can distinguish them. Markers and dashes also differ.
pub(super) const LIGHT: [&str; 8] = [
    "#5f6670", "#0072b2", "#d55e00", "#009e73", "#b8860b", "#b04f8f", "#3a9bd9", "#7a4b2a",
];
/// Colours of the series on a dark background.
const DARK: [&str; 8] = [
    "#b4bac4", "#5ab4f0", "#ff8f52", "#2cc79a", "#f0c04a", "#e79ccb", "#9fd3ff", "#d3a27f",
];
const DASHES: [&str; 5] = ["", "7 3", "2 3", "9 3 2 3", "4 2"];

/// Estimated width of a character, divided by the font size. Common sans-serif fonts are not wider.
/// The width is estimated because labels are positioned before the font is known.
const LETTER: f64 = 0.6;

/// Maximum number of points of a curve that have a tooltip, minus one.
const TOOLTIP_POINTS: usize = 64;

/// Size of a drawing.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub width: f64,
    pub height: f64,
    pub font: f64,
}

impl Layout {
    /// Layout for the page on a wide screen.
    pub const WIDE: Self = Self {
        width: 560.0,
        height: 340.0,
        font: 12.0,
    };
    /// Layout for the page on a phone.
    pub const NARROW: Self = Self {
        width: 340.0,
        height: 280.0,
        font: 12.0,
    };
    /// Returns the estimated width of a text.
    pub(super) fn text_width(&self, text: &str) -> f64 {
        text.chars().count() as f64 * self.font * LETTER
    }
}

/// Returns the colours of the series on a light background, as CSS custom properties.
pub(crate) fn light_colours() -> String {
    properties(&LIGHT)
}

/// Returns the colours of the series on a dark background, as CSS custom properties.
pub(crate) fn dark_colours() -> String {
    properties(&DARK)
}

fn properties(colours: &[&str]) -> String {
    let mut css = String::new();
    for (index, colour) in colours.iter().enumerate() {
        let _ = write!(css, "--series-{index}:{colour};");
    }
    css
}

/// Rectangle inside the axes, in the drawing's units.
#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Frame {
    fn x(&self, place: f64) -> f64 {
        self.left + place * self.width
    }
    fn y(&self, place: f64) -> f64 {
        self.top + (1.0 - place) * self.height
    }
    fn bottom(&self) -> f64 {
        self.top + self.height
    }
    fn right(&self) -> f64 {
        self.left + self.width
    }
}

impl Plot {
    /// Returns the drawing for the page. Its colours come from the page's style sheet.
    pub(crate) fn drawing(&self, layout: Layout, class: &str, curves: Curves) -> Markup {
        let drawn = Drawn::new(self, layout, curves);
        let frame = drawn.frame;
        let area = format!(
            "{:.1} {:.1} {:.1} {:.1}",
            frame.left, frame.top, frame.width, frame.height
        );
        html! {
            svg class=(class) viewBox=(format!("0 0 {} {}", layout.width, layout.height))
                font-size=(layout.font) data-frame=(area) tabindex="0" role="img"
                aria-label=(format!("{}. Arrow keys read the points out.", self.title)) {
                (drawn.body())
                circle class="cursor" r="6" visibility="hidden" {}
            }
        }
    }

    /// Returns the points of a series that have tooltips.
    pub(crate) fn places(&self, series: &Series) -> Vec<Place> {
        let (x, y) = (
            ScaledAxis::new(self, Side::X),
            ScaledAxis::new(self, Side::Y),
        );
        // Only some points of a curve have a tooltip, because a pointer cannot select each point.
        let last = series.points.len().saturating_sub(1);
        let every = last.div_ceil(TOOLTIP_POINTS).max(1);
        let points = series.points.iter().enumerate();
        points
            .filter(|(index, _)| index % every == 0 || *index == last)
            .map(|(_, point)| {
                Place(
                    place_of(x.place(point.x)),
                    place_of(y.place(point.y)),
                    self.texts(point),
                    point.row.map(|row| (row.number, row.run)),
                )
            })
            .collect()
    }

    /// Returns the ticks of an axis for a zoomed plot: positions and labels.
    /// The ticks are closer together than in the whole plot. The list is empty for an axis of names.
    pub(crate) fn fine_ticks(&self, side: Side) -> Vec<(u32, String)> {
        let ticks = ScaledAxis::new(self, side).fine_ticks().into_iter();
        ticks
            .map(|tick| (place_of(tick.place), tick.label))
            .collect()
    }
}

/// Data of a tooltip: the position, the texts and the row of its point.
#[derive(serde::Serialize)]
pub(crate) struct Place(
    u32,
    u32,
    Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")] Option<(u32, u32)>,
);

/// Converts a position from 0 to 1 to a whole number from 0 to 10,000.
fn place_of(place: f64) -> u32 {
    (place * 1e4).round() as u32
}

/// Form of the curves in a drawing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Curves {
    /// Curves in the cells of the page's grid. Another drawing of the same plot can reuse them.
    Own,
    /// Reference to the curves in the second drawing of the same plot.
    OfOther,
    /// Curves in the coordinates of a file.
    File,
}

pub(crate) fn colour_class(series: &Series) -> String {
    // Cells have a colour class each, inside the group.
    let colour = match series.mark {
        Mark::Cells => 0,
        _ => series.colour % LIGHT.len(),
    };
    format!("c{colour}")
}

/// Returns a sample of a series for the legend: a line of 28 units with its marker, at height 0.
pub(crate) fn swatch(series: &Series) -> Markup {
    if series.mark == Mark::Cells {
        let class = format!("cell{}", cells::level(series));
        return html! { path class=(class) d="M2 -6h24v12h-24z" {} };
    }
    html! {
        @if series.mark != Mark::Dots {
            path class="line" d="M0 0H28" stroke-dasharray=(dashes(series)) {}
        }
        @if matches!(series.mark, Mark::Dots | Mark::LineAndDots) {
            path class="dot" d=(marker(series.colour, 14.0, 0.0)) {}
        }
    }
}

fn dashes(series: &Series) -> &'static str {
    match DASHES[series.colour % DASHES.len()] {
        "" => "none",
        dashes => dashes,
    }
}

/// Plot with its axes in a layout.
pub(super) struct Drawn<'a> {
    plot: &'a Plot,
    layout: Layout,
    curves: Curves,
    frame: Frame,
    x: ScaledAxis<'a>,
    y: ScaledAxis<'a>,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    /// Distance between the two rows of horizontal labels, as a multiple of the font size. 0 if there is only one row.
    second_row: f64,
}

impl<'a> Drawn<'a> {
    pub fn new(plot: &'a Plot, layout: Layout, curves: Curves) -> Self {
        let (x, y) = (
            ScaledAxis::new(plot, Side::X),
            ScaledAxis::new(plot, Side::Y),
        );
        let has_cells = plot.series.iter().any(|series| series.mark == Mark::Cells);
        let mut y_ticks = y.ticks();
        if has_cells {
            // If the rows are lower than a label, only every second name is shown, or fewer.
            let rows = (layout.height * 0.7 / (layout.font * 1.3)) as usize;
            let every = y_ticks.len().div_ceil(rows.max(1));
            y_ticks = y_ticks.into_iter().step_by(every.max(1)).collect();
        }
        let widest = y_ticks
            .iter()
            .map(|tick| layout.text_width(&tick.label))
            .fold(0.0, f64::max);
        let left = (widest + 14.0).clamp(30.0, layout.width * 0.42);
        let x_ticks = x.ticks();
        // The last label may extend over the frame by half its width.
        let right = x_ticks.last().map_or(16.0, |tick| {
            (layout.text_width(&tick.label) / 2.0 + 4.0).max(16.0)
        });
        let top = layout.font * 2.2;
        // All names are shown. If the names do not fit into one row, every second name is in a second row.
        let names = matches!(plot.x.scale, Scale::Names(_));
        let room = layout.width - left - right;
        let is_tight = names && !fits(&x_ticks, 1, layout, room);
        let all_fit = !has_cells || fits(&x_ticks, 2, layout, room);
        let second_row = if is_tight && all_fit { 1.3 } else { 0.0 };
        let frame = Frame {
            left,
            top,
            width: layout.width - left - right,
            height: layout.height - top - layout.font * (3.8 + second_row),
        };
        let x_ticks = if names && all_fit {
            x_ticks
        } else {
            thinned(x_ticks, layout, frame)
        };
        Self {
            plot,
            layout,
            curves,
            frame,
            x,
            y,
            x_ticks,
            y_ticks,
            second_row,
        }
    }

    /// Returns axes, curves and marks, for use within an `svg` element.
    pub fn body(&self) -> Markup {
        let (frame, font) = (self.frame, self.layout.font);
        let has_cells = self
            .plot
            .series
            .iter()
            .any(|series| series.mark == Mark::Cells);
        let names = matches!(self.plot.y.scale, Scale::Names(_)) && !has_cells;
        html! {
            text class="label" x=(if names { frame.left } else { 4.0 }) y=(frame.top - font * 0.9) {
                @if !names { (self.plot.y.label) }
            }
            g class="ticks" { (self.ticks()) }
            path class="axis" fill="none" d=(format!(
                "M{0:.1} {1:.1}V{2:.1}H{3:.1}", frame.left, frame.top, frame.bottom(), frame.right()
            )) {}
            text class="label" x=(rounded(frame.left + frame.width / 2.0))
                y=(rounded(frame.bottom() + font * (3.2 + self.second_row))) text-anchor="middle" { (self.plot.x.label) }
            @if let Some(reference) = self.plot.reference { (self.reference(reference)) }
            @for (index, series) in self.plot.series.iter().enumerate() {
                g class=(colour_class(series)) data-series=(index) { (self.series(index, series)) }
            }
        }
    }

    /// Returns the lines of the grid and their labels.
    fn ticks(&self) -> Markup {
        let (frame, font) = (self.frame, self.layout.font);
        html! {
            @for (index, tick) in self.x_ticks.iter().enumerate() {
                @let x = rounded(frame.x(tick.place));
                line class="grid" x1=(x) x2=(x) y1=(rounded(frame.top)) y2=(rounded(frame.bottom())) {}
                @let row = 1.65 + self.second_row * (index % 2) as f64;
                text class="tick" x=(x) y=(rounded(frame.bottom() + font * row)) text-anchor="middle" { (tick.label) }
            }
            @for tick in &self.y_ticks {
                @let y = rounded(frame.y(tick.place));
                line class="grid" x1=(rounded(frame.left)) x2=(rounded(frame.right())) y1=(y) y2=(y) {}
                text class="tick" x=(rounded(frame.left - 7.0)) y=(rounded(frame.y(tick.place) + font * 0.35)) text-anchor="end" {
                    (shortened(&tick.label, self.layout, frame.left - 10.0))
                }
            }
        }
    }

    fn reference(&self, reference: Reference) -> Markup {
        let frame = self.frame;
        let path = match reference {
            Reference::X(value) => {
                let x = frame.x(self.x.place(value));
                format!("M{x:.1} {:.1}V{:.1}", frame.top, frame.bottom())
            }
            Reference::Y(value) => {
                let y = frame.y(self.y.place(value));
                format!("M{:.1} {y:.1}H{:.1}", frame.left, frame.right())
            }
        };
        html! { path class="reference" fill="none" d=(path) {} }
    }

    fn at(&self, point: &Point) -> (f64, f64) {
        let (x, y) = (self.x.place(point.x), self.y.place(point.y));
        (self.frame.x(x), self.frame.y(y))
    }

    /// Returns the cells of one level, with their values if they fit.
    fn cells(&self, series: &Series) -> Markup {
        let half = |at: f64, axis: &ScaledAxis<'_>| (axis.place(at - 0.5), axis.place(at + 0.5));
        let cells = series.points.iter().map(|point| {
            let (left, right) = half(point.x, &self.x);
            let (low, high) = half(point.y, &self.y);
            (
                point,
                self.frame.x(left),
                self.frame.y(high),
                self.frame.x(right),
                self.frame.y(low),
            )
        });
        let cells: Vec<_> = cells.collect();
        let path: String = cells
            .iter()
            .map(|(_, left, top, right, bottom)| {
                // The gap between two cells is one unit wide, and shows the background.
                let (width, height) = (right - left - 1.0, bottom - top - 1.0);
                format!("M{left:.1} {top:.1}h{width:.1}v{height:.1}h-{width:.1}z")
            })
            .collect();
        let level = cells::level(series);
        html! {
            path class=(format!("cell{level}")) d=(path) {}
            @for (point, left, top, right, bottom) in &cells {
                @let text = point.shows.map_or_else(String::new, |shown| shown.text());
                @let font = self.layout.font;
                @if self.layout.text_width(&text) < right - left && font * 1.2 < bottom - top {
                    text class=(format!("in{level}")) text-anchor="middle" x=(rounded((left + right) / 2.0))
                        y=(rounded((top + bottom) / 2.0 + font * 0.35)) { (text) }
                }
            }
        }
    }

    fn series(&self, index: usize, series: &Series) -> Markup {
        if series.mark == Mark::Cells {
            return self.cells(series);
        }
        let whiskers: String = series
            .points
            .iter()
            .filter_map(|p| self.whisker(p))
            .collect();
        let dots: String = series
            .points
            .iter()
            .map(|point| {
                let (x, y) = self.at(point);
                marker(series.colour, x, y)
            })
            .collect();
        html! {
            @if series.mark != Mark::Dots {
                (self.curve(index, series))
            }
            @if !whiskers.is_empty() { path class="whisker" d=(whiskers) {} }
            @if matches!(series.mark, Mark::Dots | Mark::LineAndDots) { path class="dot" d=(dots) {} }
        }
    }

    /// Returns the curve of a series. On the page, the curve is inside an inner `svg`.
    /// The view box of the inner `svg` is the grid. A zoom changes this view box.
    fn curve(&self, index: usize, series: &Series) -> Markup {
        let frame = self.frame;
        let id = format!("{}.{index}", self.plot.id);
        let Grid { columns, rows } = Grid::PAGE;
        let grid = format!("0 0 {columns} {rows}");
        html! {
            @if self.curves == Curves::File {
                path class="line" d=(self.line(series)) stroke-dasharray=(dashes(series)) {}
            } @else {
                svg class="curve" x=(rounded(frame.left)) y=(rounded(frame.top)) width=(rounded(frame.width))
                    height=(rounded(frame.height)) viewBox=(grid) data-grid=(grid) preserveAspectRatio="none" {
                    @if self.curves == Curves::Own {
                        path class="line" id=(id) vector-effect="non-scaling-stroke"
                            d=(outline::path(&self.outline(series, Grid::PAGE)))
                            stroke-dasharray=(dashes(series)) {}
                    } @else {
                        use href={ "#" (id) } {}
                    }
                }
            }
        }
    }

    /// Returns the corners of the series in the cells of `grid`.
    fn outline(&self, series: &Series, grid: Grid) -> Vec<outline::Corner> {
        outline::outline((&self.x, &self.y), series, grid)
    }

    /// Returns the curve's path in the coordinates of a file.
    fn line(&self, series: &Series) -> String {
        let grid = Grid::FILE;
        let mut path = String::new();
        for (column, row) in self.outline(series, grid) {
            let x =
                self.frame.left + self.frame.width * f64::from(column) / f64::from(grid.columns);
            let y = self.frame.top + self.frame.height * f64::from(row) / f64::from(grid.rows);
            let letter = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{x:.2} {y:.2}");
        }
        path
    }

    fn whisker(&self, point: &Point) -> Option<String> {
        let (x, y) = self.at(point);
        Some(match point.whisker? {
            Whisker::X(low, high) => {
                let low = self.frame.x(self.x.place(low));
                let high = self.frame.x(self.x.place(high));
                let (a, b) = (y - 4.0, y + 4.0);
                format!("M{low:.1} {y:.1}H{high:.1}M{low:.1} {a:.1}V{b:.1}M{high:.1} {a:.1}V{b:.1}")
            }
            Whisker::Y(low, high) => {
                let low = self.frame.y(self.y.place(low));
                let high = self.frame.y(self.y.place(high));
                let (a, b) = (x - 4.0, x + 4.0);
                format!("M{x:.1} {low:.1}V{high:.1}M{a:.1} {low:.1}H{b:.1}M{a:.1} {high:.1}H{b:.1}")
            }
        })
    }
}

/// Returns a closed shape around a point: a disc, a square, a diamond or a triangle.
fn marker(colour: usize, x: f64, y: f64) -> String {
    match colour % 4 {
        0 => format!(
            "M{:.1} {y:.1}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
            x - 4.5
        ),
        1 => format!("M{:.1} {:.1}h8v8h-8z", x - 4.0, y - 4.0),
        2 => format!("M{x:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5 -5.5z", y - 5.5),
        _ => format!("M{x:.1} {:.1}l5.5 9.5h-11z", y - 6.0),
    }
}

/// Removes ticks until no two labels on the horizontal axis touch.
fn thinned(ticks: Vec<Tick>, layout: Layout, frame: Frame) -> Vec<Tick> {
    let mut steps = 1..=ticks.len().max(1);
    let every = steps
        .find(|&every| fits(&ticks, every, layout, frame.width))
        .unwrap_or(1);
    ticks.into_iter().step_by(every).collect()
}

/// Returns whether the labels of every `every`-th tick stay apart on an axis of `width`.
fn fits(ticks: &[Tick], every: usize, layout: Layout, width: f64) -> bool {
    let kept: Vec<&Tick> = ticks.iter().step_by(every).collect();
    kept.windows(2).all(|pair| {
        let distance = (pair[1].place - pair[0].place) * width;
        let widths = layout.text_width(&pair[0].label) + layout.text_width(&pair[1].label);
        distance >= widths / 2.0 + 6.0
    })
}

/// Returns the text, cut with an ellipsis if it is wider than `room`.
fn shortened(text: &str, layout: Layout, room: f64) -> String {
    if layout.text_width(text) <= room {
        return text.to_owned();
    }
    let letters = (room / layout.font / LETTER) as usize;
    let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn rounded(value: f64) -> String {
    format!("{value:.1}")
}
