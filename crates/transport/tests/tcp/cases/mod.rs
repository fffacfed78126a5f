//! Measured cases of TCP: the parser of their notation, and the player that compares a stack's answers with them.
//! `tests/cases/README.md` describes the notation.
//!
//! Two tests share this module: one plays the cases with the endpoint of this crate, and `kernel_cases` of
//! `tailcut-lab` with the kernel.

pub mod parse;
pub mod play;
