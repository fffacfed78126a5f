//! What a receiver knows of one end that has what it wants.

use super::line::Heard;
use super::message::Offer;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// A holder that takes longer than that for a slab is asked for less ahead, and one that takes less for more.
const LONG: Duration = Duration::from_secs(1);
/// Slabs that a holder is asked for ahead, at least and to begin with.
pub(super) const FEWEST: usize = 2;

/// A slab that a holder was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) slab: u32,
    pub(super) since: Instant,
}

/// A sender or a replica, and the slabs that it was asked for.
#[derive(Debug)]
pub(super) struct Holder {
    pub(super) address: SocketAddr,
    pub(super) offer: Offer,
    /// Slabs that it was asked for, the oldest first.
    pub(super) asked: Vec<Asked>,
    /// Those of which it has not been told yet.
    pub(super) untold: Vec<u32>,
    /// Slabs that it may owe at once.
    ahead: usize,
    /// How long it has taken for the last slab, from the one before or from when it was asked for.
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

    /// It is asked for a slab.
    pub(super) fn ask(&mut self, slab: u32) {
        let since = Instant::now();
        self.asked.push(Asked { slab, since });
        self.untold.push(slab);
    }

    /// Whether it owes a slab.
    pub(super) fn owes(&self, slab: u32) -> bool {
        self.asked.iter().any(|asked| asked.slab == slab)
    }

    /// It owes only those of its slabs that `keep` says. Says whether it owed others.
    pub(super) fn retain(&mut self, keep: impl Fn(u32) -> bool) -> bool {
        let before = self.asked.len();
        self.asked.retain(|asked| keep(asked.slab));
        self.untold.retain(|slab| keep(*slab));
        self.asked.len() < before
    }

    /// A slab comes that it owes. It may owe one more if that was fast, half as many if it was slow: a
    /// slow one keeps little back then, at the end or when it leaves. At most `most`.
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

    /// Whether it may be asked for one more slab.
    pub(super) fn has_room(&self, most: usize) -> bool {
        self.asked.len() < self.ahead.min(most)
    }

    /// Whether it is as good as idle, and others, asked at `since`, are late by its own measure: it would
    /// have sent three slabs meanwhile.
    pub(super) fn can_overtake(&self, since: Instant) -> bool {
        match self.asked.len() {
            0 => true,
            1 => self.took.is_some_and(|took| since.elapsed() > took * 3),
            _ => false,
        }
    }

    /// Whether it has said nothing for a while.
    pub(super) fn is_quiet(&self) -> bool {
        self.heard.is_older_than(LONG)
    }
}
