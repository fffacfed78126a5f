//! A network: who is linked to whom, how switches forward, and which links are in trouble.

use super::error::TopologyError;
use super::fault::{LinkFault, Trouble};
use super::node::{Node, NodeNames, TierName};
use crate::forwarding::Forwarding;
use crate::port::LinkConfig;
use crate::shared_buffer::SharedBuffer;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use tailcut_units::{Duration, HostId, Rate, Time};

/// A kind of link in a regular topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wire {
    /// Line rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
}

/// A directed link with the port before it.
#[derive(Clone, Debug)]
pub struct Link {
    /// The sending end.
    pub from: Node,
    /// The receiving end.
    pub to: Node,
    /// Rate, delay and queue.
    pub config: LinkConfig,
}

/// A switch and its place in the network.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchSpec {
    /// Its first port; the others follow without a gap.
    pub first_port: u32,
    /// How it forwards.
    pub forwarding: Forwarding,
    /// Its packet memory, when its ports share one.
    pub shared_buffer: Option<SharedBuffer>,
    /// Hops from the hosts: 0 for a switch that has hosts.
    pub tier: u8,
}

/// A network: hosts, switches, and links in both directions.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Every port with its link. Hosts' uplinks come first.
    pub links: Vec<Link>,
    /// Every switch.
    pub switches: Vec<SwitchSpec>,
    /// Each host's first uplink, an index into `links`; its others follow.
    pub uplinks: Vec<u32>,
    /// Uplinks of all hosts together.
    pub uplink_count: u32,
    /// Each host's rack: the number of the switch that its first link leads to, or in a regular topology
    /// with several links a host of the first of those that they lead to.
    pub racks: Vec<u32>,
    /// The largest number of equal-cost paths between two hosts; a pinned path is below it.
    pub paths: u32,
    /// Links in trouble; see [`Topology::add_faults`].
    pub faults: Vec<LinkFault>,
    /// What its nodes are called where they have names of their own.
    pub names: NodeNames,
    /// What its switches are called by their place, a name for each tier from the hosts up; none where
    /// the place says nothing.
    pub tiers: Vec<TierName>,
}

impl Topology {
    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.uplinks.len() as u32
    }

    /// A host's uplinks, indices into `links`: one, or more when it is multi-homed.
    pub fn uplinks_of(&self, host: HostId) -> Range<u32> {
        let place = host.0 as usize;
        let end = self.uplinks.get(place + 1).copied();
        self.uplinks[place]..end.unwrap_or(self.uplink_count)
    }

    /// Whether a host has several uplinks.
    pub fn is_multi_homed(&self, host: HostId) -> bool {
        self.uplinks_of(host).len() > 1
    }

    /// The rates of a host's uplinks together.
    pub fn host_rate(&self, host: HostId) -> Rate {
        let uplinks = self.uplinks_of(host);
        let rates = uplinks.map(|link| self.links[link as usize].config.rate.as_bps());
        Rate::from_bps(rates.sum()).expect("a host has an uplink, and a link a rate above zero")
    }

    /// Sum of the rates of hosts' uplinks in bits per second.
    pub fn host_capacity_bps(&self) -> u64 {
        let uplinks = self.links[..self.uplink_count as usize].iter();
        uplinks.map(|link| link.config.rate.as_bps()).sum()
    }

    /// Sum of the rates of all links from switches with hosts to other switches, in bits per
    /// second: what the racks can send each other. Zero with a single switch.
    pub fn rack_uplink_capacity_bps(&self) -> u64 {
        let up = self.links.iter().filter(|link| match (link.from, link.to) {
            (Node::Switch(from), Node::Switch(to)) => {
                let tier = |switch: u32| self.switches[switch as usize].tier;
                tier(from) == 0 && tier(to) > 0
            }
            _ => false,
        });
        up.map(|link| link.config.rate.as_bps()).sum()
    }

    /// The ports of a switch over which shortest paths lead to a host, numbered like `links`; of a pinned
    /// path the one that it takes.
    pub fn ports_towards(&self, switch: u32, dst: HostId, path: Option<u16>) -> Vec<u32> {
        let spec = &self.switches[switch as usize];
        let choices = spec.forwarding.towards(dst);
        let port = |choice| spec.first_port + choices.port(choice);
        match (path, choices.count()) {
            (Some(path), count) if count > 0 => {
                let choice = u32::from(path) / spec.forwarding.pin_divisor() % count;
                alloc::vec![port(choice)]
            }
            (_, count) => (0..count).map(port).collect(),
        }
    }

    /// The switches of a tier, which follow each other in a regular topology.
    pub fn tier(&self, tier: u8) -> Range<u32> {
        let first = |tier| self.switches.partition_point(|spec| spec.tier < tier) as u32;
        first(tier)..first(tier.saturating_add(1))
    }

    /// What a node is called: by its own name, else by its place, such as `leaf[3]`, else by its number,
    /// such as `h3`.
    pub fn name_of(&self, node: Node) -> String {
        let by_place = match node {
            Node::Switch(number) => self.switches.get(number as usize).and_then(|spec| {
                let tier = self.tiers.get(usize::from(spec.tier))?;
                Some(tier.of(number - self.tier(spec.tier).start))
            }),
            Node::Host(_) => None,
        };
        by_place.unwrap_or_else(|| self.names.of(node))
    }

    /// What the link that a port feeds is called: "from>to", by the names of [`Topology::name_of`].
    pub fn link_name(&self, port: u32) -> Option<String> {
        let link = self.links.get(port as usize)?;
        let [from, to] = [link.from, link.to].map(|node| self.name_of(node));
        Some(alloc::format!("{from}>{to}"))
    }

    /// A label for a port that stays the same whatever places are called: "from>to", by nodes' own names
    /// and else by their numbers.
    pub fn port_name(&self, port: u32) -> Option<String> {
        let link = self.links.get(port as usize)?;
        let [from, to] = [link.from, link.to].map(|node| self.names.of(node));
        Some(alloc::format!("{from}>{to}"))
    }

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
            let is_about = |link: &&mut Link| fault.is_about(link.from, link.to);
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
