//! Predicts the gain of RepNet on a network before RepNet is deployed. The probe needs no administrator rights.
//! The probe finds next hops by TCP traceroute, and afterwards measures volleys of handshakes.
//! A volley is a number of TCP handshakes that start at nearly the same time.
//! The kernel reports their round-trip times.
//!
//! [`mda`], [`stats`], [`pace`] and [`verdict`] do no I/O.
//! On Linux, `net` sends over real sockets, and `command` is the program `tailcut probe`.
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
