//! Results of transfers.

use super::buffer_budget::Reservation;
use std::io;
use std::net::SocketAddr;
use tailcut_transport::FlowStats;

/// Object that has arrived. Its memory counts towards the endpoint's limit until this value is
/// dropped or taken apart.
#[derive(Debug)]
pub struct Received {
    /// Address of the sender.
    pub from: SocketAddr,
    /// Bytes of the object.
    pub bytes: Vec<u8>,
    pub(super) reservation: Reservation,
}

impl Received {
    /// Returns the object's bytes. They do not count towards the endpoint's limit any more.
    pub fn into_bytes(self) -> Vec<u8> {
        drop(self.reservation);
        self.bytes
    }
}

/// Cost of a completed transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Bytes of all symbols sent, including repair symbols.
    pub bytes: u64,
    /// Repair symbols sent.
    pub repair: u32,
    /// Bytes of the repair symbols.
    pub repair_bytes: u64,
    /// Number of timeouts. After a timeout, no packet of the receiver had arrived for too long.
    pub timeouts: u32,
    /// Number of receivers without the object. With several receivers, a receiver may be left out or may
    /// refuse the object.
    pub missed: usize,
}

impl Sent {
    /// Creates the result of an object with symbols of `symbol` bytes.
    pub(super) fn new(stats: &FlowStats, missed: usize, symbol: u32) -> Self {
        Self {
            bytes: stats.payload_sent,
            // SCDP retransmits nothing. The transport counts repair symbols in this field, and each has the
            // full size.
            repair: stats.retransmissions,
            repair_bytes: u64::from(stats.retransmissions) * u64::from(symbol),
            timeouts: stats.timeouts,
            missed,
        }
    }
}

/// Reason why a transfer failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// For too long, no packet of the receiver has arrived.
    #[error("the receiver does not answer")]
    NoAnswer,
    /// The application cancelled the transfer.
    #[error("the application cancelled the transfer")]
    Cancelled,
    /// The receiver had no room for the object, and repeated offers did not help.
    #[error("the receiver has no room for the object")]
    Busy,
    /// The object is longer than the receiver's limit.
    #[error("the object is longer than the receiver's limit")]
    TooLarge,
    /// The receiver refused the object.
    #[error("the receiver refused the object")]
    Refused,
    /// The path to the receiver carries only smaller datagrams, and the size cannot change: other
    /// senders have shares of the object, or another receiver has it already.
    #[error(
        "the path to the receiver carries only smaller datagrams, and other hosts use larger \
         ones for the object"
    )]
    TooWide,
    /// The object cannot be sent in this way: it has no receiver, has too many blocks, or is a
    /// share in paper mode.
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
