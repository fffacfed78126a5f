//! The lab: unmodified programs on Linux hosts of their own, joined by tailcut's switches in wall-clock time.
//!
//! A host is a network namespace with the kernel's own TCP. Its network card is a TAP device, whose frames go
//! through the same fabric that the simulator runs, moved by a [`driver`] under the wall clock.
//!
//! What this crate does *not* do: it has no switch, queue or protocol of its own.
#![cfg(target_os = "linux")]

mod addresses;
mod agent;
pub mod bench;
pub mod bpf;
mod clock;
pub mod command;
mod control;
pub mod driver;
mod frames;
mod groups;
mod host;
mod lateness;
mod network;
mod nic;
mod pins;
mod plan;
mod poller;
mod routers;
mod status;
mod taps;
mod tracker;
mod wall;
mod world;

pub use host::settle;
pub use wall::{ThisMachine, prepare};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
