//! Plots as SVG: one drawing, laid out wide or narrow for the page, or as a separate file.

use super::cells;
use super::model::{Mark, Picture, Plot, Point, Reference, Scale, Series, Whisker};
use super::scale::{ScaledAxis, Side, Tick};
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

/// Colours on a light background: grey for the baseline, then the palette of Okabe and Ito, which people with every
/// common kind of colour blindness can distinguish. Markers and dashes differ too.
const LIGHT: [&str; 8] = [
    "#5f6670", "#0072b2", "#d55e00", "#009e73", "#b8860b", "#b04f8f", "#3a9bd9", "#7a4b2a",
];
/// Colours of the series on a dark background.
const DARK: [&str; 8] = [
    "#b4bac4", "#5ab4f0", "#ff8f52", "#2cc79a", "#f0c04a", "#e79ccb", "#9fd3ff", "#d3a27f",
];
const DASHES: [&str; 5] = ["", "7 3", "2 3", "9 3 2 3", "4 2"];

/// Width of a digit or an average letter, divided by the font size. It is an upper estimate for common sans-serif
/// fonts, because labels are laid out before the font is known.
const LETTER: f64 = 0.6;

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
    /// Layout for a file.
    const FILE: Self = Self {
        width: 720.0,
        height: 420.0,
        font: 14.0,
    };

    fn text_width(&self, text: &str) -> f64 {
        text.chars().count() as f64 * self.font * LETTER
    }
}

/// Returns the palette as CSS custom properties.
pub(crate) fn light_colours() -> String {
    properties(&LIGHT)
}

/// Returns the palette for a dark background.
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
    /// Returns the plot as a separate file in light colours, with title and legend.
    pub fn picture(&self) -> Picture {
        Picture {
            id: self.id.clone(),
            svg: file(self),
        }
    }

    /// Returns the drawing for the page. Its colours come from the page's style sheet.
    pub(crate) fn drawing(&self, layout: Layout, class: &str) -> Markup {
        let drawn = Drawn::new(self, layout, 0.0);
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

    /// Returns the position of each point, from 0 to 1 on both axes, and its texts, for tooltips.
    pub(crate) fn places(&self, series: &Series) -> Vec<(f64, f64, Vec<String>)> {
        let (x, y) = (
            ScaledAxis::new(self, Side::X),
            ScaledAxis::new(self, Side::Y),
        );
        let round = |place: f64| (place * 1e4).round() / 1e4;
        let points = series.points.iter();
        points
            .map(|point| {
                (
                    round(x.place(point.x)),
                    round(y.place(point.y)),
                    self.texts(point),
                )
            })
            .collect()
    }
}

/// Returns the plot as a separate SVG file.
fn file(plot: &Plot) -> String {
    let layout = Layout::FILE;
    let legend = legend_places(plot, layout);
    let legend_height = legend.last().map_or(0.0, |(_, y)| y + layout.font * 2.4);
    let title_height = layout.font * 2.4;
    let height = layout.height + title_height + legend_height;
    let drawn = Drawn::new(plot, layout, title_height);
    let style = file_style(plot);
    let document = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(layout.width) height=(height)
            viewBox=(format!("0 0 {} {height}", layout.width)) font-size=(layout.font)
            font-family="Ubuntu, 'Helvetica Neue', Arial, sans-serif" {
            title { (plot.title) }
            style { (PreEscaped(style)) }
            rect class="ground" width=(layout.width) height=(height) {}
            text class="title" x="16" y=(layout.font * 1.6) font-size=(layout.font * 1.2) { (plot.title) }
            (drawn.body())
            @for (series, (x, y)) in plot.series.iter().zip(&legend) {
                g class=(colour_class(series)) transform=(format!("translate({x:.1} {:.1})", y + title_height + layout.height)) {
                    (swatch(series))
                    text x="34" y="5" { (series.name) }
                }
            }
        }
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n",
        document.into_string()
    )
}

