//! Tests of topologies. All hosts are connected by the documented number of paths.
//! A pinned path selects one of the paths between two hosts.

mod common;

use common::{drop_tail, packet, run, wire};
use std::collections::BTreeSet;
use tailcut_fabric::engine::EngineKind;
use tailcut_fabric::load_balancer::LoadBalancerConfig;
use tailcut_fabric::queue::{Limit, QueueConfig};
use tailcut_fabric::topology::{
    CoreOversubscription, CustomLink, CustomTopology, FatTree, LeafSpine, Node, NodeNames,
    SingleSwitch, Topology,
};
use tailcut_fabric::{Packet, PortEvents, PortId};
use tailcut_units::{HostId, Time};

fn queue() -> QueueConfig {
    drop_tail(Limit::Packets(100), None)
}

fn fat_tree(k: u32, tiers: u32, edge: u32, core: CoreOversubscription) -> Topology {
    FatTree {
        k,
        tiers,
        edge_downlinks: edge * k / 2,
        host_links: 1,
        core_oversubscription: core,
        host_wire: wire(10, 100),
        fabric_wire: wire(10, 100),
        core_wire: wire(10, 100),
        queue: queue(),
        shared_buffer: None,
    }
    .build()
    .expect("a fat-tree")
}

/// Returns the names of the nodes on the path of a packet.
fn route(topology: &Topology, packet: Packet) -> Vec<String> {
    let (out, fabric) = run(
        topology,
        EngineKind::Heap,
        PortEvents::OneWherePossible,
        LoadBalancerConfig::Ecmp,
        &[(0, packet)],
    );
    assert_eq!(out.len(), 1, "{packet:?} arrives");
    assert_eq!(out[0].host, packet.dst);
    let ports = (0..fabric.port_count())
        .filter(|&port| fabric.port_report(Time::MAX, PortId(port)).sent_packets > 0);
    ports.filter_map(|port| topology.port_name(port)).collect()
}

#[test]
fn every_host_reaches_every_other() {
    let small = [
        fat_tree(4, 3, 1, CoreOversubscription::None),
        fat_tree(4, 3, 2, CoreOversubscription::CoresPerAggregation(1)),
        fat_tree(4, 2, 1, CoreOversubscription::None),
        common::leaf_spine(queue()),
        SingleSwitch {
            hosts: 5,
            host_wire: wire(1, 0),
            queue: queue(),
            shared_buffer: None,
        }
        .build()
        .expect("five hosts"),
    ];
    for topology in &small {
        for src in 0..topology.hosts() {
            for dst in (0..topology.hosts()).filter(|&dst| dst != src) {
                route(topology, packet(src, dst, 100, 7));
            }
        }
    }
}

#[test]
fn a_fat_tree_has_the_hosts_and_switches_of_the_paper() {
    let tree = fat_tree(16, 3, 1, CoreOversubscription::None);
    assert_eq!(tree.hosts(), 1_024);
    assert_eq!(tree.switches.len(), 320);
    assert_eq!(tree.paths, 64);
    let tree = fat_tree(16, 3, 4, CoreOversubscription::None);
    assert_eq!(tree.hosts(), 4_096);
    // The RepNet paper uses this network in Mininet: 6 pods, 54 hosts, 6 cores, 6 paths.
    let tree = fat_tree(6, 3, 1, CoreOversubscription::CoresPerAggregation(2));
    assert_eq!((tree.hosts(), tree.paths), (54, 6));
    let cores = tree
        .switches
        .iter()
        .filter(|switch| switch.tier == 2)
        .count();
    assert_eq!(cores, 6);
}

#[test]
fn pinned_paths_of_a_fat_tree_are_all_different_and_as_documented() {
    let topology = fat_tree(8, 3, 1, CoreOversubscription::None);
    let mut routes = BTreeSet::new();
    for path in 0..16 {
        let pinned = Packet {
            path,
            ..packet(0, 127, 100, 7)
        };
        let route = route(&topology, pinned);
        // Edge switches have the numbers 0 to 31, aggregation switches 32 to 63, and cores 64 to 79.
        let aggregation = 32 + path % 4;
        let core = 64 + (path % 4) * 4 + path / 4;
        assert!(route.contains(&format!("s0>s{aggregation}")), "{route:?}");
        assert!(
            route.contains(&format!("s{aggregation}>s{core}")),
            "{route:?}"
        );
        // `ports_towards` returns the same path, switch by switch, without a packet.
        for (at, next) in [(0, aggregation), (aggregation, core)] {
            let ports = topology.ports_towards(u32::from(at), HostId(127), Some(path));
            let names: Vec<_> = ports
                .iter()
                .filter_map(|&p| topology.port_name(p))
                .collect();
            assert_eq!(names, [format!("s{at}>s{next}")]);
        }
        routes.insert(route);
    }
    assert_eq!(routes.len(), 16);
}

