//! Custom network: a list of links between named nodes. Packets take all shortest paths.

use super::builder::Builder;
use super::error::TopologyError;
use super::graph::{Topology, Wire};
use super::node::{Node, NodeNames};
use super::routes::{self, UNREACHED, distances_to, ports_towards};
use super::size::{MOST_ENTRIES, Part, Size};
use crate::forwarding::{Clos, Forwarding};
use crate::queue::QueueConfig;
use crate::shared_buffer::SharedBuffer;
use alloc::boxed::Box;
use alloc::collections::btree_map::{BTreeMap, Entry};
use alloc::string::String;
use alloc::vec::Vec;
use tailcut_units::HostId;

/// Link between two nodes, in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CustomLink {
    /// First end of the link.
    pub a: Node,
    /// Second end of the link.
    pub b: Node,
    /// Rate and delay of the link, in both directions.
    pub wire: Wire,
}

/// Network that is defined by a list of links. Switches use every shortest path (in hops), in the order of the links.
/// At every switch with n choices, a pinned path p uses choice `p mod n`.
///
/// A host with several links is multi-homed. Such a host sends over all its links (see [`Fabric::inject`]).
/// The host receives over all links that are on shortest paths.
///
/// [`Fabric::inject`]: crate::Fabric::inject
#[derive(Clone, Debug)]
pub struct CustomTopology {
    /// Number of hosts. Each host has at least one link. All links of hosts lead to switches.
    pub hosts: u32,
    /// Number of switches.
    pub switches: u32,
    /// Links of the network.
    pub links: Vec<CustomLink>,
    /// Queue of every switch port.
    pub queue: QueueConfig,
    /// Shared packet memory of each switch, or `None` if ports do not share memory.
    pub shared_buffer: Option<SharedBuffer>,
    /// Names of hosts and switches.
    pub names: NodeNames,
}

