//! A network of the user's own: named nodes and links, forwarded along all shortest paths.

use super::builder::Builder;
use super::error::TopologyError;
use super::graph::{Topology, Wire};
use super::node::{Node, NodeNames};
use super::routes::{self, UNREACHED, distances_to, ports_towards};
use crate::forwarding::{Clos, Forwarding};
use crate::queue::QueueConfig;
use crate::shared_buffer::SharedBuffer;
use alloc::boxed::Box;
use alloc::collections::btree_map::{BTreeMap, Entry};
use alloc::string::String;
use alloc::vec::Vec;
use tailcut_units::HostId;

/// A bidirectional link between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CustomLink {
    /// One end.
    pub a: Node,
    /// The other.
    pub b: Node,
    /// Rate and delay of both directions.
    pub wire: Wire,
}

/// A network given by its links. Switches send along every shortest path (in hops), in the order of
/// the links; a pinned path p takes choice `p mod n` at every switch with n choices.
///
/// A host with several links is multi-homed: it sends on all of them as [`Fabric::inject`] says, and is
/// reached over all that are on shortest paths.
///
/// [`Fabric::inject`]: crate::Fabric::inject
#[derive(Clone, Debug)]
pub struct CustomTopology {
    /// Number of hosts. Each has one link at least, and all its links lead to switches.
    pub hosts: u32,
    /// Number of switches.
    pub switches: u32,
    /// The links.
    pub links: Vec<CustomLink>,
    /// The queue of every switch port.
    pub queue: QueueConfig,
    /// Each switch's memory, when its ports share it.
    pub shared_buffer: Option<SharedBuffer>,
    /// What the nodes are called.
    pub names: NodeNames,
}

impl CustomTopology {
    /// The network, or what is wrong with it.
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
        // Ports of each switch towards hosts, and the places of each host's among those of its own.
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
        // A switch's first ports lead down.
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

    /// Each host's links, and the switches that they lead to.
    fn attachments(&self) -> Result<Vec<Vec<(u32, Wire)>>, TopologyError> {
        let wrong = |found: String, allowed| Err(TopologyError::new("links", found, allowed));
        if self.hosts == 0 || self.hosts > 65_535 || self.switches > 65_535 {
            let found = alloc::format!("{} hosts and {} switches", self.hosts, self.switches);
            let allowed = "1 to 65535 and 0 to 65535";
            return Err(TopologyError::new("hosts", found, allowed));
        }
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

/// Each switch's tier: hops to the nearest switch with hosts. A switch from which no way leads to one has
/// no place in the network; it counts as just above them.
fn tiers(hosts: &[u16], neighbours: &[Vec<(u16, u32)>]) -> impl Iterator<Item = u8> {
    let with_hosts = (0..).zip(hosts).filter(|(_, hosts)| **hosts > 0);
    let with_hosts: Vec<u32> = with_hosts.map(|(switch, _)| switch).collect();
    let distances = distances_to(&with_hosts, neighbours).into_iter();
    distances.map(|hops| match hops {
        UNREACHED => 1,
        hops => u8::try_from(hops).unwrap_or(u8::MAX),
    })
}

/// Forwarding of a switch whose table is not made yet: it leads nowhere.
const NOWHERE: Clos = Clos::new(0, 0, 1, 0, 1);

/// Number of shortest paths from every switch to `racks`, saturating; a rack that is there twice has
/// two.
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
            if distances[next as usize] == distances[switch as usize] + 1 {
                counts[next as usize] =
                    counts[next as usize].saturating_add(counts[switch as usize]);
            }
        }
    }
    counts
}