#[test]
fn a_pinned_path_of_a_leaf_spine_goes_over_that_spine() {
    let topology = LeafSpine {
        leaves: 2,
        spines: 3,
        hosts_per_leaf: 6,
        host_links: 1,
        host_wire: wire(1, 0),
        spine_wire: wire(1, 0),
        queue: queue(),
        shared_buffer: None,
    }
    .build()
    .expect("the RepNet testbed");
    for path in 0..3 {
        let pinned = Packet {
            path,
            ..packet(0, 6, 100, 7)
        };
        let expected = ["h0>s0", &format!("s0>s{}", 2 + path)[..]];
        let route = route(&topology, pinned);
        assert!(
            expected.iter().all(|hop| route.iter().any(|r| r == hop)),
            "{route:?}"
        );
    }
}

fn link(a: Node, b: Node) -> CustomLink {
    CustomLink {
        a,
        b,
        wire: wire(10, 100),
    }
}

#[test]
fn a_network_of_the_users_own_uses_all_shortest_paths() {
    let (host, switch) = (|h| Node::Host(HostId(h)), Node::Switch);
    // The network has two short paths, s0-s1-s3 and s0-s2-s3, and a detour s0-s4-s5-s3, which no packet takes.
    let custom = CustomTopology {
        hosts: 2,
        switches: 6,
        links: vec![
            link(host(0), switch(0)),
            link(switch(3), host(1)),
            link(switch(0), switch(1)),
            link(switch(0), switch(2)),
            link(switch(1), switch(3)),
            link(switch(2), switch(3)),
            link(switch(0), switch(4)),
            link(switch(4), switch(5)),
            link(switch(5), switch(3)),
        ],
        queue: queue(),
        shared_buffer: None,
        names: NodeNames::default(),
    };
    let topology = custom.build().expect("a diamond");
    assert_eq!(topology.paths, 2);
    let routes: BTreeSet<_> = (0..64)
        .map(|port| route(&topology, packet(0, 1, 100, port)))
        .collect();
    assert_eq!(routes.len(), 2);
    assert!(routes.iter().all(|route| route.len() == 4), "{routes:?}");
}

/// Returns a leaf-spine network and a fat-tree, both with two links per host.
fn two_links_a_host() -> [Topology; 2] {
    let leaf_spine = LeafSpine {
        leaves: 4,
        spines: 3,
        hosts_per_leaf: 2,
        host_links: 2,
        host_wire: wire(10, 100),
        spine_wire: wire(10, 100),
        queue: queue(),
        shared_buffer: None,
    };
    let tree = FatTree {
        k: 4,
        tiers: 3,
        edge_downlinks: 4,
        host_links: 2,
        core_oversubscription: CoreOversubscription::CoresPerAggregation(1),
        host_wire: wire(10, 100),
        fabric_wire: wire(10, 100),
        core_wire: wire(10, 100),
        queue: queue(),
        shared_buffer: None,
    };
    [leaf_spine.build(), tree.build()].map(|built| built.expect("a network"))
}

#[test]
fn hosts_of_a_rack_share_its_switches_and_reach_every_other() {
    for topology in &two_links_a_host() {
        for src in 0..topology.hosts() {
            for dst in (0..topology.hosts()).filter(|&dst| dst != src) {
                let route = route(topology, packet(src, dst, 100, 7));
                let same_rack = topology.racks[src as usize] == topology.racks[dst as usize];
                assert_eq!(route.len() == 2, same_rack, "{route:?}");
            }
        }
    }
    let [leaf_spine, tree] = two_links_a_host();
    let ends = |topology: &Topology, host| {
        let uplinks = topology.uplinks_of(HostId(host));
        let to = uplinks.map(|port| topology.links[port as usize].to);
        to.collect::<Vec<_>>()
    };
    let switches = |numbers: [u32; 2]| numbers.map(Node::Switch).to_vec();
    assert_eq!(
        ends(&leaf_spine, 4),
        switches([2, 3]),
        "the first host of leaf 2"
    );
    assert_eq!(
        ends(&leaf_spine, 6),
        switches([3, 2]),
        "the first host of leaf 3"
    );
    assert_eq!(leaf_spine.racks, [0, 0, 0, 0, 2, 2, 2, 2]);
    // Each pod has two edge switches with two uplinks each, oversubscribed 2:1.
    // Each edge switch therefore has four links to hosts, and each rack has four hosts.
    assert_eq!(tree.hosts(), 16);
    assert_eq!(ends(&tree, 7), switches([3, 2]));
    assert_eq!(
        tree.host_capacity_bps(),
        2 * tree.rack_uplink_capacity_bps()
    );
}

#[test]
fn pinned_paths_to_hosts_with_two_links_are_all_different() {
    for (topology, paths) in two_links_a_host().iter().zip([6, 4]) {
        assert_eq!(topology.paths, paths);
        let last = topology.hosts() - 1;
        let routes = (0..paths as u16).map(|path| {
            let pinned = Packet {
                path,
                ..packet(0, last, 100, 7)
            };
            route(topology, pinned)
        });
        assert_eq!(routes.collect::<BTreeSet<_>>().len(), paths as usize);
    }
}

