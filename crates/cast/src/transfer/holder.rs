//! Holder: an end that has the requested data.

use super::channel::LastHeard;
use super::message::Offer;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Limit for the time of a slab. A holder that needs more time gets fewer requests ahead. A holder that
/// needs less time gets more.
const LONG: Duration = Duration::from_secs(1);
/// Number of slabs that are requested ahead from a new holder. With one slab, the network would be idle
/// between the end of a slab and the next request.
pub(super) const FEWEST: usize = 2;

/// Slab that was requested from a holder.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlabRequest {
    pub(super) slab: u32,
    pub(super) since: Instant,
}

/// Sender or replica, and the slabs that were requested from it.
#[derive(Debug)]
pub(super) struct Holder {
    pub(super) address: SocketAddr,
    pub(super) offer: Offer,
    /// Requested slabs, oldest first.
    pub(super) requests: Vec<SlabRequest>,
    /// Requested slabs whose request is not sent yet.
    pub(super) unsent: Vec<u32>,
    /// Number of slabs that may be requested ahead.
    ahead: usize,
    /// Time that the last slab needed. It begins with the slab's request, or with the previous slab if that
    /// arrived later.
    took: Option<Duration>,
    delivered_at: Option<Instant>,
    pub(super) last_heard: LastHeard,
}

impl Holder {
    pub(super) fn new(address: SocketAddr, offer: Offer) -> Self {
        Self {
            address,
            offer,
            requests: Vec::new(),
            unsent: Vec::new(),
            ahead: FEWEST,
            took: None,
            delivered_at: None,
            last_heard: LastHeard::now(),
        }
    }

    /// Adds a slab to the requests. `Fetch::send_requests` sends them.
    pub(super) fn request(&mut self, slab: u32) {
        let since = Instant::now();
        self.requests.push(SlabRequest { slab, since });
        self.unsent.push(slab);
    }

    /// Returns whether a slab was requested and has not arrived.
    pub(super) fn has_requested(&self, slab: u32) -> bool {
        self.requests.iter().any(|request| request.slab == slab)
    }

    /// Cancels requests except the slabs that `keep` selects. Returns whether any request was
    /// cancelled.
    pub(super) fn retain(&mut self, keep: impl Fn(u32) -> bool) -> bool {
        let before = self.requests.len();
        self.requests.retain(|request| keep(request.slab));
        self.unsent.retain(|slab| keep(*slab));
        self.requests.len() < before
    }

    /// Handles a requested slab that arrives. After a fast slab, the number of slabs that may be requested
    /// ahead grows by one, up to `most`. After a slow slab, the number is halved. So a slow holder has only
    /// a few requests at the end of the transfer or when it leaves.
    pub(super) fn on_slab(&mut self, slab: u32, most: usize) {
        let Some(request) = self.requests.iter().find(|request| request.slab == slab) else {
            return;
        };
        // A holder sends its slabs one after another, so the time of a slab begins after the previous one.
        let since = self
            .delivered_at
            .map_or(request.since, |at| at.max(request.since));
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
        self.requests.len() < self.ahead.min(most)
    }

    /// Returns whether this holder is nearly idle, and fast enough to take over a request. `since` is the
    /// time when another holder got the request. In the time since then, this holder would have sent three
    /// slabs. With a smaller factor, holders of nearly the same speed would send the same slabs.
    pub(super) fn can_overtake(&self, since: Instant) -> bool {
        match self.requests.len() {
            0 => true,
            1 => self.took.is_some_and(|took| since.elapsed() > took * 3),
            _ => false,
        }
    }

    /// Returns whether the holder has been silent for a while.
    pub(super) fn is_quiet(&self) -> bool {
        self.last_heard.is_older_than(LONG)
    }
}
