//! Links that are slow or down, from the start or for a while.

use super::{Node, Topology, TopologyError};
use alloc::string::String;
use alloc::vec::Vec;
use tailcut_units::{Duration, Rate, Time};

/// What is wrong with a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// It carries nothing: what is sent into it is lost.
    Down,
    /// It carries less than it should, in both directions.
    Slow(Rate),
}

/// Trouble on all links between two nodes, in both directions.
///
/// A link under several troubles is down if one of them says so, and else as slow as the slowest.
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

    /// From when and until when routing avoids the link; `None` for one that is only slow.
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

impl Topology {
    /// Puts faults on links. Links that are slow for ever are made so at once.
    ///
    /// # Errors
    /// Nodes without a link between them, a time that ends before it begins, or a rate above that of
    /// the link.
    pub fn add_faults(&mut self, faults: &[LinkFault]) -> Result<(), TopologyError> {
        for fault in faults {
            let wrong = |parameter, found, allowed: String| {
                Err(TopologyError::new(parameter, found, allowed))
            };
            let (a, b) = (fault.a, fault.b);
            if fault.until <= fault.from {
                let (from, until) = (fault.from, fault.until);
                let (found, allowed) = (
                    alloc::format!("{until:?}"),
                    alloc::format!("times after {from:?}"),
                );
                return wrong("until", found, allowed);
            }
            let is_about = |link: &&mut super::Link| fault.is_about(link.from, link.to);
            let affected: Vec<_> = self.links.iter_mut().filter(is_about).collect();
            if affected.is_empty() {
                return wrong(
                    "b",
                    alloc::format!("{a} to {b}"),
                    "nodes with a link".into(),
                );
            }
            let Trouble::Slow(rate) = fault.trouble else {
                continue;
            };
            for link in affected {
                if rate > link.config.rate {
                    let allowed = alloc::format!("{} at most", link.config.rate);
                    return wrong("rate", alloc::format!("{rate}"), allowed);
                }
                if fault.from == Time::ZERO && fault.until == Time::MAX {
                    link.config.rate = rate;
                }
            }
        }
        self.faults.extend_from_slice(faults);
        Ok(())
    }

    /// Whether the rate of a link, by its place in `links`, changes while the network runs.
    pub(crate) fn changes_rate(&self, link: usize) -> bool {
        let link = &self.links[link];
        let mut faults = self.faults.iter();
        faults.any(|fault| {
            let lasting = fault.from == Time::ZERO && fault.until == Time::MAX;
            let slow = matches!(fault.trouble, Trouble::Slow(_));
            slow && !lasting && fault.is_about(link.from, link.to)
        })
    }
}
