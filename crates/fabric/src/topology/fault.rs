//! Links that are slow, down or lossy, during the whole run or a part of it.

use super::graph::Link;
use super::node::Node;
use crate::links::LossRate;
use tailcut_units::{Duration, Rate, Time};

/// Fault of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The link carries nothing: packets on it are lost.
    Down,
    /// The link has a lower rate in both directions.
    Slow(Rate),
    /// The link loses packets at random, independently in each direction.
    Lossy(LossRate),
}

/// Fault of all links between two nodes, or of one of them, in both directions.
///
/// If a link has several faults, it is down if one of them is `Down`. Otherwise it has the lowest rate and
/// the highest loss of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkFault {
    /// First end.
    pub a: Node,
    /// Second end.
    pub b: Node,
    /// Number of the link among the links between the two ends ([`Link::number`]). `None` for all of them.
    pub number: Option<u32>,
    /// Kind of the fault.
    pub trouble: Trouble,
    /// Start of the fault.
    pub from: Time,
    /// End of the fault; [`Time::MAX`] for no end.
    pub until: Time,
    /// Time until routing notices that the link is down, or up again. Until then switches still send into it,
    /// or do not yet use it. Routing knows a link that is down from the start.
    pub reconvergence: Duration,
}

impl LinkFault {
    /// Returns whether the fault is active at `now`.
    pub fn is_on(&self, now: Time) -> bool {
        self.from <= now && now < self.until
    }

    /// Returns the start and end of the time in which routing avoids the link; `None` for a fault that is not
    /// `Down`.
    pub fn avoided(&self) -> Option<(Time, Time)> {
        let noticed = |at: Time| at.saturating_add(self.reconvergence);
        let from = match self.from {
            // No detection is needed: routing knows a link that is down from the start.
            Time::ZERO => Time::ZERO,
            at => noticed(at),
        };
        (self.trouble == Trouble::Down).then(|| (from, noticed(self.until)))
    }

    /// Returns whether the fault affects a link.
    pub fn is_about(&self, link: &Link) -> bool {
        let ends = (link.from, link.to);
        let is_between = ends == (self.a, self.b) || ends == (self.b, self.a);
        is_between
            && self
                .number
                .is_none_or(|number| number == link.number.unwrap_or(0))
    }
}
