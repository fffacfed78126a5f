//! Functions of a NIC between a host's transport and its link, as layers over any [`Transport`](crate::Transport).
//!
//! - [`Paced`]: HULL's pacer (Alizadeh et al., NSDI 2012, section 4).
//!   The paper is "Less is more: trading a little bandwidth for ultra-low latency in the data center".
//!   Large flows that meet congestion pass through one token bucket per host. All other flows bypass the token bucket.
//! - [`Coalesced`]: receive interrupt coalescing. The host receives segments in batches.
//!   The network stack may merge the segments of a batch before TCP receives them (GRO).
//! - [`Queued`]: the FIFO queue of the host.
//! - [`Jittered`]: random departure times of packets.
//!
//! Large-send offload is another source of bursts from a host.
//! Large-send offload is a parameter of the TCP endpoint ([`TcpConfig::lso_bytes`](crate::tcp::TcpConfig::lso_bytes)).

mod association;
mod coalesced;
mod jittered;
mod paced;
mod pacer;
mod queued;

pub use coalesced::{Coalesced, Coalescing};
pub use jittered::{Departures, Jittered};
pub use paced::{Paced, PacedConfig};
pub use pacer::PacerConfig;
pub use queued::Queued;
