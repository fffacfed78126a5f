//! Builder of topologies. It collects links by node, so that each switch has consecutive ports.
//! Links can be added in any order.

use super::error::TopologyError;
use super::graph::{Link, SwitchSpec, Topology, Wire};
use super::node::{Node, NodeNames};
use crate::forwarding::{Clos, Forwarding, Table};
use crate::port::LinkConfig;
use crate::queue::{DropTail, Limit, QueueConfig};
use crate::shared_buffer::SharedBuffer;
use alloc::vec::Vec;
use tailcut_units::HostId;

/// Queue of a host's uplink. A host only sends a packet when its uplink is free, so the queue needs no limit.
const UPLINK_QUEUE: QueueConfig = QueueConfig::DropTail(DropTail {
    limit: Limit::Packets(u32::MAX),
    mark_above: None,
});

pub(super) struct Builder {
    uplinks: Vec<Link>,
    /// First uplink of each host.
    first_uplinks: Vec<u32>,
    racks: Vec<u32>,
    down_and_up: Vec<Vec<Link>>,
    forwarding: Vec<(Forwarding, u8)>,
    queue: QueueConfig,
    shared_buffer: Option<SharedBuffer>,
}

impl Builder {
    pub fn new(queue: &QueueConfig, shared_buffer: Option<SharedBuffer>) -> Self {
        Self {
            uplinks: Vec::new(),
            first_uplinks: Vec::new(),
            racks: Vec::new(),
            down_and_up: Vec::new(),
            forwarding: Vec::new(),
            queue: queue.clone(),
            shared_buffer,
        }
    }

    /// Adds a switch. Returns the number of the switch.
    pub fn switch(&mut self, tier: u8, forwarding: Forwarding) -> u32 {
        self.forwarding.push((forwarding, tier));
        self.down_and_up.push(Vec::new());
        (self.forwarding.len() - 1) as u32
    }

    /// Adds a host at a switch, with both directions of its link.
    pub fn host(&mut self, switch: u32, wire: Wire) {
        self.first_uplinks.push(self.uplinks.len() as u32);
        self.racks.push(switch);
        self.further_link(switch, wire);
    }

    /// Adds another link between the last host and a switch, in both directions.
    pub fn further_link(&mut self, switch: u32, wire: Wire) {
        let host = Node::Host(HostId((self.first_uplinks.len() - 1) as u32));
        self.uplinks.push(Link {
            from: host,
            to: Node::Switch(switch),
            number: None,
            config: LinkConfig {
                rate: wire.rate,
                delay: wire.delay,
                queue: UPLINK_QUEUE,
                phantom: None,
            },
        });
        self.port(switch, host, wire);
    }

    /// Adds the hosts of a rack.
    /// The rack has `together` switches, from number `first`, and `hosts` hosts for each of its switches.
    /// Every host has a link to each switch of its rack. The first link leads to the host's own switch.
    /// The second and later links of a host lead to the next switches in cyclic order.
    pub fn rack(&mut self, first: u32, together: u32, hosts: u32, wire: Wire) {
        for own in 0..together {
            for _ in 0..hosts {
                self.host(first + own, wire);
                for next in 1..together {
                    self.further_link(first + (own + next) % together, wire);
                }
                // The rack number of a host is the first switch of its rack.
                // The host's first link may lead to another switch.
                if let Some(rack) = self.racks.last_mut() {
                    *rack = first;
                }
            }
        }
    }

    /// Adds the next port of a switch, with a link to a node.
    pub fn port(&mut self, from: u32, to: Node, wire: Wire) {
        let link = Link {
            from: Node::Switch(from),
            to,
            number: None,
            config: LinkConfig {
                rate: wire.rate,
                delay: wire.delay,
                queue: self.queue.clone(),
                phantom: None,
            },
        };
        self.down_and_up[from as usize].push(link);
    }

    pub fn set_forwarding(&mut self, switch: u32, forwarding: Forwarding) {
        self.forwarding[switch as usize].0 = forwarding;
    }

