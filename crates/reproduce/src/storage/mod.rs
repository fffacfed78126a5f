//! Storage figures of SCDP (SCDP paper, figure 1, sections V-A, V-D and V-H).
//! The scenarios set values that the paper does not specify.

mod figures;
mod first_figure;
mod hotspots;
mod overhead;
mod reads;
mod sensitivity;
mod writes;

pub use first_figure::FIRST_FIGURE;
pub use hotspots::HOTSPOTS;
pub use overhead::OVERHEAD;
pub use reads::READS;
pub use sensitivity::SENSITIVITY;
pub use writes::WRITES;
