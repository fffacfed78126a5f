//! Links that are slow or down, from the start or for a while.

use super::node::Node;
use crate::links::LossRate;
use tailcut_units::{Duration, Rate, Time};

/// What is wrong with a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// It carries nothing: what is sent into it is lost.
    Down,
    /// It carries less than it should, in both directions.
    Slow(Rate),
    /// It loses packets at random, in each direction on its own.
    Lossy(LossRate),
}

/// Trouble on all links between two nodes, in both directions.
///
/// A link under several troubles is down if one of them says so, and else as slow as the slowest and as
/// lossy as the one that loses most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkFault {
    /// One end.
    pub a: Node,
    /// The other.
    pub b: Node,
    /// What is wrong.
    pub trouble: Trouble,
    /// Since when.
    pub from: Time,
    /// Until when; [`Time::MAX`] for ever.
    pub until: Time,
    /// How long routing takes to notice that the link is down, or up again: until then switches send
    /// into it, or not yet. A link that is down from the start is known to be.
    pub reconvergence: Duration,
}

impl LinkFault {
    /// Whether the link is in trouble at `now`.
    pub fn is_on(&self, now: Time) -> bool {
        self.from <= now && now < self.until
    }

    /// From when and until when routing avoids the link; `None` for one that is not down.
    pub fn avoided(&self) -> Option<(Time, Time)> {
        let noticed = |at: Time| at.saturating_add(self.reconvergence);
        let from = match self.from {
            Time::ZERO => Time::ZERO,
            at => noticed(at),
        };
        (self.trouble == Trouble::Down).then(|| (from, noticed(self.until)))
    }

    /// Whether a link is one of those in trouble.
    pub fn is_about(&self, from: Node, to: Node) -> bool {
        (from, to) == (self.a, self.b) || (from, to) == (self.b, self.a)
    }
}
