//! State of a download between two steps: its holders, and the slabs that are requested.

use super::super::channel::Post;
use super::super::error::Error;
use super::super::holder::{FEWEST, Holder, Unheard};
use super::super::message::Message;
use super::super::moves::Moves;
use super::super::progress::Progress;
use super::super::proof::Proof;
use crate::files::{Hash, Pool};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

/// Number of bytes that are requested ahead from all holders together.
/// The number is half of the default memory limit of an endpoint.
const AHEAD: u64 = 32 << 20;
/// Largest number of slabs that are requested ahead from one holder.
/// With more requests, a holder that becomes slow or leaves would delay more slabs.
const MOST: u64 = 16;

/// State of a transfer into a sink.
pub(in super::super) struct State {
    /// Session number that messages to this end have.
    pub(super) mine: u64,
    pub(super) holders: Vec<Holder>,
    /// Replicas that have not answered the request yet. They may answer later and become holders.
    pub(super) unheard: Vec<Unheard>,
    /// Number of times that each replica has forgotten the transfer since its last slab.
    pub(super) restarts: HashMap<SocketAddr, u32>,
    /// Errors of the holders that have left.
    pub(super) gone: Vec<Error>,
    /// Addresses of the holders that have left and of the replicas that never answered.
    pub(super) left: Vec<SocketAddr>,
    /// Root that the data must have. `None`: there is only one sender, and it sends the root at the end.
    pub(super) root: Option<Hash>,
    /// Hashes of the slabs. With the root, they prove that the slabs are right. `None`: there is only one sender.
    pub(super) proof: Option<Proof>,
    /// Number of slabs that may be requested ahead from one holder at this moment.
    pub(super) ahead: usize,
    /// Largest value of `ahead`.
    most_ahead: usize,
    /// Time before which nothing is requested, because the files of the transfer are in use.
    pub(super) retry_at: Option<Instant>,
    /// Whether the sender knows that the files of the transfer are in use.
    pub(super) has_told_wait: bool,
    /// Slabs that must be requested again, because their holder has left.
    pub(super) again: VecDeque<u32>,
    /// Slabs below this number have arrived, were kept from an earlier transfer, or are requested.
    pub(super) below: u32,
    /// Whether the sink needs a requested slab before it returns further slabs to request.
    pub(super) is_waiting: bool,
    /// Whether the sink has no further slab to request.
    pub(super) is_ended: bool,
    /// Whether all slabs have arrived, and only the end of the transfer is missing.
    pub(super) is_closing: bool,
    /// Number of slabs with a wrong hash. The count is set to 0 when a holder is given up because of such slabs.
    pub(super) mismatches: u32,
    pub(super) pool: Pool,
    /// Whether `below` or the number of verified bytes has changed since the last report to the holders.
    pub(super) is_news: bool,
    /// Progress that the last event has reported.
    pub(super) reported: Option<Progress>,
    pub(super) reported_at: Instant,
    /// Time of the last slab that was verified.
    pub(super) progress_at: Instant,
    /// Addresses from which holders have sent, and which are not validated.
    pub(super) moves: Moves,
}

impl State {
    /// Creates a transfer. `holders` have answered the request of this end.
    /// The replicas in `unheard` got the request too, but have not answered yet.
    /// `root` is the expected root, if it is known.
    pub(in super::super) fn new(
        mine: u64,
        holders: Vec<Holder>,
        root: Option<Hash>,
        unheard: Vec<Unheard>,
    ) -> Self {
        let most = (holders.len() + unheard.len()) as u64;
        let slab_log2 = holders.first().map_or(24, |holder| holder.offer.slab_log2);
        // All replicas may still answer. So the limit in bytes is divided by the number of all replicas.
        let ahead = ((AHEAD >> slab_log2) / most.max(1)).clamp(FEWEST as u64, MOST) as usize;
        Self {
            mine,
            holders,
            unheard,
            restarts: HashMap::new(),
            gone: Vec::new(),
            left: Vec::new(),
            root,
            proof: root.map(Proof::new),
            ahead,
            most_ahead: ahead,
            retry_at: None,
            has_told_wait: false,
            again: VecDeque::new(),
            below: 0,
            is_waiting: false,
            is_ended: false,
            is_closing: false,
            mismatches: 0,
            // This thread needs only one buffer at a time.
            // The other buffers contain slabs that a slow pipe has not accepted yet.
            pool: Pool::new(1_024),
            is_news: true,
            reported: None,
            reported_at: Instant::now(),
            progress_at: Instant::now(),
            moves: Moves::default(),
        }
    }

    /// Returns whether a message has the number of this transfer and comes from one of its holders.
    /// All receivers get the same slabs. So slabs have another session number than other messages.
    pub(in super::super) fn owns(&self, post: &Post) -> bool {
        self.holder_of(post).is_some()
    }

    /// Returns the index of the holder that has sent a message. The address of the holder may have changed.
    /// But the number is a secret of both ends, and the number of the process is the same.
    pub(super) fn holder_of(&self, post: &Post) -> Option<usize> {
        let at = self.at(post.from.to);
        let is_its = |holder: &Holder| match post.message {
            // This message does not contain the number of this end, because the other end does not know it.
            Message::Unknown(number) => number == holder.offer.from,
            _ => post.to == self.mine || post.to == holder.offer.slabs,
        };
        let known = at.filter(|at| self.holders.get(*at).is_some_and(is_its));
        let has_number = post.to != 0;
        let moved = |one: &Holder| has_number && one.process == post.process && is_its(one);
        known.or_else(|| self.holders.iter().position(moved))
    }

    /// Returns whether a holder has this address.
    pub(in super::super) fn has(&self, address: SocketAddr) -> bool {
        self.at(address).is_some()
    }

    pub(super) fn at(&self, address: SocketAddr) -> Option<usize> {
        self.holders.iter().position(|one| one.address() == address)
    }

    /// Returns the size of all slabs that are requested and have not arrived, in bytes.
    pub(in super::super) fn requested(&self) -> u64 {
        let open = |one: &Holder| (one.requests.len() as u64) << one.offer.slab_log2;
        self.holders.iter().map(open).sum()
    }

    /// Returns the size of a slab in bytes.
    pub(in super::super) fn slab(&self) -> u64 {
        let holder = self.holders.first();
        holder.map_or(0, |holder| 1 << holder.offer.slab_log2)
    }

    /// Returns the time of the last progress.
    pub(in super::super) fn progress_at(&self) -> Instant {
        self.progress_at
    }

    /// Limits the number of slabs that are requested ahead. With 0, no further slab is requested.
    pub(in super::super) fn limit(&mut self, ahead: usize) {
        self.ahead = ahead.min(self.most_ahead);
    }
}
