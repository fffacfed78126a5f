//! A schedule of faults, for drivers: what to do to a fabric's links, and when.

use crate::fabric::Fabric;
use crate::links::{LinkError, LinkState, LossRate};
use crate::observer::Observer;
use crate::port::PortId;
use crate::topology::{LinkFault, Node, Routes, Topology, Trouble};
use alloc::vec::Vec;
use tailcut_units::{Rate, Time};

/// A directed link in trouble at some time.
#[derive(Clone, Copy, Debug)]
struct Troubled {
    link: PortId,
    from: Node,
    to: Node,
    /// Its rate while nothing slows it.
    rate: Rate,
}

/// The faults of a topology ([`Topology::add_faults`]) in the order of time. A driver calls
/// [`apply`](FaultPlan::apply) when the fabric has come to [`next`](FaultPlan::next).
#[derive(Debug)]
pub struct FaultPlan {
    faults: Vec<LinkFault>,
    links: Vec<Troubled>,
    routes: Routes,
    /// When something changes, the latest first.
    instants: Vec<Time>,
}

impl FaultPlan {
    /// The faults of a topology; `None` where it has none.
    pub fn of(topology: &Topology) -> Option<Self> {
        if topology.faults.is_empty() {
            return None;
        }
        let links = topology.links.iter().enumerate();
        let links = links.map(|(port, link)| Troubled {
            link: PortId(port as u32),
            from: link.from,
            to: link.to,
            rate: link.config.rate,
        });
        let in_trouble = |link: &Troubled| {
            let mut faults = topology.faults.iter();
            faults.any(|fault| fault.is_about(link.from, link.to))
        };
        Some(Self {
            links: links.filter(in_trouble).collect(),
            instants: instants(&topology.faults),
            faults: topology.faults.clone(),
            routes: Routes::new(topology.clone()),
        })
    }

    /// When something changes next, if ever.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.instants.last().copied()
    }

    /// Makes every link and every switch what it is from `now` on.
    ///
    /// # Errors
    /// A link whose rate changes and cannot: that of a fabric on another topology.
    pub fn apply<B: Clone, O: Observer<B>>(
        &mut self,
        now: Time,
        fabric: &mut Fabric<B, O>,
    ) -> Result<(), LinkError> {
        while self.next().is_some_and(|next| next <= now) {
            self.instants.pop();
        }
        for troubled in &self.links {
            let on = self
                .faults
                .iter()
                .filter(|fault| fault.is_on(now) && fault.is_about(troubled.from, troubled.to));
            let is_up = !on.clone().any(|fault| fault.trouble == Trouble::Down);
            let slow = on.clone().filter_map(|fault| match fault.trouble {
                Trouble::Slow(rate) => Some(rate),
                Trouble::Down | Trouble::Lossy(_) => None,
            });
            let rate = slow.fold(troubled.rate, Rate::min);
            let lossy = on.filter_map(|fault| match fault.trouble {
                Trouble::Lossy(loss) => Some(loss),
                Trouble::Down | Trouble::Slow(_) => None,
            });
            let link = troubled.link;
            let before = fabric.link(link).ok_or(LinkError::Unknown(link))?;
            let state = LinkState {
                is_up,
                rate,
                loss: lossy.fold(LossRate::NONE, LossRate::max),
                ..before
            };
            fabric.set_link(now, link, state)?;
        }
        if self.faults.iter().any(|fault| fault.avoided().is_some()) {
            let avoided = self.links.iter().filter(|link| self.is_avoided(now, link));
            let avoided: Vec<PortId> = avoided.map(|link| link.link).collect();
            fabric.route_around(&self.routes, |link| !avoided.contains(&link));
        }
        Ok(())
    }

    fn is_avoided(&self, now: Time, link: &Troubled) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|fault| {
            let span = fault.avoided();
            span.is_some_and(|(since, until)| since <= now && now < until)
                && fault.is_about(link.from, link.to)
        })
    }
}

/// When something changes, the latest first.
fn instants(faults: &[LinkFault]) -> Vec<Time> {
    let mut instants: Vec<Time> = Vec::new();
    for fault in faults {
        instants.extend([fault.from, fault.until]);
        if let Some((from, until)) = fault.avoided() {
            instants.extend([from, until]);
        }
    }
    instants.retain(|&at| at < Time::MAX);
    instants.sort_unstable_by(|a, b| b.cmp(a));
    instants.dedup();
    instants
}
