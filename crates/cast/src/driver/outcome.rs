//! Results of transfers.

use super::buffer_budget::Reservation;
use super::route::Route;
use crate::udp::Cause;
use std::io;
use std::net::{IpAddr, SocketAddr};
use tailcut_transport::FlowStats;

/// Object that has arrived.
/// The object's memory counts towards the endpoint's limit until this value is dropped or converted to bytes.
#[derive(Debug)]
pub struct Received {
    /// Address of the object's sender.
    pub from: SocketAddr,
    /// Address of this host at which the object has arrived. `None`: the socket is bound to one address.
    pub at: Option<IpAddr>,
    /// Bytes of the object.
    pub bytes: Vec<u8>,
    pub(super) reservation: Reservation,
}

impl Received {
    /// Returns the route for answers to the sender.
    pub fn route(&self) -> Route {
        Route {
            to: self.from,
            from: self.at,
        }
    }

    /// Returns the object's bytes. After this call, they do not count towards the endpoint's limit.
    pub fn into_bytes(self) -> Vec<u8> {
        drop(self.reservation);
        self.bytes
    }
}

/// Cost of a completed transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Number of bytes of all symbols that were sent, including repair symbols.
    pub bytes: u64,
    /// Number of repair symbols that were sent.
    pub repair: u32,
    /// Number of bytes of all repair symbols that were sent.
    pub repair_bytes: u64,
    /// Number of timeouts. A timeout occurs if no packet of the receiver arrives for too long.
    pub timeouts: u32,
    /// Number of receivers without the object.
    /// If there are several receivers, one of them may be left out or may refuse the object.
    pub missed: usize,
}

impl Sent {
    /// Creates the result for an object whose symbols have `symbol` bytes.
    pub(super) fn new(stats: &FlowStats, missed: usize, symbol: u32) -> Self {
        Self {
            bytes: stats.payload_sent,
            // SCDP sends no symbol twice, so the transport counts repair symbols in this field.
            // All repair symbols have the full size.
            repair: stats.retransmissions,
            repair_bytes: u64::from(stats.retransmissions) * u64::from(symbol),
            timeouts: stats.timeouts,
            missed,
        }
    }
}

/// Reason why a transfer has failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// No packet of the receiver has arrived for too long.
    #[error("the receiver does not answer")]
    NoAnswer,
    /// The receiver answers, but it does not know the object any more. Its process may have restarted.
    #[error("the receiver has forgotten the object; its process may have restarted")]
    Forgotten,
    /// A host of the path has answered with an ICMP message that the receiver cannot be reached.
    #[error("ICMP: {0}")]
    Undeliverable(Cause),
    /// The application cancelled the transfer.
    #[error("the application cancelled the transfer")]
    Cancelled,
    /// The receiver has no memory for the object, even after repeated offers.
    #[error("the receiver has no room for the object")]
    Busy,
    /// The object is larger than the receiver's limit.
    #[error("the object is longer than the receiver's limit")]
    TooLarge,
    /// The receiver refused the object.
    #[error("the receiver refused the object")]
    Refused,
    /// The path to the receiver carries only smaller datagrams, but the symbol size cannot change.
    /// The reason is that other senders send shares of the object, or that another receiver already has the object.
    #[error(
        "the path to the receiver carries only smaller datagrams, and other hosts use larger \
         ones for the object"
    )]
    TooWide,
    /// The object cannot be sent in this way. It has no receiver, has too many blocks, or is a share in paper mode.
    #[error(
        "the object cannot be sent in this way; allowed: 1 or more receivers, up to 2^32 blocks, \
         shares only with credits"
    )]
    Unfit,
    /// The endpoint was closed.
    #[error("the endpoint is closed")]
    Closed,
    /// The socket failed.
    #[error("the socket failed: {0}")]
    Socket(io::ErrorKind),
}
