//! Expeditus (SoCC 2016, and the slides that show its first form), and what its figures depend on.

mod emulab;
mod figures;
mod paths;
mod sensitivity;

pub use emulab::Emulab;
pub use paths::Expeditus;
pub use sensitivity::Sensitivity;
