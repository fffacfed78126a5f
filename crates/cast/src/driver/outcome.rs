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
    /// How often nothing was heard for too long.
    pub timeouts: u32,
}

impl Sent {
    pub(super) fn new(stats: &FlowStats) -> Self {
        Self {
            bytes: stats.payload_sent,
            repair: stats.retransmissions,
            timeouts: stats.timeouts,
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
    /// There are too many peers.
    Busy,
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
            Self::Busy => f.write_str("too many peers at once; allowed: 4096"),
            Self::Closed => f.write_str("the endpoint is closed"),
            Self::Socket(kind) => write!(f, "the socket failed: {kind}"),
        }
    }
}

impl std::error::Error for Failure {}
