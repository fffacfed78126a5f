//! Tests of Expeditus: a handshake finds the best of all paths, for the state of the switches on these paths.
//! The flow has a path even if packets of its handshake are lost, repeated or reordered.

use crate::common::{self, Deliveries, drop_tail, tuple, wire};
use crate::net::{Net, fat_tree, traffic};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tailcut_fabric::load_balancer::{
    CongaConfig, DreConfig, ExpeditusConfig, ExpeditusDeckConfig, LoadBalancerConfig,
};
use tailcut_fabric::queue::Limit;
use tailcut_fabric::topology::{LeafSpine, LinkFault, Node, Topology, Trouble};
use tailcut_fabric::{FaultPlan, Packet, PortId};
use tailcut_units::{Duration, FiveTuple, HostId, Rate, Time};

/// Configuration in which loads do not decay within the first 20 ms.
/// The state of a switch is then a sum that a test can compute.
pub const LASTING: ExpeditusConfig = ExpeditusConfig {
    dre: DreConfig {
        interval: Duration::from_ms(20),
        keep: 0.01,
        // At 1 Gb/s, one level is about 10 KB.
        levels: 254,
    },
    entry_timeout: Duration::from_ms(100),
};

fn leaf_spine() -> Topology {
    LeafSpine {
        leaves: 3,
        spines: 5,
        hosts_per_leaf: 3,
        host_links: 1,
        host_wire: wire(1, 100),
        spine_wire: wire(1, 100),
        queue: drop_tail(Limit::Packets(10_000), None),
        shared_buffer: None,
    }
    .build()
    .expect("a leaf-spine network")
}

/// Opens a flow between pods and compares its path with an exhaustive search on the same state.
/// The search first looks at the worse of the first and last hop of each path, and finds the best path.
/// After the first stage, the search compares only the paths over the first switch of the best path.
/// In the second stage, the search chooses the best second and third hop. Again, the worse of the two hops decides.
pub fn finds_the_best_path_between_pods(net: &mut Net, flow: FiveTuple) {
    let rack = |host: HostId| net.topology.racks[host.0 as usize];
    let (from, to) = (rack(flow.src), rack(flow.dst));
    let mut paths = Vec::new();
    for first in net.uplinks(from) {
        for second in net.uplinks(net.far_end(first)) {
            for last in net.uplinks(to) {
                for third in net.uplinks(net.far_end(last)) {
                    if net.far_end(second) == net.far_end(third) {
                        paths.push([first, second, third, last]);
                    }
                }
            }
        }
    }
    let outer: BTreeMap<u32, u8> = paths
        .iter()
        .map(|&[first, .., last]| (first, net.worse(first, last)))
        .collect();
    net.open(flow);
    let inner: BTreeMap<(u32, u32), u8> = paths
        .iter()
        .map(|&[first, second, third, _]| ((first, second), net.worse(second, third)))
        .collect();
    net.answer(flow);
    let taken = net.data(flow);
    let (first, second) = (taken[1], taken[2]);
    assert_eq!(Some(&outer[&first]), outer.values().min());
    let through_it = inner.iter().filter(|((through, _), _)| *through == first);
    let best = through_it.map(|(_, level)| level).min();
    assert_eq!(Some(&inner[&(first, second)]), best);
}

/// Opens a flow to another edge switch in the same pod, and compares its path with an exhaustive search.
fn finds_the_best_path_in_one_stage(net: &mut Net, flow: FiveTuple) {
    net.open(flow);
    let rack = |host: HostId| net.topology.racks[host.0 as usize];
    let downs = net.uplinks(rack(flow.dst)).into_iter();
    let downs: BTreeMap<u32, u32> = downs.map(|down| (net.far_end(down), down)).collect();
    let ups = net.uplinks(rack(flow.src)).into_iter();
    let levels: BTreeMap<u32, u8> = ups
        .map(|up| (up, net.worse(up, downs[&net.far_end(up)])))
        .collect();
    net.answer(flow);
    let chosen = net.data(flow)[1];
    assert_eq!(Some(&levels[&chosen]), levels.values().min());
}

proptest! {
    #[test]
    fn between_pods_the_path_is_the_best_of_all_by_outer_hops_then_by_inner_hops(
        traffic in traffic(16, 4),
        src in 0u32..16,
        away in 4u32..13,
        seed in 0u64..1_000,
    ) {
        let dst = (src / 4 * 4 + away + src % 4) % 16;
        prop_assume!(src / 4 != dst / 4);
        let load_balancer = LoadBalancerConfig::Expeditus(LASTING);
        let mut net = Net::congested(fat_tree(), load_balancer, seed, &traffic);
        finds_the_best_path_between_pods(&mut net, tuple(src, dst, 9));
    }

    #[test]
    fn within_a_pod_one_stage_finds_the_best_path(
        traffic in traffic(16, 4),
        pod in 0u32..4,
        hosts in (0u32..2, 2u32..4),
        swapped in any::<bool>(),
        seed in 0u64..1_000,
    ) {
        let load_balancer = LoadBalancerConfig::Expeditus(LASTING);
        let mut net = Net::congested(fat_tree(), load_balancer, seed, &traffic);
        let (src, dst) = if swapped { (hosts.1, hosts.0) } else { hosts };
        finds_the_best_path_in_one_stage(&mut net, tuple(4 * pod + src, 4 * pod + dst, 9));
    }

    #[test]
    fn on_two_tiers_one_stage_finds_the_best_path(
        traffic in traffic(9, 5),
        src in 0u32..9,
        dst in 0u32..9,
        seed in 0u64..1_000,
    ) {
        prop_assume!(src / 3 != dst / 3);
        let load_balancer = LoadBalancerConfig::Expeditus(LASTING);
        let mut net = Net::congested(leaf_spine(), load_balancer, seed, &traffic);
        finds_the_best_path_in_one_stage(&mut net, tuple(src, dst, 9));
    }
}