    pub fn finish(self, paths: u32) -> Topology {
        let uplink_count = self.uplinks.len() as u32;
        let mut links = self.uplinks;
        let mut switches = Vec::with_capacity(self.forwarding.len());
        for (ports, (forwarding, tier)) in self.down_and_up.into_iter().zip(self.forwarding) {
            switches.push(SwitchSpec {
                first_port: links.len() as u32,
                forwarding,
                shared_buffer: self.shared_buffer,
                tier,
            });
            links.extend(ports);
        }
        number_parallel(&mut links);
        Topology {
            links,
            switches,
            uplinks: self.first_uplinks,
            uplink_count,
            racks: self.racks,
            paths,
            faults: Vec::new(),
            names: NodeNames::default(),
            tiers: Vec::new(),
        }
    }
}

/// Numbers parallel links between the same two nodes, in the order of the ports.
fn number_parallel(links: &mut [Link]) {
    let ends = |link: &Link| (link.from, link.to);
    let mut order: Vec<usize> = (0..links.len()).collect();
    // The sort is stable, so parallel links stay in the order of their ports.
    order.sort_by_key(|&port| ends(&links[port]));
    for start in 1..order.len() {
        let (before, port) = (order[start - 1], order[start]);
        if ends(&links[before]) == ends(&links[port]) {
            let number = *links[before].number.get_or_insert(0);
            links[port].number = Some(number + 1);
        }
    }
}

/// Racks below a switch. The switch has a port to each switch of these racks.
pub(super) struct Racks {
    pub first_host: u32,
    pub count: u32,
    /// Number of hosts in each rack.
    pub hosts: u32,
    /// Number of switches in each rack. Each of them has links to all hosts of its rack.
    pub switches: u32,
}

impl Racks {
    /// Returns the forwarding of the switch in a network of `all_hosts` hosts.
    /// The switch has `up_ports` up ports, which follow the ports to the racks.
    /// A pinned path p uses choice `p / pin_divisor`, modulo the number of choices.
    pub fn forwarding(&self, up_ports: u32, all_hosts: u32, pin_divisor: u32) -> Forwarding {
        let (first, hosts) = (self.first_host, self.count * self.hosts);
        // With one switch per rack, arithmetic is enough to forward packets, so no table is needed.
        if self.switches == 1 {
            let clos = Clos::new(first, hosts, self.hosts, up_ports, pin_divisor);
            return Forwarding::Clos(clos);
        }
        let ports = |first: u32, count: u32| (first..first + count).map(|port| port as u16);
        let down = (0..self.count).map(|rack| ports(rack * self.switches, self.switches));
        let up = ports(self.count * self.switches, up_ports);
        // A host before `first` wraps to a large number, so one comparison checks both ends of the range.
        let group_of = |host: u32| match host.wrapping_sub(first) {
            below if below < hosts => below / self.hosts,
            _ => self.count,
        };
        Forwarding::Table(Table {
            by_host: (0..all_hosts).map(|host| group_of(host) as u16).collect(),
            groups: down.chain([up]).map(Iterator::collect).collect(),
            pin_divisor,
        })
    }
}

/// Rejects a number of links per host that is not a divisor of the number of switches.
pub(super) fn sharing(
    host_links: u32,
    switches: u32,
    which: &'static str,
) -> Result<(), TopologyError> {
    if host_links > 0 && switches.is_multiple_of(host_links) {
        return Ok(());
    }
    Err(TopologyError::new(
        "host_links",
        alloc::format!("{host_links}"),
        alloc::format!("divisors of {switches}, {which}"),
    ))
}

/// Rejects a parameter that is not in the range `1..=most`.
pub(super) fn within(parameter: &'static str, found: u32, most: u32) -> Result<(), TopologyError> {
    if (1..=most).contains(&found) {
        return Ok(());
    }
    Err(TopologyError::new(
        parameter,
        alloc::format!("{found}"),
        alloc::format!("1 to {most}"),
    ))
}
