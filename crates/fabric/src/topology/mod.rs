//! Topologies: who is linked to whom, and how switches forward.

mod builder;
mod custom;
mod fat_tree;
mod fault;
mod leaf_spine;
mod routes;
mod single_switch;

use crate::forwarding::Forwarding;
use crate::port::LinkConfig;
use crate::shared_buffer::SharedBuffer;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
pub use custom::{CustomLink, CustomTopology};
pub use fat_tree::{CoreOversubscription, FatTree};
pub use fault::{LinkFault, Trouble};
pub use leaf_spine::LeafSpine;
pub use routes::Routes;
pub use single_switch::SingleSwitch;
use tailcut_units::{Duration, HostId, Rate};

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A host.
    Host(HostId),
    /// A switch, numbered from zero.
    Switch(u32),
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => write!(f, "{host}"),
            Self::Switch(switch) => write!(f, "s{switch}"),
        }
    }
}

/// What nodes are called where they have names of their own, by their numbers; a list that is too short
/// leaves the others to their numbers.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct NodeNames {
    /// The hosts' names.
    pub hosts: Vec<String>,
    /// The switches' names.
    pub switches: Vec<String>,
}

impl NodeNames {
    /// The name of a node: its own, or `h3`, `s0`.
    pub fn of(&self, node: Node) -> String {
        let own = match node {
            Node::Host(host) => self.hosts.get(host.0 as usize),
            Node::Switch(switch) => self.switches.get(switch as usize),
        };
        own.cloned().unwrap_or_else(|| node.to_string())
    }
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
    /// What its nodes are called.
    pub names: NodeNames,
}

/// A kind of link in a regular topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wire {
    /// Line rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
}

/// What a topology cannot be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyError {
    /// The parameter at fault.
    pub parameter: &'static str,
    /// What was found.
    pub found: String,
    /// What is allowed; empty where nothing of the kind is.
    pub allowed: String,
}

impl TopologyError {
    fn new(parameter: &'static str, found: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self {
            parameter,
            found: found.into(),
            allowed: allowed.into(),
        }
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}", self.parameter, self.found)?;
        match self.allowed.is_empty() {
            true => Ok(()),
            false => write!(f, "; allowed: {}", self.allowed),
        }
    }
}

impl core::error::Error for TopologyError {}

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

    /// A name for a port, "from>to".
    pub fn port_name(&self, port: u32) -> Option<String> {
        let link = self.links.get(port as usize)?;
        let [from, to] = [link.from, link.to].map(|node| self.names.of(node));
        Some(alloc::format!("{from}>{to}"))
    }
}
