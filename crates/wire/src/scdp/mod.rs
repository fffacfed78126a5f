//! SCDP headers: `docs/wire/scdp.md`. Each mode of SCDP has a different layout.
//!
//! - [`paper`]: version 1, for networks that trim.
//! - [`credit`]: version 2, over UDP sockets, for networks that do not trim.

pub mod credit;
pub mod paper;
