//! State of one end that has the requested data.

use super::line::Heard;
use super::message::Offer;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Limit for the time of a slab. A slower holder gets fewer requests ahead, a faster one gets more.
const LONG: Duration = Duration::from_secs(1);
/// Slabs that are requested ahead from a holder at first.
pub(super) const FEWEST: usize = 2;

/// Slab that was requested from a holder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) slab: u32,
    pub(super) since: Instant,
}

/// A sender or a replica, with the slabs that were requested from it.
#[derive(Debug)]
pub(super) struct Holder {
    pub(super) address: SocketAddr,
    pub(super) offer: Offer,
    /// Requested slabs, oldest first.
    pub(super) asked: Vec<Asked>,
    /// Requested slabs whose request is not sent yet.
    pub(super) untold: Vec<u32>,
    /// Slabs that may be requested ahead.
    ahead: usize,
    /// Time that the last slab needed, from the slab before it or from its request.
    took: Option<Duration>,
    delivered_at: Option<Instant>,
    pub(super) heard: Heard,
}

impl Holder {
    pub(super) fn new(address: SocketAddr, offer: Offer) -> Self {
        Self {
            address,
            offer,
            asked: Vec::new(),
            untold: Vec::new(),
            ahead: FEWEST,
            took: None,
            delivered_at: None,
            heard: Heard::now(),
        }
    }

    /// Requests a slab.
    pub(super) fn ask(&mut self, slab: u32) {
        let since = Instant::now();
        self.asked.push(Asked { slab, since });
        self.untold.push(slab);
    }

    /// Returns whether a requested slab is missing.
    pub(super) fn owes(&self, slab: u32) -> bool {
        self.asked.iter().any(|asked| asked.slab == slab)
    }

    /// Cancels requests except the slabs that `keep` selects. Returns whether any request was
    /// cancelled.
    pub(super) fn retain(&mut self, keep: impl Fn(u32) -> bool) -> bool {
        let before = self.asked.len();
        self.asked.retain(|asked| keep(asked.slab));
        self.untold.retain(|slab| keep(*slab));
        self.asked.len() < before
    }

    /// Handles a requested slab that arrives. After a fast slab, one more slab may be requested
    /// ahead, `most` at most. After a slow one, the number is halved. So a slow holder has few
    /// requests left at the end of the transfer or when it leaves.
    pub(super) fn on_slab(&mut self, slab: u32, most: usize) {
        let Some(asked) = self.asked.iter().find(|asked| asked.slab == slab) else {
            return;
        };
        let since = self
            .delivered_at
            .map_or(asked.since, |at| at.max(asked.since));
        let took = since.elapsed();
        self.took = Some(took);
        self.delivered_at = Some(Instant::now());
        self.ahead = match took < LONG {
            true => (self.ahead + 1).min(most),
            false => (self.ahead / 2).max(1),
        };
    }

    /// Returns whether a further slab may be requested.
    pub(super) fn has_room(&self, most: usize) -> bool {
        self.asked.len() < self.ahead.min(most)
    }

    /// Returns whether this holder is nearly idle and would have sent three slabs since `since`,
    /// the time of a request to another holder.
    pub(super) fn can_overtake(&self, since: Instant) -> bool {
        match self.asked.len() {
            0 => true,
            1 => self.took.is_some_and(|took| since.elapsed() > took * 3),
            _ => false,
        }
    }

    /// Returns whether the holder has been silent for a while.
    pub(super) fn is_quiet(&self) -> bool {
        self.heard.is_older_than(LONG)
    }
}
