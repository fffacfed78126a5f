//! Holder: a sender or replica that has the requested data.

use super::channel::{Channel, LastHeard};
use super::message::{Message, Offer};
use crate::driver::Route;
use crate::files::Hash;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Time limit for one slab. After a slower slab, fewer slabs are requested ahead from the holder.
/// After a faster slab, more slabs are requested ahead.
const LONG: Duration = Duration::from_secs(1);
/// Number of slabs that are requested from a new holder at the same time.
/// With one slab, the network would be idle between the end of the slab and the next request.
pub(super) const FEWEST: usize = 2;

/// Request for a slab from a holder.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlabRequest {
    pub(super) slab: u32,
    pub(super) since: Instant,
}

/// Sender or replica that has the data, with the slabs that were requested from it.
#[derive(Debug)]
pub(super) struct Holder {
    pub(super) route: Route,
    /// Number of the holder's process.
    pub(super) process: u64,
    pub(super) offer: Offer,
    /// Slabs that were requested and have not arrived, oldest first.
    pub(super) requests: Vec<SlabRequest>,
    /// Slabs whose request must still be sent.
    pub(super) unsent: Vec<u32>,
    /// Number of slabs that may be requested from this holder at the same time.
    ahead: usize,
    /// Time that the last slab needed.
    /// The time starts with the request of the slab, or with the arrival of the previous slab, whichever is later.
    took: Option<Duration>,
    delivered_at: Option<Instant>,
    pub(super) last_heard: LastHeard,
}

impl Holder {
    pub(super) fn new(route: Route, process: u64, offer: Offer) -> Self {
        Self {
            route,
            process,
            offer,
            requests: Vec::new(),
            unsent: Vec::new(),
            ahead: FEWEST,
            took: None,
            delivered_at: None,
            last_heard: LastHeard::now(),
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.route.to
    }

    /// Adds a request for a slab. `Fetch::send_requests` sends the request.
    pub(super) fn request(&mut self, slab: u32) {
        let since = Instant::now();
        self.requests.push(SlabRequest { slab, since });
        self.unsent.push(slab);
    }

    /// Returns whether a slab was requested from this holder and has not arrived.
    pub(super) fn has_requested(&self, slab: u32) -> bool {
        self.requests.iter().any(|request| request.slab == slab)
    }

    /// Keeps only the requests for slabs that `keep` selects. Returns whether any request was cancelled.
    pub(super) fn retain(&mut self, keep: impl Fn(u32) -> bool) -> bool {
        let before = self.requests.len();
        self.requests.retain(|request| keep(request.slab));
        self.unsent.retain(|slab| keep(*slab));
        self.requests.len() < before
    }

    /// Handles the arrival of a requested slab. After a fast slab, one more slab may be requested ahead, up to `most`.
    /// After a slow slab, the number is halved.
    /// So a slow holder has only a few requests when it leaves or when the transfer ends.
    pub(super) fn on_slab(&mut self, slab: u32, most: usize) {
        let Some(request) = self.requests.iter().find(|request| request.slab == slab) else {
            return;
        };
        // A holder sends one slab after another. So the time of a slab starts when the previous slab has arrived.
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

    /// Returns whether one more slab may be requested from this holder.
    pub(super) fn has_room(&self, most: usize) -> bool {
        self.requests.len() < self.ahead.min(most)
    }

    /// Returns whether this holder may take over a request of another holder. `since` is the time of that request.
    /// This holder must be idle. Or it has one open request, and could have sent three slabs since that request.
    /// With fewer slabs than three, holders of nearly the same speed would send the same slabs.
    pub(super) fn can_overtake(&self, since: Instant) -> bool {
        match self.requests.len() {
            0 => true,
            1 => self.took.is_some_and(|took| since.elapsed() > took * 3),
            _ => false,
        }
    }

    /// Returns whether no message of the holder has arrived for [`LONG`].
    pub(super) fn is_quiet(&self) -> bool {
        self.last_heard.is_older_than(LONG)
    }
}

/// Replica that got the request for the data and has not answered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unheard {
    pub(super) address: SocketAddr,
    /// Time of the last request.
    asked: LastHeard,
}

impl Unheard {
    /// Creates the entry of a replica that has just got the request.
    pub(super) fn now(address: SocketAddr) -> Self {
        let asked = LastHeard::now();
        Self { address, asked }
    }

    /// Sends the request again if the replica is silent. A process that got it may have restarted before its answer.
    /// A replica that knows the request ignores it.
    pub(super) fn ask_again(&mut self, channel: &mut Channel<'_>, mine: u64, root: Hash) {
        if self.asked.is_silent() && !channel.is_sending_to(self.address) {
            channel.send(self.address, 0, &Message::Get(mine, root));
            self.asked = LastHeard::now();
        }
    }
}
