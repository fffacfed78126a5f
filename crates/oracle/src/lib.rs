//! Formulas and checks with which tests compare simulations.
//!
//! - [`queueing`]: waiting and sojourn times of M/M/1, M/D/1, M/G/1, processor sharing and strict priorities.
//!   The module also contains a model of RepFlow.
//! - [`dctcp`]: the steady state of DCTCP's window, alpha and queue.
//! - [`ideal`]: the completion time of a flow alone, exact to the picosecond.
//! - [`statistics`]: confidence intervals and distances between distributions.
//! - [`conservation`]: checks that a run loses no packets and no bytes.
//!
//! The crate uses no code of the simulator, so it cannot contain the simulator's errors. Only tests depend on it.
//! Functions panic if an argument is outside its documented range, because such a call is an error in a test.

pub mod conservation;
pub mod dctcp;
pub mod ideal;
pub mod queueing;
pub mod statistics;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
