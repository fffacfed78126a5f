//! Network of a run: links between nodes, forwarding of switches, and faults of links.

use super::error::TopologyError;
use super::fault::{LinkFault, Trouble};
use super::node::{Node, NodeNames, TierName};
use crate::forwarding::Forwarding;
use crate::port::LinkConfig;
use crate::shared_buffer::SharedBuffer;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use tailcut_units::{Duration, HostId, Rate, Time, stream_seed};

/// Name of the random stream for the deviations of hosts' clocks, for [`stream_seed`].
const DRIFT: u64 = 0x6472_6966;

/// Line rate and propagation delay of a kind of links, such as the links of hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wire {
    /// Line rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
}

/// Directed link, with the port that sends on it.
#[derive(Clone, Debug)]
pub struct Link {
    /// Node that sends on the link.
    pub from: Node,
    /// Node at which the link ends.
    pub to: Node,
    /// Number of the link among parallel links between the same two ends, from 0 in the order of the ports.
    /// Both directions of a link have the same number. `None` if the link has no parallel links.
    pub number: Option<u32>,
    /// Rate, delay and queue of the link.
    pub config: LinkConfig,
}

impl Link {
    /// Returns the text "from>to" with the names that `name` returns. A parallel link also has its number.
    fn named(&self, name: impl Fn(Node) -> String) -> String {
        let [from, to] = [self.from, self.to].map(name);
        match self.number {
            Some(number) => alloc::format!("{from}>{to}#{number}"),
            None => alloc::format!("{from}>{to}"),
        }
    }
}

/// Properties of a switch.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchSpec {
    /// First port of the switch. Ports of a switch have consecutive numbers.
    pub first_port: u32,
    /// Forwarding of the switch.
    pub forwarding: Forwarding,
    /// Shared packet memory of the switch, or `None` if its ports do not share memory.
    pub shared_buffer: Option<SharedBuffer>,
    /// Number of hops from the hosts: 0 for a switch that has hosts.
    pub tier: u8,
}

/// Network of hosts and switches, with links in both directions.
#[derive(Clone, Debug)]
pub struct Topology {
    /// All ports with their links. The uplinks of hosts are first.
    pub links: Vec<Link>,
    /// All switches.
    pub switches: Vec<SwitchSpec>,
    /// First uplink of each host, as an index into `links`. Uplinks of a host have consecutive indices.
    pub uplinks: Vec<u32>,
    /// Number of uplinks of all hosts together.
    pub uplink_count: u32,
    /// Rack of each host: the number of the switch at the host's first link.
    /// In a regular topology with several links per host, the rack is the number of the rack's first switch.
    pub racks: Vec<u32>,
    /// Largest number of equal-cost paths between two hosts. The number of a pinned path is below this value.
    pub paths: u32,
    /// Faults of links. [`Topology::add_faults`] adds them.
    pub faults: Vec<LinkFault>,
    /// Names of hosts and switches that the user has given.
    pub names: NodeNames,
    /// Names of switches by tier and position, from the lowest tier. Empty if positions have no meaning.
    pub tiers: Vec<TierName>,
}

impl Topology {
    /// Returns the number of hosts.
    pub fn hosts(&self) -> u32 {
        self.uplinks.len() as u32
    }

    /// Returns the uplinks of a host, as indices into `links`. A multi-homed host has several uplinks.
    pub fn uplinks_of(&self, host: HostId) -> Range<u32> {
        let place = host.0 as usize;
        let end = self.uplinks.get(place + 1).copied();
        self.uplinks[place]..end.unwrap_or(self.uplink_count)
    }

    /// Returns whether a host has more than one uplink.
    pub fn is_multi_homed(&self, host: HostId) -> bool {
        self.uplinks_of(host).len() > 1
    }

    /// Returns the sum of the rates of a host's uplinks.
    pub fn host_rate(&self, host: HostId) -> Rate {
        let uplinks = self.uplinks_of(host);
        let rates = uplinks.map(|link| self.links[link as usize].config.rate.as_bps());
        Rate::from_bps(rates.sum()).expect("a host has an uplink, and a link a rate above zero")
    }

    /// Returns the sum of the rates of all hosts' uplinks, in bits per second.
    pub fn host_capacity_bps(&self) -> u64 {
        let uplinks = self.links[..self.uplink_count as usize].iter();
        uplinks.map(|link| link.config.rate.as_bps()).sum()
    }

