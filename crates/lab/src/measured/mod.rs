//! Measurements on a lab: runs of scenarios by agents on its hosts, and benchmarks of its own parts.

mod agent;
pub mod bench;
mod wall;

pub use wall::{ThisMachine, prepare};
