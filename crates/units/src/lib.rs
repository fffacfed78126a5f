//! Quantities and identifiers that all other crates of tailcut use.
//!
//! Times are whole numbers of picoseconds.
//! The serialisation time of a byte is therefore exact at every common line rate (80 ps at 100 Gb/s, 8 ns at 1 Gb/s).
//! A run never depends on the rounding of floating-point numbers.
//! The crate reads no clock: all times are arguments of its functions.
#![no_std]

extern crate alloc;

mod bucket;
mod bytes;
mod ecn;
mod flow;
mod median;
mod mix;
pub mod parameter;
mod prefetch;
pub mod quantity;
mod rate;
mod time;

pub use bucket::TokenBucket;
pub use bytes::Bytes;
pub use ecn::Ecn;
pub use flow::{FiveTuple, FlowId, HostId, Protocol};
pub use median::median;
pub use mix::{mix64, reduce, stream_seed};
pub use prefetch::{prefetch, prefetch_whole};
pub use rate::Rate;
pub use time::{Duration, Time};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
