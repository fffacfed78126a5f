//! Faults of links. A link can be slow, down or lossy, during the whole run or a part of it.

use super::graph::Link;
use super::node::Node;
use crate::links::LossRate;
use tailcut_units::{Duration, Rate, Time};

/// Kind of a link's fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The link delivers nothing. Packets on the link are lost.
    Down,
    /// The link has this lower rate in both directions.
    Slow(Rate),
    /// The link loses this share of packets at random, independently in each direction.
    Lossy(LossRate),
}

/// Fault of all links between two nodes, or of one of these links. The fault affects both directions.
///
/// A link may have several faults. If one of them is `Down`, the link is down.
/// A link without a `Down` fault has the lowest rate and the highest loss of all its faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkFault {
    /// Node at the first end of the link.
    pub a: Node,
    /// Node at the second end of the link.
    pub b: Node,
    /// Number of the link among the links between its two ends ([`Link::number`]). `None` means all these links.
    pub number: Option<u32>,
    /// Kind of the fault, with its rate or loss.
    pub trouble: Trouble,
    /// Start of the fault.
    pub from: Time,
    /// End of the fault. [`Time::MAX`] means that the fault never ends.
    pub until: Time,
    /// Delay until routing reacts when the link fails or is repaired.
    /// Before routing reacts, switches still send packets into a failed link, or do not yet use a repaired link.
    /// If a link is down from the start of the run, routing avoids it from the start.
    pub reconvergence: Duration,
}

impl LinkFault {
    /// Returns whether the fault is active at `now`.
    pub fn is_on(&self, now: Time) -> bool {
        self.from <= now && now < self.until
    }

    /// Returns the start and the end of the time in which routing avoids the link.
    /// Returns `None` for a fault that is not `Down`.
    pub fn avoided(&self) -> Option<(Time, Time)> {
        let noticed = |at: Time| at.saturating_add(self.reconvergence);
        let from = match self.from {
            // If the link is down from the start of the run, routing avoids it without a delay.
            Time::ZERO => Time::ZERO,
            at => noticed(at),
        };
        (self.trouble == Trouble::Down).then(|| (from, noticed(self.until)))
    }

    /// Returns whether the fault affects the link `link`.
    pub fn is_about(&self, link: &Link) -> bool {
        let ends = (link.from, link.to);
        let is_between = ends == (self.a, self.b) || ends == (self.b, self.a);
        is_between
            && self
                .number
                .is_none_or(|number| number == link.number.unwrap_or(0))
    }
}
