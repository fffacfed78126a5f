//! Plots: one model, drawn as SVG for the page and for files, and as PNG from the same SVG.

mod model;
mod png;
mod scale;
mod svg;

pub use model::{Axis, Mark, Picture, Plot, Point, Reference, Scale, Series, Whisker};
pub use png::PngError;
pub(crate) use svg::{Layout, colour_class, dark_colours, light_colours, swatch};
