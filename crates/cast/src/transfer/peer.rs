//! State of one receiver, which the sender of a transfer stores.

use super::channel::LastHeard;
use super::error::Error;
use super::message::ReceivedBytes;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// Stage of the transfer to one receiver.
#[derive(Debug)]
pub(super) enum Stage {
    /// The transfer was offered to the receiver.
    Offered,
    /// The receiver requests slabs.
    Receiving,
    /// The receiver has requested the root.
    Closing,
    /// The transfer to the receiver has ended.
    Over(Result<(), Error>),
}

/// State of one receiver of a transfer.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// Session number that messages from the receiver have.
    pub(super) number: u64,
    /// Session number that messages to the receiver must have.
    pub(super) theirs: u64,
    pub(super) stage: Stage,
    /// Requested slabs that are not read yet.
    pub(super) wants: BTreeSet<u32>,
    /// Slabs below this number were either requested, or the receiver does not need them.
    pub(super) below: u32,
    pub(super) received: ReceivedBytes,
    pub(super) last_heard: LastHeard,
}

impl Peer {
    pub(super) fn new(address: SocketAddr, number: u64) -> Self {
        Self {
            address,
            number,
            theirs: 0,
            stage: Stage::Offered,
            wants: BTreeSet::new(),
            below: 0,
            received: ReceivedBytes::default(),
            last_heard: LastHeard::now(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over(_))
    }

    /// Returns whether the receiver has decided about a slab: it has requested the slab, or it will never request it.
    pub(super) fn has_decided(&self, slab: u32) -> bool {
        match self.stage {
            Stage::Offered => false,
            Stage::Receiving => self.below > slab,
            Stage::Closing | Stage::Over(_) => true,
        }
    }
}
