//! Lab: unmodified programs run on Linux hosts, and tailcut's switches connect the hosts in wall-clock time.
//!
//! A host is a network namespace with the kernel's TCP. Its network card is a TAP device.
//! The frames of all hosts pass through a fabric, which is the same code as in the simulator.
//! A [`driver`] moves the frames in wall-clock time.
//!
//! Other crates contain the switches, queues and protocols.
#![cfg(target_os = "linux")]

pub mod bpf;
pub mod command;
mod emulator;
mod measured;

pub use emulator::driver;
pub use emulator::frames;
pub use emulator::host::apply_kernel_limits;
pub use measured::{ThisMachine, bench, prepare};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