    /// Returns the capacity between racks, in bits per second.
    /// The capacity is the sum of the rates of all links from switches with hosts to other switches.
    /// With a single switch, the capacity is zero.
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

    /// Returns the ports of a switch that are on shortest paths to a host. Ports have the same numbers as in `links`.
    /// For a pinned path, returns only the port of this path.
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

    /// Returns the numbers of a tier's switches. In a regular topology, the numbers are consecutive.
    pub fn tier(&self, tier: u8) -> Range<u32> {
        let first = |tier| self.switches.partition_point(|spec| spec.tier < tier) as u32;
        first(tier)..first(tier.saturating_add(1))
    }

    /// Returns the name of a node. A switch of a regular topology has a name by its position, such as `leaf[3]`.
    /// Other nodes have the name that the user has given, or a number, such as `h3`.
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

    /// Returns the name of a port's link: the text "from>to", with the names of [`Topology::name_of`].
    /// A parallel link also has its number: "from>to#1".
    pub fn link_name(&self, port: u32) -> Option<String> {
        let link = self.links.get(port as usize)?;
        Some(link.named(|node| self.name_of(node)))
    }

    /// Returns a label of a port, "from>to", without names by position.
    /// Nodes have the names that the user has given, or numbers. A parallel link also has its number.
    pub fn port_name(&self, port: u32) -> Option<String> {
        let link = self.links.get(port as usize)?;
        Some(link.named(|node| self.names.of(node)))
    }

    /// Adds faults to links. A link that is slow during the whole run gets its lower rate immediately.
    ///
    /// # Errors
    /// The nodes have no link, a fault ends before it begins, or the rate of a slow link is above the link's rate.
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
            let is_about = |link: &&mut Link| fault.is_about(link);
            let affected: Vec<_> = self.links.iter_mut().filter(is_about).collect();
            if affected.is_empty() {
                return match fault.number {
                    Some(number) => wrong(
                        "link",
                        alloc::format!("{number} between {a} and {b}"),
                        "the number of a link between them, from 0".into(),
                    ),
                    None => wrong(
                        "b",
                        alloc::format!("{a} to {b}"),
                        "nodes with a link".into(),
                    ),
                };
            }
            let Trouble::Slow(rate) = fault.trouble else {
                continue;
            };
            for link in affected {
                if rate > link.config.rate {
                    let allowed = alloc::format!("{} at most", link.config.rate);
                    return wrong("rate", alloc::format!("{rate}"), allowed);
                }
                // A link that is slow during the whole run never changes its rate.
                // The port of a link with a constant rate may therefore use one event per packet.
                if fault.from == Time::ZERO && fault.until == Time::MAX {
                    link.config.rate = rate;
                }
            }
        }
        self.faults.extend_from_slice(faults);
        Ok(())
    }

    /// Gives each host a clock with a random deviation of at most `ppm` parts per million.
    /// The rates of the host's uplinks change by this deviation.
    pub fn drift_hosts(&mut self, ppm: f64, seed: u64) {
        for host in 0..self.hosts() {
            let draw = stream_seed(seed, DRIFT, u64::from(host)) >> 11;
            // The draw has 53 random bits. It is converted to a number from -1 to 1.
            let deviation = draw as f64 / (1u64 << 52) as f64 - 1.0;
            for link in self.uplinks_of(HostId(host)) {
                let rate = &mut self.links[link as usize].config.rate;
                let bps = rate.as_bps() as f64 * (1.0 + deviation * ppm / 1e6);
                // A rate cannot be 0. If the deviation is too large, the rate is not changed.
                *rate = Rate::from_bps(bps as u64).unwrap_or(*rate);
            }
        }
    }

    /// Returns whether the rate of a link changes during the run. `link` is an index into `links`.
    pub(crate) fn changes_rate(&self, link: usize) -> bool {
        let link = &self.links[link];
        let mut faults = self.faults.iter();
        faults.any(|fault| {
            let lasting = fault.from == Time::ZERO && fault.until == Time::MAX;
            let slow = matches!(fault.trouble, Trouble::Slow(_));
            slow && !lasting && fault.is_about(link)
        })
    }
}
