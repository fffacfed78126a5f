//! Prediction of RepNet's gain on a network, before RepNet is deployed. An ordinary user can run the probe. It
//! finds next hops by TCP traceroute. Then it measures volleys of handshakes. The kernel reports their
//! round-trip times.
//!
//! [`mda`], [`stats`], [`pace`] and [`verdict`] are sans-I/O. On Linux `net` sends over real sockets, and
//! `command` is `tailcut probe`.
//!
//! This crate opens no raw socket, needs no privilege, and sends only to the given target.

pub mod mda;
pub mod measurement;
#[cfg(target_os = "linux")]
pub mod net;
pub mod pace;
pub mod page;
pub mod stats;
pub mod verdict;

#[cfg(target_os = "linux")]
pub mod command;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
