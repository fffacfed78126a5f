//! SCDP headers, one layout for each mode: `docs/wire/scdp.md`.
//!
//! - [`paper`]: version 1, for networks that trim.
//! - [`credit`]: version 2, over UDP sockets, for networks that do not trim.

pub mod credit;
pub mod paper;