/// Returns a configuration for each form of Expeditus, with default parameters.
fn forms() -> [LoadBalancerConfig; 2] {
    [
        LoadBalancerConfig::Expeditus(ExpeditusConfig::default()),
        LoadBalancerConfig::ExpeditusDeck(ExpeditusDeckConfig::default()),
    ]
}

/// Returns the switch ports on the way up that a flow between pods uses.
fn way(net: &mut Net, flow: FiveTuple) -> [u32; 2] {
    let taken = net.data(flow);
    [taken[1], taken[2]]
}

#[test]
fn ties_are_broken_evenly_over_all_paths() {
    for form in forms() {
        let mut chosen = BTreeMap::new();
        for seed in 0..400 {
            let mut net = Net::new(fat_tree(), form.clone(), seed);
            let flow = tuple(0, 13, 9);
            net.open(flow);
            net.answer(flow);
            *chosen.entry(way(&mut net, flow)).or_insert(0u32) += 1;
        }
        // 400 flows choose among 4 paths. The mean per path is 100, with a standard deviation of 8.7.
        assert_eq!(chosen.len(), 4);
        assert!(chosen.values().all(|n| (65..135).contains(n)), "{chosen:?}");
    }
}

#[test]
fn a_flow_keeps_the_path_that_its_handshake_found_whatever_happens_later() {
    for form in forms() {
        for seed in 0..20 {
            let mut net = Net::new(fat_tree(), form.clone(), seed);
            let flow = tuple(2, 9, 7);
            net.open(flow);
            let back = net.answer(flow);
            let chosen = way(&mut net, flow);
            let at = net.far_end(chosen[0]);
            // The answer has come down through the aggregation switch that the flow uses on its way up.
            let down = &net.topology.links[back[4] as usize];
            assert_eq!(down.from, Node::Switch(at));
            for n in 0..50 {
                for src_port in 100..103 {
                    net.data(tuple(3, 8 + n % 4, src_port));
                }
                assert_eq!(way(&mut net, flow), chosen, "{form:?}");
            }
        }
    }
}

#[test]
fn a_flow_that_nobody_knows_goes_by_ecmp() {
    for form in forms() {
        let flows = (1..30).map(|port| tuple(0, 13, port));
        for flow in flows {
            let mut ecmp = Net::new(fat_tree(), LoadBalancerConfig::Ecmp, 5);
            let mut net = Net::new(fat_tree(), form.clone(), 5);
            assert_eq!(net.data(flow), ecmp.data(flow));
            // A SYN uses ECMP, even if it is the second SYN with the same ports.
            assert_eq!(net.open(flow), ecmp.open(flow));
            net.answer(flow);
            assert_eq!(net.open(flow), ecmp.open(flow));
        }
    }
}

#[test]
fn lost_handshakes_leave_a_flow_routed_and_a_new_one_overwrites_the_old() {
    for form in forms() {
        let mut moved = 0;
        for seed in 0..40 {
            let mut net = Net::new(fat_tree(), form.clone(), seed);
            let flow = tuple(0, 13, 9);
            net.open(flow);
            net.answer(flow);
            let first = way(&mut net, flow);
            // This SYN has no effect, because its answer is lost. The stored route remains.
            net.open(flow);
            assert_eq!(way(&mut net, flow), first);
            // An answer arrives without its SYN. The SYN is then sent again.
            net.answer(flow);
            net.open(flow);
            net.answer(flow);
            let then = way(&mut net, flow);
            moved += u32::from(then != first);
            assert_eq!(way(&mut net, flow), then);
        }
        // Four paths are equally good. In three of four cases, the new path is different.
        assert!(
            (18..40).contains(&moved),
            "{moved} of 40 flows moved: {form:?}"
        );
    }
}

#[test]
fn an_idle_flow_is_forgotten_and_then_goes_by_ecmp() {
    for form in forms() {
        let mut net = Net::new(fat_tree(), form, 3);
        let flow = tuple(0, 13, 9);
        net.open(flow);
        net.answer(flow);
        let chosen = way(&mut net, flow);
        let after = |net: &mut Net, ms| net.now = net.now.saturating_add(Duration::from_ms(ms));
        after(&mut net, 99);
        assert_eq!(way(&mut net, flow), chosen);
        assert_eq!(net.fabric.balancer_state(net.now, 0).flows, 1);
        after(&mut net, 101);
        assert_eq!(net.fabric.balancer_state(net.now, 0).flows, 0);
        let mut ecmp = Net::new(fat_tree(), LoadBalancerConfig::Ecmp, 3);
        assert_eq!(net.data(flow), ecmp.data(flow));
    }
}

