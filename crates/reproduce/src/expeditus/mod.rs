//! Expeditus (SoCC 2016, and slides with its first form), and the sensitivity of its results.

mod emulab;
mod figures;
mod paths;
mod sensitivity;

pub use emulab::EMULAB;
pub use paths::EXPEDITUS;
pub use sensitivity::SENSITIVITY;
