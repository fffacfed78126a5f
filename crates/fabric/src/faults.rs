//! Links that fail, slow down and come back while the network runs.
//!
//! A link that is down delivers nothing: what would arrive at its far end is lost, so that the port
//! before it goes on as if nothing were, until routing has noticed. Neither costs a packet on other
//! links anything: an end of a link that is down is a node like any other, to which packets go.
//!
//! A port whose rate changes is a general one. What is being sent when the rate changes ends as it
//! began.

use crate::engine::Event;
use crate::fabric::{ARRIVAL, Fabric, HOST};
use crate::packet::PacketId;
use crate::port::{Port, PortClass};
use crate::queue::DropReason;
use crate::topology::{LinkFault, Node, Routes, Topology, Trouble};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use tailcut_units::{Rate, Time};

/// The far end of a link that is down; and of a link that is none, over which the changes come.
pub(crate) const NOWHERE: u32 = HOST | (HOST - 1);

/// A directed link in trouble at some time.
#[derive(Clone, Copy, Debug)]
struct Troubled {
    port: u32,
    from: Node,
    to: Node,
    /// Where it leads while it is up.
    far_end: u32,
    /// Its rate while nothing slows it.
    rate: Rate,
}

/// The faults of a network and what they change.
#[derive(Debug)]
pub(crate) struct Faults {
    list: Vec<LinkFault>,
    links: Vec<Troubled>,
    routes: Routes,
    /// What is being sent at a port since before its rate changed: until when, and how fast.
    begun: BTreeMap<u32, (u64, Rate)>,
}

impl Faults {
    /// The faults of a topology, if it has any.
    pub fn of(topology: &Topology, far_ends: &[u32]) -> Option<Box<Self>> {
        if topology.faults.is_empty() {
            return None;
        }
        let links = topology.links.iter().zip(far_ends).enumerate();
        let links = links.map(|(port, (link, &far_end))| Troubled {
            port: port as u32,
            from: link.from,
            to: link.to,
            far_end,
            rate: link.config.rate,
        });
        let in_trouble = |link: &Troubled| {
            topology
                .faults
                .iter()
                .any(|f| f.is_about(link.from, link.to))
        };
        Some(Box::new(Self {
            list: topology.faults.clone(),
            links: links.filter(in_trouble).collect(),
            routes: Routes::new(topology.clone()),
            begun: BTreeMap::new(),
        }))
    }

    /// When something changes, ascending.
    pub fn instants(&self) -> Vec<Time> {
        let mut instants: Vec<Time> = Vec::new();
        for fault in &self.list {
            instants.extend([fault.from, fault.until]);
            if let Some((from, until)) = fault.avoided() {
                instants.extend([from, until]);
            }
        }
        instants.retain(|&at| at < Time::MAX);
        instants.sort_unstable();
        instants.dedup();
        instants
    }

    /// The rate at which a port sends what it is sending.
    pub fn rate_in_service(&self, number: u32, port: &Port) -> Option<Rate> {
        let &(until_ps, rate) = self.begun.get(&number)?;
        (port.busy_until_ps == until_ps).then_some(rate)
    }
}

/// Whether a port's rate changes while the network runs.
pub(crate) fn changes_rate(topology: &Topology, port: usize) -> bool {
    let link = &topology.links[port];
    let mut faults = topology.faults.iter();
    faults.any(|fault| {
        let lasting = fault.from == Time::ZERO && fault.until == Time::MAX;
        matches!(fault.trouble, Trouble::Slow(_)) && !lasting && fault.is_about(link.from, link.to)
    })
}

impl<B: Copy> Fabric<B> {
    /// Takes up the faults of a topology, after its ports.
    pub(crate) fn schedule_faults(&mut self, topology: &Topology) {
        self.faults = Faults::of(topology, &self.far_ends);
        let Some(faults) = &self.faults else {
            return;
        };
        let changes = self.far_ends.len() as u32 | ARRIVAL;
        for at in faults.instants() {
            self.engine.push(Event::new(at, changes, 0));
        }
        self.far_ends.push(NOWHERE);
    }

    /// Whether an event is a change of links, and no packet.
    pub(crate) fn is_change(&self, event: &Event) -> bool {
        (event.entity() ^ ARRIVAL) as usize == self.ports.len()
    }

    /// Something arrives nowhere: a packet over a link that is down, or the time for a change.
    #[cold]
    pub(crate) fn arrive_nowhere(&mut self, now: Time, event: &Event) {
        if self.is_change(event) {
            self.change_links(now);
        } else {
            let id = PacketId(event.payload());
            self.drop_packet(None, id, DropReason::LinkDown);
        }
    }

    /// Makes every link and every switch what it is from now on.
    fn change_links(&mut self, now: Time) {
        let Some(mut faults) = self.faults.take() else {
            return;
        };
        for link in &faults.links {
            let on = faults
                .list
                .iter()
                .filter(|fault| fault.is_on(now) && fault.is_about(link.from, link.to));
            let down = on.clone().any(|fault| fault.trouble == Trouble::Down);
            self.far_ends[link.port as usize] = if down { NOWHERE } else { link.far_end };
            let slow = on.filter_map(|fault| match fault.trouble {
                Trouble::Slow(rate) => Some(rate),
                Trouble::Down => None,
            });
            let rate = slow.fold(link.rate, Rate::min);
            let port = &self.ports[link.port as usize];
            let class = self.classes[usize::from(port.class)];
            if class.rate == rate {
                continue;
            }
            if port.busy_until_ps > now.as_ps() {
                // Another change within one packet leaves what was noted first.
                let begun = (port.busy_until_ps, class.rate);
                if faults.rate_in_service(link.port, port).is_none() {
                    faults.begun.insert(link.port, begun);
                }
            }
            let class = self.class(PortClass {
                ps_per_byte: rate.ps_per_byte().unwrap_or(0),
                rate,
                ..class
            });
            self.ports[link.port as usize].class = class;
            if let Some(chooser) = &mut self.chooser {
                chooser.rate_changes(link.port, rate);
            }
        }
        let avoids = |fault: &LinkFault, from, to| {
            let span = fault.avoided();
            span.is_some_and(|(since, until)| since <= now && now < until)
                && fault.is_about(from, to)
        };
        let up = |from, to| !faults.list.iter().any(|fault| avoids(fault, from, to));
        if faults.list.iter().any(|fault| fault.avoided().is_some()) {
            let hosts = faults
                .links
                .iter()
                .filter(|link| matches!(link.from, Node::Host(_)));
            let down = hosts.filter(|link| !up(link.from, link.to));
            self.bonds.down = down.map(|link| link.port).collect();
            let forwarding = faults.routes.avoiding(up);
            for (switch, forwarding) in self.switches.iter_mut().zip(forwarding) {
                switch.forwarding = forwarding;
            }
        }
        self.faults = Some(faults);
    }
}