#[test]
fn a_switch_knows_two_values_an_uplink_whatever_the_size_of_the_network() {
    for k in [4, 8, 12] {
        let queue = drop_tail(Limit::Packets(100), None);
        let topology = common::fat_tree(k, wire(1, 100), wire(1, 100), queue);
        let state = |load_balancer, switch| {
            let net = Net::new(topology.clone(), load_balancer, 1);
            net.fabric.balancer_state(net.now, switch).congestion as u32
        };
        let (edge, aggregation, core) = (0, k * k / 2, k * k);
        let [expeditus, deck] = forms();
        for switch in [edge, aggregation] {
            assert_eq!(
                state(expeditus.clone(), switch),
                k,
                "two estimators for each of k/2 uplinks"
            );
            assert_eq!(
                state(deck.clone(), switch),
                k / 2,
                "one level for each of k/2 uplinks"
            );
        }
        assert_eq!(state(expeditus, core), 0);
        // CONGA needs two tables and k/2 estimators. Each table has k/2 entries for each of k*k/2 leaves.
        let conga = state(LoadBalancerConfig::Conga(CongaConfig::default()), edge);
        assert_eq!(conga, k / 2 + 2 * (k / 2) * (k * k / 2));
    }
}

#[test]
fn the_vector_and_the_tunnel_lengthen_packets_on_the_way_up_only() {
    let carried = |form, handshakes: &[fn(&mut Net, FiveTuple) -> Vec<u32>]| {
        let mut net = Net::new(fat_tree(), form, 1);
        let mut taken = Vec::new();
        for step in handshakes {
            taken = step(&mut net, tuple(0, 13, 9));
        }
        let bytes = |&port: &u32| net.fabric.port_report(net.now, PortId(port)).carried_bytes;
        taken.iter().map(bytes).collect::<Vec<u64>>()
    };
    let [expeditus, deck] = forms();
    // From the first switch to the last, the packet has three more bytes: the count and two levels.
    let open: fn(&mut Net, FiveTuple) -> Vec<u32> = Net::open;
    assert_eq!(
        carried(expeditus.clone(), &[open]),
        [78, 81, 81, 81, 81, 78]
    );
    let steps = [open, Net::answer];
    let answer = carried(expeditus, &steps);
    assert_eq!(
        answer[..4],
        [78, 78, 81, 81],
        "the vector is present after the aggregation switch"
    );
    let data = carried(deck, &[open, Net::answer, Net::data]);
    // The SYN used the same first link as the data. ECMP chose all later links.
    let with_tunnel = |bytes: u64| bytes == 1_558 || bytes == 1_558 + 81;
    assert!(with_tunnel(data[1]) && with_tunnel(data[2]), "{data:?}");
    // A packet that comes down has one more byte for the level.
    assert!(data[3] == 1_539 || data[3] == 1_539 + 82, "{data:?}");
}

#[test]
fn a_link_that_has_become_slow_is_as_loaded_as_its_new_rate_says() {
    let mut topology = fat_tree();
    let slow = LinkFault {
        a: Node::Switch(0),
        b: Node::Switch(8),
        number: None,
        trouble: Trouble::Slow(Rate::from_mbps(100)),
        from: Time::from_ns(1_000),
        until: Time::MAX,
        reconvergence: Duration::ZERO,
    };
    topology.add_faults(&[slow]).expect("a slow link");
    let mut faults = FaultPlan::of(&topology).expect("a fault");
    let mut net = Net::new(topology, LoadBalancerConfig::Expeditus(LASTING), 1);
    net.now = Time::from_ns(2_000);
    while net.fabric.delivery(net.now).is_some() {}
    let changed = faults.apply(net.now, &mut net.fabric);
    changed.expect("a link that can change");
    // The load is about 12 Mb/s in both directions over both uplinks of the first edge switch.
    for (src, dst) in [(0, 12), (12, 0)] {
        for path in [0, 1] {
            for _ in 0..20 {
                let packet = Packet {
                    src: HostId(src),
                    dst: HostId(dst),
                    size: 1_538,
                    path,
                    ..Packet::default()
                };
                net.fabric.inject(net.now, packet.src, packet, ());
            }
        }
    }
    net.now = Time::from_ns(15_000_000);
    while net.fabric.delivery(net.now).is_some() {}
    let [slow, usual] = net.uplinks(0)[..] else {
        panic!("two uplinks")
    };
    let (slow, usual) = (net.levels(slow), net.levels(usual));
    // The estimator has counted 20 packets. Its maximum is 2.5 MB, which is divided into 254 levels.
    assert_eq!(usual, (3, 3));
    assert_eq!(slow, (30, 30), "10 times the load");
}
