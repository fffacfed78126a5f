//! Schedule of faults for drivers: the changes of a fabric's links, and their times.

use crate::fabric::Fabric;
use crate::links::{LinkError, LinkState, LossRate};
use crate::observer::Observer;
use crate::port::PortId;
use crate::topology::{LinkFault, Node, Routes, Topology, Trouble};
use alloc::vec::Vec;
use tailcut_units::{HostId, Rate, Time};

/// Directed link with a fault at some time of the run.
#[derive(Clone, Debug)]
struct Troubled {
    link: PortId,
    /// Node that sends on the link.
    from: Node,
    /// Rate of the link when it has no fault.
    rate: Rate,
    /// All faults of the link during the run.
    faults: Vec<LinkFault>,
}

/// Faults of a topology ([`Topology::add_faults`]) in the order of time.
/// At each time that [`next`](FaultPlan::next) returns, the driver calls [`apply`](FaultPlan::apply).
#[derive(Debug)]
pub struct FaultPlan {
    links: Vec<Troubled>,
    /// Whether routing avoids a link at some time of the run. If not, forwarding never changes.
    changes_routes: bool,
    routes: Routes,
    /// Times at which a link or the routing changes. The latest time is first.
    instants: Vec<Time>,
}

impl FaultPlan {
    /// Returns the faults of a topology, or `None` if the topology has no faults.
    pub fn of(topology: &Topology) -> Option<Self> {
        if topology.faults.is_empty() {
            return None;
        }
        let links = topology.links.iter().enumerate();
        let links = links.filter_map(|(port, link)| {
            let about = topology.faults.iter().filter(|fault| fault.is_about(link));
            let troubled = Troubled {
                link: PortId(port as u32),
                from: link.from,
                rate: link.config.rate,
                faults: about.copied().collect(),
            };
            (!troubled.faults.is_empty()).then_some(troubled)
        });
        let mut faults = topology.faults.iter();
        Some(Self {
            links: links.collect(),
            instants: instants(&topology.faults),
            changes_routes: faults.any(|fault| fault.avoided().is_some()),
            routes: Routes::new(topology.clone()),
        })
    }

    /// Returns the time of the next change, or `None` if nothing changes any more.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.instants.last().copied()
    }

    /// Sets every link and every switch to its state at time `now`.
    /// Returns the hosts whose rate ([`Fabric::host_rate`]) has changed, in ascending order.
    ///
    /// # Errors
    /// A fault changes a rate that is fixed. This happens if the fabric was built from a different topology.
    pub fn apply<B: Clone, O: Observer<B>>(
        &mut self,
        now: Time,
        fabric: &mut Fabric<B, O>,
    ) -> Result<Vec<HostId>, LinkError> {
        let mut hosts = Vec::new();
        while self.next().is_some_and(|next| next <= now) {
            self.instants.pop();
        }
        for troubled in &self.links {
            let on = troubled.faults.iter().filter(|fault| fault.is_on(now));
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
                // No fault changes the delay.
                ..before
            };
            fabric.set_link(now, link, state)?;
            if let (Node::Host(host), true) = (troubled.from, rate != before.rate) {
                hosts.push(host);
            }
        }
        if self.changes_routes {
            let avoided = self.links.iter().filter(|link| link.is_avoided(now));
            let avoided: Vec<PortId> = avoided.map(|link| link.link).collect();
            fabric.route_around(&self.routes, |link| !avoided.contains(&link));
        }
        hosts.dedup();
        Ok(hosts)
    }
}

impl Troubled {
    fn is_avoided(&self, now: Time) -> bool {
        let mut spans = self.faults.iter().filter_map(LinkFault::avoided);
        spans.any(|(since, until)| since <= now && now < until)
    }
}

/// Returns the times of all changes. The latest time is first.
fn instants(faults: &[LinkFault]) -> Vec<Time> {
    let mut instants: Vec<Time> = Vec::new();
    for fault in faults {
        instants.extend([fault.from, fault.until]);
        if let Some((from, until)) = fault.avoided() {
            instants.extend([from, until]);
        }
    }
    // A fault that ends at `Time::MAX` never ends, so its end is not a change.
    instants.retain(|&at| at < Time::MAX);
    instants.sort_unstable_by(|a, b| b.cmp(a));
    instants.dedup();
    instants
}
