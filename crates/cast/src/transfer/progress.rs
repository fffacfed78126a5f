//! Progress of a transfer.

use super::message::ReceivedBytes;
use std::net::SocketAddr;
use std::time::Duration;

/// Interval between two progress events.
pub(super) const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Progress of a transfer at one moment. With several receivers, `received` belongs to the slowest
/// receiver that has not finished.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// Bytes of all slabs, both of contents and of the manifest, if known.
    pub total: Option<u64>,
    /// Verified bytes at the receiver.
    pub received: ReceivedBytes,
    /// Bytes of symbols that this end has sent for slabs that have arrived.
    pub sent: u64,
    /// Bytes of repair symbols, included in `sent`. They are the cost of losses.
    pub repair: u64,
    /// Symbols that receivers have reported as arrived or lost.
    pub settled: u64,
    /// Symbols that receivers have reported as lost. They are included in `settled`.
    pub lost: u64,
    /// Receivers that have not finished.
    pub receivers: usize,
    /// Receiver with the fewest verified bytes, if there are several receivers.
    pub slowest: Option<SocketAddr>,
}

impl Progress {
    /// Returns the verified bytes of this transfer, without bytes kept from an earlier one.
    pub fn moved(&self) -> u64 {
        self.received.verified - self.received.kept
    }
}

/// Event during a transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Progress. This event occurs at most ten times a second.
    Progress(Progress),
    /// The other end takes part in the transfer.
    Joined(SocketAddr),
    /// A receiver does not receive from the multicast group. It gets separate datagrams.
    Deaf(SocketAddr),
    /// The other end has failed. The event has the reason as text. The transfer goes on without this end.
    Left(SocketAddr, String),
}
