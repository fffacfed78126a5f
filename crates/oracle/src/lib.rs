//! Closed forms and checkers that the tests hold simulations against.
//!
//! - [`queueing`]: waiting and sojourn times of M/M/1, M/D/1, M/G/1 and processor sharing and strict priorities, and the
//!   model of RepFlow, the smaller of two waits;
//! - [`dctcp`]: the steady state of DCTCP's window, alpha and queue;
//! - [`ideal`]: the completion time of a flow alone, exact to the picosecond;
//! - [`statistics`]: confidence intervals and distances between distributions;
//! - [`conservation`]: that nothing is lost from the books of a run.
//!
//! Nothing here knows the simulator, so that an error of the one is not an error of the other. The
//! crate is a dev-dependency only. Functions panic on arguments outside their documented range:
//! a test that asks for the wait of an overloaded queue is itself wrong.

pub mod conservation;
pub mod dctcp;
pub mod ideal;
pub mod queueing;
pub mod statistics;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
