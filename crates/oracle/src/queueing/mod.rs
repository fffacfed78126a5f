//! Waiting times in queues with Poisson arrivals.
//!
//! The caller chooses the unit of time. All times are in this unit, and rates are arrivals per unit.
//! The wait is the time from the arrival of a customer to the start of its service.
//! The sojourn time ends with the service, and includes the wait.
//!
//! Sources: Kleinrock, "Queueing Systems" volume 1 (1975), chapters 3 and 5, and volume 2 (1976), chapter 4.
//! Some functions name another source.

mod lattice;
mod load;
pub mod md1;
pub mod mg1;
pub mod mm1;
pub mod priority;
pub mod processor_sharing;
pub mod repflow;
mod service;

pub use lattice::{Bounds, WaitDistribution};
pub use service::Service;
