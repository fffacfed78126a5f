//! Progress of a transfer.

use super::message::Standing;
use std::net::SocketAddr;
use std::time::Duration;

/// Interval between two progress events.
pub(super) const TOLD_EVERY: Duration = Duration::from_millis(100);

/// Progress of a transfer at one moment. With several receivers, it describes the slowest one that
/// has not finished.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// Bytes of all slabs, contents and manifest, if known.
    pub total: Option<u64>,
    /// Verified bytes at the receiver.
    pub standing: Standing,
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
    /// With several receivers: the one with the fewest verified bytes.
    pub slowest: Option<SocketAddr>,
}

impl Progress {
    /// Returns the verified bytes of this transfer, without bytes kept from an earlier one.
    pub fn moved(&self) -> u64 {
        self.standing.verified - self.standing.kept
    }
}

/// Event during a transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Progress, ten times a second at most.
    Progress(Progress),
    /// The other end takes part in the transfer.
    Joined(SocketAddr),
    /// A receiver does not hear the multicast group. It gets separate datagrams.
    Deaf(SocketAddr),
    /// The other end has failed, with the reason as text. The transfer goes on without it.
    Left(SocketAddr, String),
}
