//! Plots: one model, drawn as SVG for the page and for files. PDF and PNG files are rendered from the same SVG.

mod cells;
mod file;
#[cfg(feature = "images")]
mod images;
mod model;
mod outline;
mod scale;
mod svg;

pub(crate) use cells::{cell_rules, dark_cells, light_cells};
pub use file::{Picture, Size};
#[cfg(feature = "images")]
pub use images::ImageError;
pub use model::{
    Axis, CellValue, Mark, Plot, Point, Reference, RowKey, Scale, Series, SeriesRun, Whisker,
};
pub(crate) use scale::Side;
pub(crate) use svg::{Curves, Layout, colour_class, dark_colours, light_colours, swatch};
