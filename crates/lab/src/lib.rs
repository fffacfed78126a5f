//! The lab: unmodified programs on Linux hosts of their own, joined by tailcut's switches in wall-clock time.
//!
//! A host is a network namespace with the kernel's own TCP. Its network card is a TAP device, whose frames go
//! through the same fabric that the simulator runs, moved by a [`driver`] under the wall clock.
//!
//! What this crate does *not* do: it has no switch, queue or protocol of its own.
#![cfg(target_os = "linux")]

pub mod bpf;
pub mod command;
mod emulator;
mod measured;

pub use emulator::driver;
pub use emulator::host::settle;
pub use measured::{ThisMachine, bench, prepare};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
