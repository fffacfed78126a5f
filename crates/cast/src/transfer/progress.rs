//! How far a transfer is.

use super::message::Standing;
use std::net::SocketAddr;
use std::time::Duration;

/// Between two looks at how far a transfer is.
pub(super) const TOLD_EVERY: Duration = Duration::from_millis(100);

/// A moment of a transfer. A sender to several tells of the slowest that still receives.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// Bytes of all slabs, if they are known: contents and manifest.
    pub total: Option<u64>,
    /// What is verified at the receiver.
    pub standing: Standing,
    /// Bytes of symbols that this end has sent for slabs that have arrived.
    pub sent: u64,
    /// Bytes of those that were repair symbols: what losses have cost.
    pub repair: u64,
    /// Symbols that receivers say have arrived or are lost.
    pub settled: u64,
    /// Of them, those that are lost.
    pub lost: u64,
    /// Receivers that still receive.
    pub receivers: usize,
    /// The receiver that has least, of several.
    pub slowest: Option<SocketAddr>,
}

impl Progress {
    /// Bytes that this transfer has moved: those that were there before do not count.
    pub fn moved(&self) -> u64 {
        self.standing.verified - self.standing.kept
    }
}

/// What happens during a transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// How far it is; several times a second at most.
    Progress(Progress),
    /// The other end takes part.
    Joined(SocketAddr),
    /// A receiver does not hear the multicast group: it is sent a copy of its own.
    Deaf(SocketAddr),
    /// The other end has failed, in words, while the transfer goes on without it.
    Left(SocketAddr, String),
}
