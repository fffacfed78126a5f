//! Measured cases of TCP: the parser of their notation, and the player that compares the answers of a TCP stack with
//! them. `tests/cases/README.md` describes the notation.
//!
//! Two tests share this module. One test plays the cases with the endpoint of this crate.
//! The test `kernel_cases` of `tailcut-lab` plays them with the kernel.

pub mod parse;
pub mod play;
