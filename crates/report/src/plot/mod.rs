//! Plots: one model, drawn as SVG for the page and for files. PNG files are rendered from the same SVG.

mod cells;
mod model;
#[cfg(feature = "png")]
mod png;
mod scale;
mod svg;

pub(crate) use cells::{cell_rules, dark_cells, light_cells};
pub use model::{Axis, CellValue, Mark, Picture, Plot, Point, Reference, Scale, Series, Whisker};
#[cfg(feature = "png")]
pub use png::PngError;
pub(crate) use svg::{Layout, colour_class, dark_colours, light_colours, swatch};
