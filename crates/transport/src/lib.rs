//! Transport endpoints as plain state. Endpoints receive their inputs and the time as arguments and never perform I/O.
//! A driver owns the clock and the bytes, so the simulator and real sockets run the same code.
//!
//! Limits: this crate contains no switch, queue or link, and it allocates no payload.
//! The crate returns no error for network input: it counts invalid input and drops it.
#![no_std]

extern crate alloc;

mod classified;
mod config;
pub mod copies;
mod header;
mod host;
mod message;
pub mod ndp;
pub mod nic;
mod path_pin;
pub mod pfabric;
pub mod pias;
pub mod qos;
mod receiver_driven;
pub mod repnet;
pub mod scdp;
mod segment;
mod shared;
pub mod tcp;
mod turns;

pub use classified::Classified;
pub use config::{ConfigError, SERVICE_PORT};
pub use header::Header;
pub use host::{BlockRange, Event, Origin, Transport};
pub use message::{FlowStats, Message, Replication};
pub use path_pin::PathPin;
pub use receiver_driven::{Demotion, MAX_THRESHOLDS, Streams};
pub use segment::{Condition, Ecn, Segment};
pub use shared::{NotShared, Part, Receipt, Share, Straggler, StragglerPolicy, Stragglers};
pub use turns::Turns;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
