//! UDP sockets for SCDP. They send and receive batches of datagrams with the whole TOS byte.
//! The sockets use the kernel's time stamps, its count of dropped datagrams, and segmentation offload.
//!
//! - [`Socket`]: a bound socket with its options, also for multicast.
//! - [`Inbox`] and [`Socket::receive`]: reception of many datagrams per call.
//! - [`Outgoing`] and [`Socket::send`]: sending of many datagrams per call.
//!   The bytes of the datagrams are not copied to one buffer.
//! - [`Datagrams`]: a trait for sending and receiving, so that a driver can also run in memory.
//!
//! This module does not handle packet headers or sessions.
//!
//! The module works on Linux only. It does not use the crate `quinn-udp` 0.6, for three reasons.
//! `quinn-udp` sends a DSCP of zero, and does not return the DSCP of received datagrams.
//! `quinn-udp` does not report datagrams that the kernel has dropped.

mod batch;
mod class;
mod control;
mod inbox;
mod message;
mod name;
mod refusals;
mod socket;

pub use class::TrafficClass;
pub use control::{Ancillary, MOST_SEGMENTS, parse};
pub use inbox::{Inbox, Port};
pub use message::{Datagrams, Incoming, MOST_BYTES, Outgoing};
pub use refusals::{Cause, Refusal, is_refusal};
pub use socket::{Multicast, Socket, SocketOptions};
