//! Tests of custom networks with three tiers: switches find their tiers from the links.

use crate::common::{tuple, wire};
use crate::expeditus::{LASTING, finds_the_best_path_between_pods};
use crate::net::{Net, fat_tree, traffic};
use proptest::prelude::*;
use tailcut_fabric::load_balancer::{
    BetweenPods, CongaConfig, ExpeditusConfig, ExpeditusDeckConfig, LoadBalancerConfig,
};
use tailcut_fabric::topology::{CustomLink, CustomTopology, Node, NodeNames, Topology};

/// Returns the links of a network from lower to higher tiers. They are in the order of the ports at the lower end.
fn links(topology: &Topology) -> Vec<CustomLink> {
    let order = |node| match node {
        Node::Host(host) => (0, host.0),
        Node::Switch(switch) => (1, switch),
    };
    let links = topology.links.iter();
    let up = links.filter(|link| order(link.from) < order(link.to));
    up.map(|link| CustomLink {
        a: link.from,
        b: link.to,
        wire: wire(1, 100),
    })
    .collect()
}

/// Returns the built-in fat-tree as a custom network, from a list of its links.
fn written_down(links: Vec<CustomLink>) -> Topology {
    let built_in = fat_tree();
    let custom = CustomTopology {
        hosts: built_in.hosts(),
        switches: built_in.switches.len() as u32,
        links,
        queue: built_in.links[built_in.uplink_count as usize]
            .config
            .queue
            .clone(),
        shared_buffer: None,
        names: NodeNames::default(),
    };
    custom.build().expect("a fat-tree")
}

#[test]
fn a_switch_is_as_many_tiers_up_as_hops_from_the_nearest_hosts() {
    let tiers = |topology: &Topology| -> Vec<u8> {
        topology.switches.iter().map(|switch| switch.tier).collect()
    };
    let built_in = fat_tree();
    assert_eq!(tiers(&written_down(links(&built_in))), tiers(&built_in));
}

proptest! {
    #[test]
    fn a_fat_tree_written_down_chooses_as_the_built_in_one(
        traffic in traffic(16, 2),
        seed in 0u64..1_000,
        flows in proptest::collection::vec((0u32..16, 0u32..16, 1u16..100), 1..12),
    ) {
        let built_in = fat_tree();
        let written_down = written_down(links(&built_in));
        for load_balancer in [
            LoadBalancerConfig::Expeditus(ExpeditusConfig::default()),
            LoadBalancerConfig::ExpeditusDeck(ExpeditusDeckConfig::default()),
            LoadBalancerConfig::Conga(CongaConfig {
                between_pods: BetweenPods::LeafAndCore,
                ..CongaConfig::default()
            }),
        ] {
            let nets = [&built_in, &written_down];
            let mut nets =
                nets.map(|topology| Net::congested(topology.clone(), load_balancer.clone(), seed, &traffic));
            for &(src, dst, port) in flows.iter().filter(|(src, dst, _)| src != dst) {
                let flow = tuple(src, dst, port);
                for step in [Net::open, Net::answer, Net::data] {
                    let [way, same] = nets.each_mut().map(|net| {
                        let ports = step(net, flow);
                        let name = |port| net.topology.port_name(port);
                        ports.into_iter().map(name).collect::<Vec<_>>()
                    });
                    prop_assert_eq!(way, same);
                }
            }
        }
    }

    #[test]
    fn in_whatever_order_links_are_written_down_the_path_is_the_best_of_all(
        traffic in traffic(16, 4),
        links in Just(links(&fat_tree())).prop_shuffle(),
        src in 0u32..16,
        away in 4u32..13,
        seed in 0u64..1_000,
    ) {
        let dst = (src / 4 * 4 + away + src % 4) % 16;
        prop_assume!(src / 4 != dst / 4);
        let load_balancer = LoadBalancerConfig::Expeditus(LASTING);
        let mut net = Net::congested(written_down(links), load_balancer, seed, &traffic);
        finds_the_best_path_between_pods(&mut net, tuple(src, dst, 9));
    }
}
