//! New forwarding when links are down. Packets take all shortest paths over the remaining links.

use super::graph::Topology;
use super::node::Node;
use crate::forwarding::{Forwarding, Table};
use crate::port::PortId;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::collections::btree_map::{BTreeMap, Entry};
use alloc::vec::Vec;
use tailcut_units::HostId;

/// Distance of a switch that has no path.
pub(super) const UNREACHED: u32 = u32::MAX;

/// Network for which routes are computed.
#[derive(Debug)]
pub struct Routes {
    topology: Topology,
}

impl Routes {
    /// Creates the routes of a network. All its links are up.
    pub const fn new(topology: Topology) -> Self {
        Self { topology }
    }

    /// Returns the forwarding of each switch if only the links for which `up` returns `true` are used.
    /// If a switch's forwarding does not change, the result is the topology's original forwarding.
    pub(crate) fn avoiding(&self, up: impl Fn(PortId) -> bool) -> Vec<Forwarding> {
        let topology = &self.topology;
        let switches = topology.switches.len();
        // `neighbours` contains the ports of each switch that are up, and the switches at their ends.
        let mut neighbours: Vec<Vec<(u16, u32)>> = alloc::vec![Vec::new(); switches];
        // `last_hops` contains the ports that lead to each host, and the switches of these ports.
        let mut last_hops: Vec<Vec<(u32, u16)>> = alloc::vec![Vec::new(); topology.uplinks.len()];
        for (port, link) in topology.links.iter().enumerate() {
            let Node::Switch(from) = link.from else {
                continue;
            };
            if !up(PortId(port as u32)) {
                continue;
            }
            let port = (port as u32 - topology.switches[from as usize].first_port) as u16;
            match link.to {
                Node::Switch(to) => neighbours[from as usize].push((port, to)),
                Node::Host(host) => last_hops[host.0 as usize].push((from, port)),
            }
        }
        // `towards` contains the ports of every switch towards the nearest switch of a host.
        // The key of `towards` is the set of the host's switches.
        let mut towards: BTreeMap<Vec<u32>, Vec<Box<[u16]>>> = BTreeMap::new();
        let racks = |host: usize| last_hops[host].iter().map(|&(rack, _)| rack).collect();
        for host in 0..last_hops.len() {
            let racks: Vec<u32> = racks(host);
            if let Entry::Vacant(unknown) = towards.entry(racks) {
                let distances = distances_to(unknown.key(), &neighbours);
                let ports = (0..switches).map(|s| ports_towards(s, &neighbours, &distances));
                unknown.insert(ports.collect());
            }
        }
        let forwarding = (0..switches).map(|switch| {
            let ports_to = |host: usize| -> Box<[u16]> {
                let direct = last_hops[host].iter();
                let direct = direct.filter(|(rack, _)| *rack as usize == switch);
                let direct: Box<[u16]> = direct.map(|&(_, port)| port).collect();
                if direct.is_empty() {
                    towards[&racks(host)][switch].clone()
                } else {
                    direct
                }
            };
            let usual = &topology.switches[switch].forwarding;
            // If nothing has changed, the original forwarding is kept, because arithmetic is faster than a table.
            let same = (0..last_hops.len()).all(|host| {
                let usual = usual.towards(HostId(host as u32));
                usual
                    .ports()
                    .eq(ports_to(host).iter().map(|&port| u32::from(port)))
            });
            if same {
                usual.clone()
            } else {
                Forwarding::Table(table(
                    (0..last_hops.len()).map(ports_to),
                    usual.pin_divisor(),
                ))
            }
        });
        forwarding.collect()
    }
}

/// Returns the number of hops from every switch to the nearest switch in `racks`.
pub(super) fn distances_to(racks: &[u32], neighbours: &[Vec<(u16, u32)>]) -> Vec<u32> {
    let mut distances = alloc::vec![UNREACHED; neighbours.len()];
    let mut queue: VecDeque<u32> = racks.iter().copied().collect();
    for &rack in racks {
        distances[rack as usize] = 0;
    }
    while let Some(switch) = queue.pop_front() {
        // Both directions of a link are up or down together, so the search uses only one direction.
        for &(_, next) in &neighbours[switch as usize] {
            if distances[next as usize] == UNREACHED {
                distances[next as usize] = distances[switch as usize] + 1;
                queue.push_back(next);
            }
        }
    }
    distances
}

/// Returns the ports of a switch that lead one hop closer to the destination.
pub(super) fn ports_towards(
    switch: usize,
    neighbours: &[Vec<(u16, u32)>],
    distances: &[u32],
) -> Box<[u16]> {
    let closer = neighbours[switch].iter().filter(|(_, next)| {
        let distance = distances[*next as usize];
        // Without a path, the sum would overflow, so this check comes first.
        distance != UNREACHED && distance + 1 == distances[switch]
    });
    closer.map(|&(port, _)| port).collect()
}

/// Returns a table with the ports towards each host. Equal groups of ports are stored only once.
pub(super) fn table(by_host: impl IntoIterator<Item = Box<[u16]>>, pin_divisor: u32) -> Table {
    // A network has at most 65,536 hosts, so the number of a group fits into 16 bits.
    let mut groups: Vec<Box<[u16]>> = Vec::new();
    let by_host = by_host.into_iter().map(|ports| {
        let known = groups.iter().position(|group| *group == ports);
        known.unwrap_or_else(|| {
            groups.push(ports);
            groups.len() - 1
        }) as u16
    });
    let by_host = by_host.collect();
    Table {
        by_host,
        groups,
        pin_divisor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_table_is_its_id() {
        let groups: [&[u16]; 3] = [&[1, 2], &[0], &[1, 2]];
        let table = table(groups.map(Box::from), 1);
        assert_eq!(table.towards(HostId(2)), [1, 2]);
        assert_eq!(table.towards(HostId(3)), [0u16; 0]);
        assert_eq!(table.groups.len(), 2);
    }
}
