//! Measurements on a lab: runs of scenarios, in which agents on the hosts generate the traffic, and benches of the lab.

mod agent;
pub mod bench;
mod wall;

pub use wall::{ThisMachine, prepare};
