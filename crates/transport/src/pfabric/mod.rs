//! pFabric's endpoint (Alizadeh et al., "pFabric: minimal near-optimal datacenter transport", SIGCOMM
//! 2013, section 4.2): rate control that does little, since switches schedule and drop by remaining
//! size.
//!
//! - A flow starts without a handshake at a window of about the bandwidth-delay product.
//! - Each packet's rank is what remains of its flow, in bytes that are not known to have arrived.
//! - Every packet is acknowledged on its own, at the highest rank; the window grows as NewReno's.
//! - Losses show by a timeout alone, fixed and of about three round trips; duplicate ACKs mean nothing.
//!   After it the window is one packet, slow start goes to half of what was in flight, and what has not
//!   been acknowledged is sent again from the front.
//! - After five timeouts in a row the sender only probes, a packet without payload a timeout, until
//!   something is acknowledged; then slow start.
//! - Of several flows of a host the one with the least remaining goes first, as at switches.
//!
//! Deviations
//! - What is in flight is what was sent since the last timeout and has not been acknowledged, whatever
//!   is acknowledged beside it; the paper's code is TCP with SACK, whose window hangs on the first hole.
//! - A probe carries no payload; the paper's has one byte.
//! - There is no FIN: each packet says how many its flow has. A sender never gives up.

mod config;
mod header;
mod host;
mod receiver;
mod sender;

pub use config::PFabricConfig;
pub use header::{PFabricHeader, PFabricKind};
pub use host::Host;
