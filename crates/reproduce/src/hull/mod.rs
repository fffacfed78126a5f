//! HULL's experiments (slides of the HULL paper, NSDI 2012), and further experiments without published results.

mod bursts;
mod dynamic;
mod figures;
mod scale;
mod sensitivity;
mod static_flows;

pub use bursts::HULL_BURSTS;
pub use dynamic::HULL_DYNAMIC;
pub use scale::HULL_SCALE;
pub use sensitivity::HULL_SENSITIVITY;
pub use static_flows::HULL_STATIC;
