//! State of a receiver, as the sender stores it.

use super::channel::LastHeard;
use super::error::Error;
use super::message::ReceivedBytes;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// State of the protocol with a receiver.
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

/// Receiver of a transfer.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// Session number in messages from the receiver.
    pub(super) number: u64,
    /// Session number in messages to the receiver.
    pub(super) theirs: u64,
    pub(super) stage: Stage,
    /// Requested slabs that have not been read yet.
    pub(super) wants: BTreeSet<u32>,
    /// The receiver has requested all slabs below this number that it needs.
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

    /// Returns whether the receiver has either requested a slab already or will never request it.
    pub(super) fn has_decided(&self, slab: u32) -> bool {
        match self.stage {
            Stage::Offered => false,
            Stage::Receiving => self.below > slab,
            Stage::Closing | Stage::Over(_) => true,
        }
    }
}
