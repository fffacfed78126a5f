//! HULL's experiments (slides of the HULL paper, NSDI 2012), and HULL where no figure was published.

mod bursts;
mod dynamic;
mod figures;
mod scale;
mod sensitivity;
mod static_flows;

pub use bursts::HullBursts;
pub use dynamic::HullDynamic;
pub use scale::HullScale;
pub use sensitivity::HullSensitivity;
pub use static_flows::HullStatic;
