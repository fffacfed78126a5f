//! What a sender knows of one receiver.

use super::error::Error;
use super::line::Heard;
use super::message::Standing;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// How far a receiver is with the protocol.
#[derive(Debug)]
pub(super) enum Stage {
    /// It has been offered the transfer.
    Offered,
    /// It asks for slabs.
    Receiving,
    /// It has asked for the root.
    Closing,
    /// All is over.
    Over(Result<(), Error>),
}

/// A receiver.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// The number that its messages carry.
    pub(super) number: u64,
    /// The number that messages to it carry.
    pub(super) theirs: u64,
    pub(super) stage: Stage,
    /// Slabs that it has asked for and that have not been read yet.
    pub(super) wants: BTreeSet<u32>,
    /// It has asked for all slabs below this one that it needs.
    pub(super) below: u32,
    pub(super) standing: Standing,
    pub(super) heard: Heard,
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
            standing: Standing::default(),
            heard: Heard::now(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over(_))
    }

    /// Whether it has said of a slab whether it needs it.
    pub(super) fn has_decided(&self, slab: u32) -> bool {
        match self.stage {
            Stage::Offered => false,
            Stage::Receiving => self.below > slab,
            Stage::Closing | Stage::Over(_) => true,
        }
    }
}
