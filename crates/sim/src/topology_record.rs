//! Network as rows of a record: links, the nodes at the ends of links, and the tiers of the nodes.

use std::collections::HashMap;
use tailcut_fabric::topology::{Node, Topology};
use tailcut_record::{NodeKind, NodeRecord, TopologyLink};
use tailcut_units::HostId;

/// Returns every host, followed by every switch, in the order of their numbers.
pub(crate) fn nodes(topology: &Topology) -> Vec<NodeRecord> {
    let record = |kind, node, number, tier| NodeRecord {
        kind,
        number,
        name: topology.name_of(node),
        label: topology.names.of(node),
        tier,
    };
    let hosts = 0..topology.hosts();
    let hosts = hosts.map(|number| record(NodeKind::Host, Node::Host(HostId(number)), number, 0));
    let switches = (0..).zip(switch_tiers(topology));
    let switches =
        switches.map(|(number, tier)| record(NodeKind::Switch, Node::Switch(number), number, tier));
    hosts.chain(switches).collect()
}

/// Returns every link in the order of the ports.
/// The tier of a node is the number of links to its nearest host, 0 for a host.
pub(crate) fn links(topology: &Topology) -> Vec<TopologyLink> {
    let tiers = switch_tiers(topology);
    let tier = |node: Node| match node {
        Node::Host(_) => 0,
        Node::Switch(switch) => tiers[switch as usize],
    };
    let numbered = (0..).zip(&topology.links);
    numbered
        .map(|(port, link)| TopologyLink {
            port,
            from: topology.name_of(link.from),
            to: topology.name_of(link.to),
            from_tier: tier(link.from),
            to_tier: tier(link.to),
            rate: link.config.rate,
            delay: link.config.delay,
        })
        .collect()
}

/// Returns the number of links between each switch and its nearest host, by breadth-first search.
/// The value 255 means more than 254 links, or that no host reaches the switch.
fn switch_tiers(topology: &Topology) -> Vec<u8> {
    let mut tiers = vec![u8::MAX; topology.switches.len()];
    let mut reached: Vec<Node> = (0..topology.hosts())
        .map(|number| Node::Host(HostId(number)))
        .collect();
    let mut neighbours: HashMap<Node, Vec<u32>> = HashMap::new();
    for link in &topology.links {
        if let Node::Switch(to) = link.to {
            neighbours.entry(link.from).or_default().push(to);
        }
    }
    let mut tier = 0u8;
    while !reached.is_empty() && tier < u8::MAX - 1 {
        tier += 1;
        let mut next = Vec::new();
        for &switch in reached
            .iter()
            .filter_map(|node| neighbours.get(node))
            .flatten()
        {
            let known = &mut tiers[switch as usize];
            if *known == u8::MAX {
                *known = tier;
                next.push(Node::Switch(switch));
            }
        }
        reached = next;
    }
    tiers
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_fabric::queue::{DropTail, Limit, QueueConfig};
    use tailcut_fabric::topology::{CustomLink, CustomTopology, NodeNames, Wire};
    use tailcut_units::{Duration, Rate};

    #[test]
    fn a_tier_is_the_distance_to_the_nearest_host_in_any_network() {
        let wire = Wire {
            rate: Rate::from_gbps(1),
            delay: Duration::from_us(2),
        };
        let (host, switch) = (|n| Node::Host(HostId(n)), Node::Switch);
        let ends = [
            (host(0), switch(0)),
            (switch(0), switch(1)),
            (switch(1), switch(2)),
            (switch(2), switch(3)),
            (switch(3), switch(4)),
            (host(1), switch(4)),
        ];
        let chain = CustomTopology {
            hosts: 2,
            switches: 5,
            links: ends.map(|(a, b)| CustomLink { a, b, wire }).to_vec(),
            queue: QueueConfig::DropTail(DropTail {
                limit: Limit::Packets(10),
                mark_above: None,
            }),
            shared_buffer: None,
            names: NodeNames::default(),
        };
        let links = links(&chain.build().unwrap());
        assert_eq!(links.len(), 12, "both directions");
        let tier = |name: &str| links.iter().find(|l| l.from == name).unwrap().from_tier;
        let tiers = ["h0", "s0", "s1", "s2", "s3", "s4", "h1"].map(tier);
        assert_eq!(tiers, [0, 1, 2, 3, 2, 1, 0]);
        for link in &links {
            assert_eq!(link.to_tier, tier(&link.to));
            assert_eq!((link.rate, link.delay), (wire.rate, wire.delay));
        }
        assert!(
            links
                .iter()
                .enumerate()
                .all(|(port, l)| l.port as usize == port)
        );
    }
}
