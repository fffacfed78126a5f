//! Operations on the state of a download between two steps.

use super::super::channel::Post;
use super::super::holder::{FEWEST, Holder, Unheard};
use super::super::message::Message;
use super::super::moves::Moves;
use super::super::proof::Proof;
use super::State;
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

impl State {
    /// Creates a transfer. `holders` have answered the request of this end.
    /// The replicas in `unheard` got the request too, but have not answered yet.
    /// `root` is the expected root, if it is known.
    pub fn new(mine: u64, holders: Vec<Holder>, root: Option<Hash>, unheard: Vec<Unheard>) -> Self {
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
    pub fn owns(&self, post: &Post) -> bool {
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
    pub fn has(&self, address: SocketAddr) -> bool {
        self.at(address).is_some()
    }

    pub(super) fn at(&self, address: SocketAddr) -> Option<usize> {
        self.holders.iter().position(|one| one.address() == address)
    }

    /// Returns the size of all slabs that are requested and have not arrived, in bytes.
    pub fn requested(&self) -> u64 {
        let open = |one: &Holder| (one.requests.len() as u64) << one.offer.slab_log2;
        self.holders.iter().map(open).sum()
    }

    /// Returns the size of a slab in bytes.
    pub fn slab(&self) -> u64 {
        let holder = self.holders.first();
        holder.map_or(0, |holder| 1 << holder.offer.slab_log2)
    }

    /// Returns the time of the last progress.
    pub fn progress_at(&self) -> Instant {
        self.progress_at
    }

    /// Limits the number of slabs that are requested ahead. With 0, no further slab is requested.
    pub fn limit(&mut self, ahead: usize) {
        self.ahead = ahead.min(self.most_ahead);
    }

    /// Returns a nearly idle holder, and the slab that it should take over.
    /// The slab is the oldest one that was requested from exactly one other holder and has not arrived.
    pub(super) fn overtaken(&self) -> Option<(usize, u32)> {
        let has_requested = |slab: u32| {
            let holders = self.holders.iter();
            holders.filter(|one| one.has_requested(slab)).count()
        };
        let all = self.holders.iter().enumerate();
        let owed = all.flat_map(|(at, one)| one.requests.iter().map(move |asked| (at, asked)));
        let mut owed: Vec<_> = owed
            .filter(|(_, asked)| has_requested(asked.slab) == 1)
            .collect();
        owed.sort_by_key(|(_, asked)| (asked.since, asked.slab));
        owed.into_iter().find_map(|(of, asked)| {
            let others = self.holders.iter().enumerate();
            let others = others.filter(|(at, _)| *at != of);
            let mut able = others.filter(|(_, one)| one.can_overtake(asked.since));
            able.next().map(|(at, _)| (at, asked.slab))
        })
    }
}