#[test]
fn links_a_host_that_its_switches_cannot_share_are_refused() {
    let tree = FatTree {
        k: 4,
        tiers: 3,
        edge_downlinks: 2,
        host_links: 3,
        core_oversubscription: CoreOversubscription::None,
        host_wire: wire(10, 100),
        fabric_wire: wire(10, 100),
        core_wire: wire(10, 100),
        queue: queue(),
        shared_buffer: None,
    };
    let error = tree.build().expect_err("three of two edges").to_string();
    assert_eq!(
        error,
        "host_links: found 3; allowed: divisors of 2, half of k"
    );
}

#[test]
fn a_network_with_a_fault_is_refused_with_the_place() {
    let (host, switch) = (|h| Node::Host(HostId(h)), Node::Switch);
    let of = |hosts, switches, links| {
        let custom = CustomTopology {
            hosts,
            switches,
            links,
            queue: queue(),
            shared_buffer: None,
            names: NodeNames::default(),
        };
        custom.build().expect_err("a fault").to_string()
    };
    assert!(of(1, 1, vec![]).contains("h0 without a link"));
    let apart = vec![link(host(0), switch(0)), link(host(1), switch(1))];
    assert!(of(2, 2, apart).contains("no path"));
    assert!(of(2, 1, vec![link(host(0), host(1))]).contains("a link from a host to a switch"));
    for (end, name) in [(switch(9), "s9"), (switch(1), "s1")] {
        let found = of(1, 1, vec![link(host(0), end)]);
        assert!(
            found.contains(&format!("{name}; allowed: nodes of this topology")),
            "{found}"
        );
    }
    let found = of(
        1,
        1,
        vec![link(host(0), switch(0)), link(host(1), switch(0))],
    );
    assert!(
        found.contains("h1; allowed: nodes of this topology"),
        "{found}"
    );
}

#[test]
fn a_network_of_the_users_own_has_as_many_nodes_as_there_are_numbers_for() {
    // All hosts are at the first switch. The other switches have no links.
    let star = |hosts, switches| {
        let to_first = |h| link(Node::Host(HostId(h)), Node::Switch(0));
        let custom = CustomTopology {
            hosts,
            switches,
            links: (0..hosts).map(to_first).collect(),
            queue: queue(),
            shared_buffer: None,
            names: NodeNames::default(),
        };
        let built = custom.build().map_err(|error| error.to_string());
        built.map(|topology| (topology.hosts(), topology.switches.len()))
    };
    assert_eq!(star(65_535, 1), Ok((65_535, 1)));
    assert_eq!(star(1, 65_535), Ok((1, 65_535)));
    let error = star(65_000, 2_000).expect_err("too many entries");
    assert_eq!(
        error,
        "hosts: found 130000000 pairs of a host and a switch in total; allowed: at most 100000000"
    );
    for (hosts, switches) in [(0, 1), (65_536, 1), (1, 65_536)] {
        let found = format!("hosts: found {hosts} hosts and {switches} switches");
        let error = star(hosts, switches).expect_err("too many or none");
        assert!(error.starts_with(&found), "{error}");
    }
}

#[test]
fn a_network_that_is_too_large_is_refused_before_it_is_built() {
    let leaf_spine = |leaves, hosts_per_leaf, spines, host_links| {
        let network = LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
            host_links,
            host_wire: wire(10, 100),
            spine_wire: wire(10, 100),
            queue: queue(),
            shared_buffer: None,
        };
        let built = network.build().map_err(|error| error.to_string());
        built.map(|topology| topology.hosts())
    };
    assert_eq!(leaf_spine(64, 1_024, 1, 1), Ok(65_536));
    let refused = |leaves, hosts, spines, host_links| {
        leaf_spine(leaves, hosts, spines, host_links).expect_err("too large")
    };
    assert_eq!(
        refused(48, 2_048, 8, 1),
        "hosts_per_leaf: found 98304 hosts in total; allowed: at most 65536"
    );
    assert_eq!(
        refused(4_096, 1, 4_096, 1),
        "spines: found 16781312 links in total; allowed: at most 1000000"
    );
    assert_eq!(
        refused(16, 4_096, 1, 16),
        "hosts_per_leaf: found 1048592 links in total; allowed: at most 1000000"
    );
    let tree = FatTree {
        k: 64,
        tiers: 3,
        edge_downlinks: 2_048,
        host_links: 1,
        core_oversubscription: CoreOversubscription::None,
        host_wire: wire(10, 100),
        fabric_wire: wire(10, 100),
        core_wire: wire(10, 100),
        queue: queue(),
        shared_buffer: None,
    };
    let error = tree.build().expect_err("too large").to_string();
    assert_eq!(
        error,
        "k: found 4194304 hosts in total; allowed: at most 65536"
    );

    // The network has two hosts with a very large number of links to one switch.
    let links = (0..70_000).map(|n| link(Node::Host(HostId(n % 2)), Node::Switch(0)));
    let custom = CustomTopology {
        hosts: 2,
        switches: 1,
        links: links.collect(),
        queue: queue(),
        shared_buffer: None,
        names: NodeNames::default(),
    };
    let error = custom.build().expect_err("too many ports").to_string();
    assert_eq!(
        error,
        "links: found 70000 ports of a switch in total; allowed: at most 65535"
    );
}
