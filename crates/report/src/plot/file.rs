//! Plots as SVG files in light colours. They have no title, because a paper or a slide has a caption.

use super::cells;
use super::model::{Mark, Plot};
use super::svg::{Curves, Drawn, LIGHT, Layout, colour_class, swatch};
use maud::{PreEscaped, html};
use std::fmt::Write;

/// Drawing as a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// Name for the file, unique within a report for each size.
    pub id: String,
    /// Drawing as a separate SVG file.
    pub svg: String,
    /// Size of the drawing.
    pub size: Size,
}

/// Size of a drawing in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// For slides and screens, 7.5 inches wide.
    Screen,
    /// For one column of a paper with two columns: 3.3 inches wide, with a font size of 8 points.
    Column,
    /// For both columns of a paper: 7 inches wide, with a font size of 8 points.
    Page,
}

/// Number of drawing units per inch, as in CSS.
const PER_INCH: f64 = 96.0;

/// Font size in papers: 8 points, converted to drawing units.
const PAPER_FONT: f64 = 8.0 / 72.0 * PER_INCH;

impl Size {
    /// Sizes for papers.
    pub const PAPER: [Self; 2] = [Self::Column, Self::Page];

    /// Returns the width in inches, for names of files.
    pub const fn inches(self) -> f64 {
        match self {
            Self::Screen => 7.5,
            Self::Column => 3.3,
            Self::Page => 7.0,
        }
    }

    fn layout(self) -> Layout {
        let width = self.inches() * PER_INCH;
        let (height, font) = match self {
            Self::Screen => (420.0, 14.0),
            Self::Column => (220.0, PAPER_FONT),
            Self::Page => (300.0, PAPER_FONT),
        };
        Layout {
            width,
            height,
            font,
        }
    }

    /// Returns a length of `units` as an SVG attribute. A drawing of `width` units gets the width of this size.
    pub(crate) fn length(self, units: f64, width: f64) -> String {
        match self {
            Self::Screen => format!("{units}"),
            Self::Column | Self::Page => format!("{:.3}in", units / width * self.inches()),
        }
    }
}

impl Plot {
    /// Returns the plot as a separate file with its legend.
    pub fn picture(&self, size: Size) -> Picture {
        Picture {
            id: self.id.clone(),
            svg: file(self, size),
            size,
        }
    }
}

fn file(plot: &Plot, size: Size) -> String {
    let layout = size.layout();
    let legend = legend_places(plot, layout);
    let legend_height = legend.last().map_or(0.0, |(_, y)| y + layout.font * 1.2);
    let height = layout.height + legend_height;
    let drawn = Drawn::new(plot, layout, Curves::File);
    let document = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(size.length(layout.width, layout.width))
            height=(size.length(height, layout.width)) viewBox=(format!("0 0 {} {height}", layout.width))
            font-size=(format!("{:.2}", layout.font)) font-family="Ubuntu, 'Helvetica Neue', Arial, sans-serif" {
            title { (plot.title) }
            style { (PreEscaped(style(plot))) }
            rect class="ground" width=(layout.width) height=(height) {}
            (drawn.body())
            @for (series, (x, y)) in plot.series.iter().zip(&legend) {
                g class=(colour_class(series)) transform=(format!("translate({x:.1} {:.1})", y + layout.height)) {
                    (swatch(series))
                    text x=(SWATCH) y=(format!("{:.1}", layout.font * 0.35)) { (series.name) }
                }
            }
        }
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n",
        document.into_string()
    )
}

fn style(plot: &Plot) -> String {
    let mut css = String::from(
        ".ground{fill:#fff}text{fill:#30343a}.grid{stroke:#e3e5e8}\
         .axis{stroke:#8a9099}.reference{stroke:#30343a;stroke-dasharray:4 4}\
         .line{fill:none;stroke-width:1.6}.whisker{stroke-width:1.4;fill:none}",
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

/// Width of the sample of a line in the legend, with the space after it.
const SWATCH: f64 = 34.0;

/// Returns the positions of the legend entries below the drawing, wrapped into rows.
fn legend_places(plot: &Plot, layout: Layout) -> Vec<(f64, f64)> {
    if !plot.has_legend() {
        return Vec::new();
    }
    let left = layout.font;
    let (mut x, mut y) = (left, layout.font * 0.4);
    let mut places = Vec::new();
    for series in &plot.series {
        let width = SWATCH + layout.text_width(&series.name) + layout.font;
        if x > left && x + width > layout.width {
            (x, y) = (left, y + layout.font * 1.7);
        }
        places.push((x, y));
        x += width;
    }
    places
}
