//! Endpoint of pFabric (Alizadeh et al., SIGCOMM 2013, section 4.2).
//! The paper is "pFabric: minimal near-optimal datacenter transport".
//! The rate control is simple, because the switches schedule and drop packets by the remaining size of their flows.
//!
//! - A flow starts without a handshake, with a window of about the bandwidth-delay product.
//! - The rank of a packet is the remaining size of its flow: the bytes for which no ACK has arrived.
//! - The receiver acknowledges each packet separately, with the highest rank. The window grows as in NewReno.
//! - Only a timeout detects losses. The timeout is fixed, at about three round trips. Duplicate ACKs have no meaning.
//!   After a timeout the window is one packet, and the slow-start threshold is half of the bytes in flight.
//!   The sender resends all unacknowledged packets, lowest number first.
//! - After five timeouts in a row the sender only probes: it sends one packet without payload per timeout.
//!   An ACK ends the probing and starts slow start.
//! - If a host has several flows, the flow with the smallest remaining size sends first, as at switches.
//!
//! Deviations
//! - Bytes in flight are all bytes that were sent since the last timeout and are not acknowledged.
//!   Bytes in flight include bytes before and after a hole.
//!   The paper's code is TCP with SACK, whose window stops at the first hole.
//! - A probe has no payload. The paper's probe has one byte.
//! - There is no FIN: each packet contains the number of packets of its flow. A sender never gives up.

mod config;
mod header;
mod host;
mod receiver;
mod sender;

pub use config::PFabricConfig;
pub use header::{PFabricHeader, PFabricKind};
pub use host::Host;
