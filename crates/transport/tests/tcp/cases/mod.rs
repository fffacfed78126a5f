//! Measured cases of TCP. The parser reads their notation, which `tests/cases/README.md` describes.
//! The player compares the answers of a TCP stack with the cases.
//!
//! Two tests share this module. One test plays the cases with the endpoint of this crate.
//! The test `kernel_cases` of `tailcut-lab` plays the cases with the kernel.

pub mod parse;
pub mod play;
