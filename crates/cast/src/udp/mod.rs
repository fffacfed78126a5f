//! UDP sockets as SCDP needs them: batches of datagrams with the whole TOS byte, the kernel's time
//! stamps, its count of datagrams that it had no room for, and segmentation offload both ways.
//!
//! - [`Socket`]: a bound socket and its options; multicast.
//! - [`Inbox`] and [`Socket::receive`]: what arrives, many datagrams a call.
//! - [`Outgoing`] and [`Socket::send`]: what leaves, many datagrams a call, gathered from where
//!   their bytes are.
//! - [`Datagrams`]: both calls as a trait, so that a driver runs over memory too.
//!
//! What this module does *not* do: it knows no header and no session.
//!
//! Linux only. `quinn-udp` 0.6 is not used: it sets the six bits of DSCP to zero on sending, does
//! not tell them on receiving, and does not tell of datagrams that the kernel dropped.

mod batch;
mod class;
mod control;
mod inbox;
mod message;
mod name;
mod refusals;
mod socket;

pub use class::TrafficClass;
pub use control::{Ancillary, parse};
pub use inbox::{Inbox, Port};
pub use message::{Datagrams, Incoming, MOST_BYTES, MOST_SEGMENTS, Outgoing};
pub use refusals::{Cause, Refusal};
pub use socket::{Multicast, Socket, SocketOptions};
