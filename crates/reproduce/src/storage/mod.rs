//! SCDP's storage figures (SCDP paper, figure 1, sections V-A, V-D and V-H). What the paper's text does not give is a
//! key of the scenarios.

mod figures;
mod first_figure;
mod hotspots;
mod overhead;
mod reads;
mod sensitivity;
mod writes;

pub use first_figure::FirstFigure;
pub use hotspots::Hotspots;
pub use overhead::Overhead;
pub use reads::Reads;
pub use sensitivity::Sensitivity;
pub use writes::Writes;
