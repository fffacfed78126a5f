//! Progress of a transfer.

use super::error::Error;
use super::message::{Code, ReceivedBytes};
use std::net::SocketAddr;
use std::time::Duration;

/// Shortest time between two progress events.
pub(super) const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Progress of a transfer at one moment.
/// If there are several receivers, `received` is the progress of the slowest receiver that has not finished.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// Size of all slabs in bytes, for manifest and contents. `None` if it is not known.
    pub total: Option<u64>,
    /// Number of bytes that the receiver has verified.
    pub received: ReceivedBytes,
    /// Number of bytes of symbols that this end has sent, for slabs that have arrived.
    pub sent: u64,
    /// Number of bytes of repair symbols, which are needed because of losses. `sent` includes them.
    pub repair: u64,
    /// Number of symbols that receivers have reported as arrived or lost.
    pub settled: u64,
    /// Number of symbols that receivers have reported as lost. `settled` includes them.
    pub lost: u64,
    /// Number of receivers that have not finished.
    pub receivers: usize,
    /// Address of the receiver with the fewest verified bytes. `None` if there is only one receiver.
    pub slowest: Option<SocketAddr>,
}

impl Progress {
    /// Returns the number of verified bytes, without bytes that were kept from an earlier transfer.
    pub fn moved(&self) -> u64 {
        self.received.verified - self.received.kept
    }
}

/// Event during a transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The transfer has made progress. This event occurs at most ten times per second.
    Progress(Progress),
    /// The end with this address takes part in the transfer.
    Joined(SocketAddr),
    /// The process of the end with this address has restarted. The transfer goes on with its new process.
    Restarted(SocketAddr),
    /// The address of an end has changed from the first address to the second one. The transfer goes on.
    Moved(SocketAddr, SocketAddr),
    /// The offer waits at the receiver with this address, for the reason in the text.
    Waiting(SocketAddr, String),
    /// The receiver with this address does not receive from the multicast group. It gets separate datagrams.
    Deaf(SocketAddr),
    /// The end with this address has failed. The transfer continues without it.
    Left {
        /// Address of the end.
        peer: SocketAddr,
        /// Category of the reason.
        code: Code,
        /// Reason as text.
        why: String,
    },
}

impl Event {
    /// Returns the event that an end has failed.
    pub(super) fn left(peer: SocketAddr, error: &Error) -> Self {
        let (code, why) = (error.code(), error.to_string());
        Self::Left { peer, code, why }
    }
}
