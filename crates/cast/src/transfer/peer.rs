//! State of one receiver, which the sender of a transfer stores.

use super::channel::{LastHeard, Post};
use super::error::Error;
use super::message::ReceivedBytes;
use crate::driver::Route;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// Largest number of restarts of a receiver's process without more verified bytes.
/// The transfer itself may cause the restarts, so it must end at some time.
const MOST_RESTARTS: u32 = 10;

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
    /// Address of the receiver, and the address of this host that it uses.
    pub(super) route: Route,
    /// Session number that messages from the receiver have.
    pub(super) number: u64,
    /// Session number that messages to the receiver must have.
    pub(super) theirs: u64,
    /// Number of the receiver's process. `None` until the receiver has answered.
    pub(super) process: Option<u64>,
    pub(super) stage: Stage,
    /// Requested slabs that are not read yet.
    pub(super) wants: BTreeSet<u32>,
    /// Slabs below this number were either requested, or the receiver does not need them.
    pub(super) below: u32,
    pub(super) received: ReceivedBytes,
    pub(super) last_heard: LastHeard,
    /// Number of restarts of the receiver's process since it has last verified more bytes.
    restarts: u32,
    /// Largest number of bytes that the receiver has verified before a restart.
    furthest: u64,
}

impl Peer {
    pub(super) fn new(route: Route, number: u64) -> Self {
        Self {
            route,
            number,
            theirs: 0,
            process: None,
            stage: Stage::Offered,
            wants: BTreeSet::new(),
            below: 0,
            received: ReceivedBytes::default(),
            last_heard: LastHeard::now(),
            restarts: 0,
            furthest: 0,
        }
    }

    /// Prepares the peer for a new offer, because the process of the receiver has restarted.
    /// `number` is the new session number.
    /// Returns `false` if the process has restarted too often without verifying more bytes.
    pub(super) fn restart(&mut self, number: u64) -> bool {
        if self.received.verified > self.furthest {
            self.furthest = self.received.verified;
            self.restarts = 0;
        }
        self.restarts += 1;
        *self = Self {
            restarts: self.restarts,
            furthest: self.furthest,
            ..Self::new(self.route, number)
        };
        self.restarts <= MOST_RESTARTS
    }

    /// Returns whether the receiver has answered, possibly by an earlier process.
    pub(super) fn has_answered(&self) -> bool {
        self.restarts > 0 || !matches!(self.stage, Stage::Offered)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.route.to
    }

    /// Returns whether this receiver has sent a message. Its address may have changed.
    /// But the number is a secret of both ends, and the number of the process is the same.
    pub(super) fn is_sender_of(&self, post: &Post) -> bool {
        let is_same = self.address() == post.from.to || self.process == Some(post.process);
        post.to == self.number && is_same
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