impl CustomTopology {
    /// Builds the network. Returns an error if a parameter is wrong.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        let attachments = self.attachments()?;
        let mut neighbours = alloc::vec![Vec::new(); self.switches as usize];
        for link in &self.links {
            if let (Node::Switch(a), Node::Switch(b)) = (link.a, link.b) {
                neighbours[a as usize].push((b, link.wire));
                neighbours[b as usize].push((a, link.wire));
            }
        }
        let mut builder = Builder::new(&self.queue, self.shared_buffer);
        // `down` contains, for each switch, the number of its ports towards hosts.
        // `places` contains the port number of each link of a host.
        let mut down = alloc::vec![0u16; self.switches as usize];
        let places: Vec<Vec<u16>> = attachments
            .iter()
            .map(|links| {
                let places = links.iter().map(|&(rack, _)| {
                    down[rack as usize] += 1;
                    down[rack as usize] - 1
                });
                places.collect()
            })
            .collect();
        // The first ports of a switch lead to its hosts.
        let numbered = neighbours.iter().zip(&down).map(|(its, &hosts)| {
            let others = its.iter().map(|&(other, _)| other);
            (hosts..).zip(others).collect()
        });
        let linked: Vec<Vec<(u16, u32)>> = numbered.collect();
        for tier in tiers(&down, &linked) {
            builder.switch(tier, Forwarding::Clos(NOWHERE));
        }
        for links in &attachments {
            for (number, &(switch, wire)) in links.iter().enumerate() {
                if number == 0 {
                    builder.host(switch, wire);
                } else {
                    builder.further_link(switch, wire);
                }
            }
        }
        for (switch, its) in neighbours.iter().enumerate() {
            for &(other, wire) in its {
                builder.port(switch as u32, Node::Switch(other), wire);
            }
        }
        let mut paths = 1;
        let mut tables: Vec<Vec<Box<[u16]>>> = alloc::vec![Vec::new(); self.switches as usize];
        let mut towards: BTreeMap<Vec<u32>, Vec<Box<[u16]>>> = BTreeMap::new();
        for (host, links) in attachments.iter().enumerate() {
            let racks: Vec<u32> = links.iter().map(|&(rack, _)| rack).collect();
            let towards = match towards.entry(racks.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let distances = distances_to(&racks, &linked);
                    let cut_off = (0..self.switches)
                        .find(|&s| distances[s as usize] == UNREACHED && down[s as usize] > 0);
                    if let Some(switch) = cut_off {
                        let host = Node::Host(HostId(host as u32));
                        let ends = [Node::Switch(switch), host].map(|node| self.names.of(node));
                        let [switch, host] = ends;
                        let found = alloc::format!("no path from {switch} to {host}");
                        return Err(TopologyError::new("links", found, ""));
                    }
                    let counts = path_counts(&racks, &linked, &distances);
                    let others = (0..self.switches).filter(|&s| down[s as usize] > 0);
                    // Only switches with hosts are the start of a path between hosts.
                    paths = others.map(|s| counts[s as usize]).fold(paths, u32::max);
                    let switches = 0..self.switches as usize;
                    let ports = switches.map(|s| ports_towards(s, &linked, &distances));
                    unknown.insert(ports.collect())
                }
            };
            for (switch, ports) in towards.iter().enumerate() {
                let own = racks.iter().zip(&places[host]);
                let own = own.filter(|(rack, _)| **rack == switch as u32);
                let direct: Box<[u16]> = own.map(|(_, place)| *place).collect();
                tables[switch].push(if direct.is_empty() {
                    ports.clone()
                } else {
                    direct
                });
            }
        }
        for (switch, table) in tables.into_iter().enumerate() {
            builder.set_forwarding(switch as u32, Forwarding::Table(routes::table(table, 1)));
        }
        Ok(Topology {
            names: self.names.clone(),
            ..builder.finish(paths)
        })
    }

    /// Returns the number of ports of the switch that has the most ports.
    fn most_ports(&self) -> u64 {
        let mut ports = alloc::vec![0u64; self.switches as usize];
        for link in &self.links {
            for end in [link.a, link.b] {
                if let Node::Switch(switch) = end
                    && let Some(count) = ports.get_mut(switch as usize)
                {
                    *count += 1;
                }
            }
        }
        ports.into_iter().max().unwrap_or(0)
    }

    /// Returns the links of each host, with the switch at the other end of each link.
    fn attachments(&self) -> Result<Vec<Vec<(u32, Wire)>>, TopologyError> {
        let wrong = |found: String, allowed| Err(TopologyError::new("links", found, allowed));
        // Forwarding tables contain numbers of 16 bits.
        if self.hosts == 0 || self.hosts > 65_535 || self.switches > 65_535 {
            let found = alloc::format!("{} hosts and {} switches", self.hosts, self.switches);
            let allowed = "1 to 65535 and 0 to 65535";
            return Err(TopologyError::new("hosts", found, allowed));
        }
        let entries = u64::from(self.hosts) * u64::from(self.switches);
        Part::new("hosts", entries).at_most(MOST_ENTRIES, "pairs of a host and a switch")?;
        Size {
            hosts: Part::new("hosts", u64::from(self.hosts)),
            links: Part::new("links", self.links.len() as u64),
            ports: Part::new("links", self.most_ports()),
        }
        .check()?;
        let mut found: Vec<Vec<(u32, Wire)>> = alloc::vec![Vec::new(); self.hosts as usize];
        for link in &self.links {
            for end in [link.a, link.b] {
                let exists = match end {
                    Node::Host(host) => host.0 < self.hosts,
                    Node::Switch(switch) => switch < self.switches,
                };
                if !exists {
                    return wrong(alloc::format!("{end}"), "nodes of this topology");
                }
            }
            let (host, switch) = match (link.a, link.b) {
                (Node::Host(host), Node::Switch(switch))
                | (Node::Switch(switch), Node::Host(host)) => (host, switch),
                (Node::Host(_), Node::Host(_)) => {
                    let [a, b] = [link.a, link.b].map(|node| self.names.of(node));
                    let found = alloc::format!("{a} to {b}");
                    return wrong(found, "a link from a host to a switch");
                }
                (Node::Switch(a), Node::Switch(b)) if a == b => {
                    let name = self.names.of(link.a);
                    return wrong(alloc::format!("{name} linked to itself"), "");
                }
                (Node::Switch(_), Node::Switch(_)) => continue,
            };
            found[host.0 as usize].push((switch, link.wire));
        }
        match found.iter().position(Vec::is_empty) {
            Some(host) => {
                let name = self.names.of(Node::Host(HostId(host as u32)));
                wrong(alloc::format!("{name} without a link"), "one or more")
            }
            None => Ok(found),
        }
    }
}

/// Returns the tier of each switch: the number of hops to the nearest switch with hosts.
/// A switch that is not connected to any host gets tier 1.
fn tiers(hosts: &[u16], neighbours: &[Vec<(u16, u32)>]) -> impl Iterator<Item = u8> {
    let with_hosts = (0..).zip(hosts).filter(|(_, hosts)| **hosts > 0);
    let with_hosts: Vec<u32> = with_hosts.map(|(switch, _)| switch).collect();
    let distances = distances_to(&with_hosts, neighbours).into_iter();
    distances.map(|hops| match hops {
        UNREACHED => 1,
        hops => u8::try_from(hops).unwrap_or(u8::MAX),
    })
}

/// Forwarding of a switch before its table is built. It leads to no host.
const NOWHERE: Clos = Clos::new(0, 0, 1, 0, 1);

/// Returns the number of shortest paths from every switch to the racks in `racks`, at most the largest `u32`.
/// A rack that is listed twice is counted twice.
fn path_counts(racks: &[u32], neighbours: &[Vec<(u16, u32)>], distances: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..neighbours.len() as u32)
        .filter(|&s| distances[s as usize] != UNREACHED)
        .collect();
    order.sort_unstable_by_key(|&s| distances[s as usize]);
    let mut counts = alloc::vec![0u32; neighbours.len()];
    for &rack in racks {
        counts[rack as usize] += 1;
    }
    for switch in order {
        for &(_, next) in &neighbours[switch as usize] {
            // Switches are processed in the order of their distance, so the path count of `switch` is complete here.
            if distances[next as usize] == distances[switch as usize] + 1 {
                counts[next as usize] =
                    counts[next as usize].saturating_add(counts[switch as usize]);
            }
        }
    }
    counts
}
