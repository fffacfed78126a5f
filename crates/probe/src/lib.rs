//! What RepNet would gain on a network, before it is deployed, measured by an ordinary user: next hops by TCP
//! traceroute, and volleys of handshakes whose round trips the kernel tells.
//!
//! [`mda`], [`stats`], [`pace`] and [`verdict`] are sans-I/O. On Linux `net` sends over real sockets, and
//! `command` is `tailcut probe`.
//!
//! What this crate does *not* do: it opens no raw socket, needs no privilege, and sends to no target but the one
//! that it is given.

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