fn file_style(plot: &Plot) -> String {
    let mut css = String::from(
        ".ground{fill:#fff}text{fill:#30343a}.title{font-weight:bold}.grid{stroke:#e3e5e8}\
         .axis{stroke:#8a9099}.reference{stroke:#30343a;stroke-dasharray:4 4}\
         .line{fill:none;stroke-width:2}.whisker{stroke-width:1.5;fill:none}",
    );
    for series in plot
        .series
        .iter()
        .filter(|series| series.mark == Mark::Cells)
    {
        css.push_str(&cells::file_rules(series));
    }
    for series in &plot.series {
        let index = series.colour % LIGHT.len();
        let colour = LIGHT[index];
        let _ = write!(
            css,
            ".c{index} .line,.c{index} .whisker{{stroke:{colour}}}.c{index} .dot{{fill:{colour}}}"
        );
    }
    css
}

/// Returns the positions of the legend entries below the drawing, wrapped into rows.
fn legend_places(plot: &Plot, layout: Layout) -> Vec<(f64, f64)> {
    if !plot.has_legend() {
        return Vec::new();
    }
    let (mut x, mut y) = (24.0, 4.0);
    let mut places = Vec::new();
    for series in &plot.series {
        let width = 34.0 + layout.text_width(&series.name) + 24.0;
        if x > 24.0 && x + width > layout.width {
            (x, y) = (24.0, y + layout.font * 1.7);
        }
        places.push((x, y));
        x += width;
    }
    places
}

pub(crate) fn colour_class(series: &Series) -> String {
    // Cells have their own colour classes inside the group.
    let colour = match series.mark {
        Mark::Cells => 0,
        _ => series.colour % LIGHT.len(),
    };
    format!("c{colour}")
}

/// Returns a short piece of a series' line with its marker, 28 wide, at height 0.
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
struct Drawn<'a> {
    plot: &'a Plot,
    layout: Layout,
    frame: Frame,
    x: ScaledAxis<'a>,
    y: ScaledAxis<'a>,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    /// Distance between the two rows of horizontal labels, in font sizes. 0 if there is only one row.
    second_row: f64,
}

impl<'a> Drawn<'a> {
    fn new(plot: &'a Plot, layout: Layout, above: f64) -> Self {
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
        let top = above + layout.font * 2.2;
        // All names are shown. If they do not fit in one row, every second one is in a second row.
        let names = matches!(plot.x.scale, Scale::Names(_));
        let room = layout.width - left - right;
        let is_tight = names && !fits(&x_ticks, 1, layout, room);
        let all_fit = !has_cells || fits(&x_ticks, 2, layout, room);
        let second_row = if is_tight && all_fit { 1.3 } else { 0.0 };
        let frame = Frame {
            left,
            top,
            width: layout.width - left - right,
            height: layout.height + above - top - layout.font * (3.8 + second_row),
        };
        let x_ticks = if names && all_fit {
            x_ticks
        } else {
            thinned(x_ticks, layout, frame)
        };
        Self {
            plot,
            layout,
            frame,
            x,
            y,
            x_ticks,
            y_ticks,
            second_row,
        }
    }

    fn body(&self) -> Markup {
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
            path class="axis" fill="none" d=(format!(
                "M{0:.1} {1:.1}V{2:.1}H{3:.1}", frame.left, frame.top, frame.bottom(), frame.right()
            )) {}
            text class="label" x=(rounded(frame.left + frame.width / 2.0))
                y=(rounded(frame.bottom() + font * (3.2 + self.second_row))) text-anchor="middle" { (self.plot.x.label) }
            @if let Some(reference) = self.plot.reference { (self.reference(reference)) }
            @for (index, series) in self.plot.series.iter().enumerate() {
                g class=(colour_class(series)) data-series=(index) { (self.series(series)) }
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

    fn series(&self, series: &Series) -> Markup {
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
                path class="line" d=(self.line(series)) stroke-dasharray=(dashes(series)) {}
            }
            @if !whiskers.is_empty() { path class="whisker" d=(whiskers) {} }
            @if matches!(series.mark, Mark::Dots | Mark::LineAndDots) { path class="dot" d=(dots) {} }
        }
    }

    fn line(&self, series: &Series) -> String {
        let mut path = String::new();
        for (index, point) in series.points.iter().enumerate() {
            let (x, y) = self.at(point);
            let _ = match (index, series.mark) {
                (0, _) => write!(path, "M{x:.1} {y:.1}"),
                (_, Mark::Step) => write!(path, "H{x:.1}V{y:.1}"),
                _ => write!(path, "L{x:.1} {y:.1}"),
            };
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
