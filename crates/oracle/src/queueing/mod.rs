//! Waits in a queue with Poisson arrivals.
//!
//! Units are the caller's: rates in arrivals per unit of time, times in the same unit. `wait` is
//! the time from arrival to the start of service, `sojourn` that to its end. Sources: Kleinrock,
//! "Queueing Systems" volume 1 (1975), chapters 3 and 5, and volume 2 (1976), chapter 4, unless a
//! function says another.

mod lattice;
mod load;
pub mod md1;
pub mod mg1;
pub mod mm1;
pub mod priority;
pub mod processor_sharing;
pub mod repflow;
mod service;

pub use lattice::{Bounds, Waits};
pub use service::Service;
