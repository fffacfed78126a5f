//! What becomes of objects.

use super::room::Held;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use tailcut_transport::FlowStats;

/// An object that has arrived. It counts as held memory until it is dropped or taken apart.
#[derive(Debug)]
pub struct Received {
    /// Who sent it.
    pub from: SocketAddr,
    /// The object.
    pub bytes: Vec<u8>,
    pub(super) held: Held,
}

impl Received {
    /// The object's bytes, which count as held no longer.
    pub fn into_bytes(self) -> Vec<u8> {
        drop(self.held);
        self.bytes
    }
}

/// What it took to send an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Bytes of symbols that were sent, repair symbols among them.
    pub bytes: u64,
    /// Repair symbols that were sent.
    pub repair: u32,
    /// Bytes of these.
    pub repair_bytes: u64,
    /// How often nothing was heard for too long.
    pub timeouts: u32,
    /// Receivers that have not got it, of several: they were left out, or have refused it.
    pub missed: usize,
}

impl Sent {
    /// Of an object whose symbols have `symbol` bytes.
    pub(super) fn new(stats: &FlowStats, missed: usize, symbol: u32) -> Self {
        Self {
            bytes: stats.payload_sent,
            repair: stats.retransmissions,
            repair_bytes: u64::from(stats.retransmissions) * u64::from(symbol),
            timeouts: stats.timeouts,
            missed,
        }
    }
}

/// Why an object was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Nothing was heard of the receiver for too long.
    NoAnswer,
    /// It was cancelled.
    Cancelled,
    /// The receiver has no room for it, and had none for long.
    Busy,
    /// It is longer than the receiver takes.
    TooLarge,
    /// The receiver does not want it.
    Refused,
    /// The path to the receiver takes smaller datagrams only, and the size is fixed: others send shares of
    /// the object, or have received it.
    TooWide,
    /// It cannot be sent like this: to no receiver, in more blocks than can be numbered, or as a share in
    /// the paper's mode.
    Unfit,
    /// The endpoint was closed.
    Closed,
    /// The socket failed.
    Socket(io::ErrorKind),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer => f.write_str("the receiver does not answer"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Busy => f.write_str("the receiver has no room for it"),
            Self::TooLarge => f.write_str("it is longer than the receiver takes"),
            Self::Refused => f.write_str("the receiver does not want it"),
            Self::TooWide => f.write_str(
                "the path to the receiver takes smaller datagrams only, and other ends have the object \
                 in larger ones",
            ),
            Self::Unfit => f.write_str(
                "it cannot be sent like this: allowed are 1 or more receivers, up to 2^32 blocks, and \
                 shares under credits only",
            ),
            Self::Closed => f.write_str("the endpoint is closed"),
            Self::Socket(kind) => write!(f, "the socket failed: {kind}"),
        }
    }
}

impl std::error::Error for Failure {}
