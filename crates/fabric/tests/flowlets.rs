//! Tests of LetFlow: a flow keeps its port while it sends packets, and may change the port after a pause.

mod common;

use common::{Deliveries, Faulty, drop_tail, leaf_spine, packet, wire};
use std::collections::BTreeSet;
use tailcut_fabric::load_balancer::{LetFlowConfig, LoadBalancerConfig};
use tailcut_fabric::queue::Limit;
use tailcut_fabric::topology::{LeafSpine, LinkFault, Node, Trouble};
use tailcut_fabric::{Fabric, FabricConfig, PortId};
use tailcut_units::{Duration, Time};

const GAP: Duration = Duration::from_us(20);

fn fabric(seed: u64) -> Fabric<u32> {
    let topology = leaf_spine(drop_tail(Limit::Packets(1_000), None));
    Fabric::new(
        &topology,
        &FabricConfig {
            load_balancer: LoadBalancerConfig::LetFlow(LetFlowConfig { gap: GAP }),
            seed,
            ..FabricConfig::default()
        },
    )
}

/// Returns the spine port at the first leaf for each packet. One flow sends the packets at the times `at_ns`.
fn spines(fabric: &mut Fabric<u32>, src_port: u16, at_ns: impl Iterator<Item = u64>) -> Vec<u32> {
    // Ports 0 to 11 are the uplinks of hosts. Ports 12 to 15 lead from the first leaf to its hosts.
    let uplinks = [12 + 4, 12 + 5];
    let sent = |fabric: &Fabric<u32>, port| {
        let report = fabric.port_report(Time::MAX, PortId(port));
        report.sent_packets
    };
    at_ns
        .map(|at| {
            let packet = packet(0, 9, 1_000, src_port);
            let before = uplinks.map(|port| sent(fabric, port));
            let at = Time::from_ns(at);
            fabric.inject(at, packet.src, packet, 0);
            while fabric
                .delivery(at.saturating_add(Duration::from_us(10)))
                .is_some()
            {}
            let after = uplinks.map(|port| sent(fabric, port));
            let taken = (0..2).find(|&i| after[i] > before[i]);
            uplinks[taken.expect("the packet leaves the rack")]
        })
        .collect()
}

#[test]
fn a_flow_keeps_its_port_while_no_gap_is_longer_than_the_limit() {
    for src_port in 1..50 {
        let mut fabric = fabric(7);
        // Each pause is equal to the gap, and therefore not longer than the gap.
        let ports = spines(&mut fabric, src_port, (0..40).map(|n| n * 20_000));
        assert!(ports.iter().all(|port| *port == ports[0]), "{ports:?}");
        let now = Time::from_ns(39 * 20_000);
        assert_eq!(fabric.balancer_state(now, 0).flows, 1);
        let later = now.saturating_add(Duration::from_us(40));
        assert_eq!(fabric.balancer_state(later, 0).flows, 0, "expired");
    }
}

#[test]
fn a_longer_gap_draws_a_port_anew_and_evenly() {
    let mut fabric = fabric(7);
    let ports = spines(&mut fabric, 1, (0..2_000).map(|n| n * 30_000));
    let first = ports.iter().filter(|port| **port == ports[0]).count();
    // The number has a binomial distribution with 2,000 trials. The mean is 1,000, with a standard deviation of 22.4.
    assert!((900..1_100).contains(&first), "{first} of 2,000");
}

#[test]
fn flows_draw_by_their_switch_and_seed_and_not_by_their_hash() {
    let ports = |seed| spines(&mut fabric(seed), 1, std::iter::once(0));
    let drawn: BTreeSet<u32> = (0..40).flat_map(ports).collect();
    assert_eq!(drawn.len(), 2);
    assert_eq!(ports(3), ports(3));
}

#[test]
fn a_flow_keeps_its_port_when_another_port_of_the_group_goes_or_returns() {
    let network = LeafSpine {
        leaves: 3,
        spines: 3,
        hosts_per_leaf: 4,
        host_links: 1,
        host_wire: wire(10, 1_000),
        spine_wire: wire(10, 1_000),
        queue: drop_tail(Limit::Packets(1_000), None),
        shared_buffer: None,
    };
    let mut topology = network.build().expect("a network");
    let us = |us| Time::ZERO + Duration::from_us(us);
    // The link from the first leaf to the first spine is down for a part of the run. Routing reacts immediately.
    topology
        .add_faults(&[LinkFault {
            number: None,
            a: Node::Switch(0),
            b: Node::Switch(topology.tier(1).start),
            trouble: Trouble::Down,
            from: us(500),
            until: us(1_000),
            reconvergence: Duration::ZERO,
        }])
        .expect("a link");
    let mut stayed = 0;
    for seed in 1..20 {
        let config = FabricConfig {
            load_balancer: LoadBalancerConfig::LetFlow(LetFlowConfig { gap: GAP }),
            seed,
            ..FabricConfig::default()
        };
        let mut fabric = Faulty::new(&topology, &config);
        let uplinks = [12 + 4, 12 + 5, 12 + 6];
        let mut taken = Vec::new();
        for n in 0..100 {
            let at = us(n * 15);
            assert!(fabric.delivery(at).is_none());
            let sent = |fabric: &Faulty<u32>| {
                uplinks.map(|port| fabric.port_report(Time::MAX, PortId(port)).sent_packets)
            };
            let before = sent(&fabric);
            let packet = packet(0, 9, 1_000, 1);
            fabric.inject(at, packet.src, packet, 0);
            while fabric
                .delivery(at.saturating_add(Duration::from_us(10)))
                .is_some()
            {}
            let after = sent(&fabric);
            taken.push((0..3).find(|&i| after[i] > before[i]).expect("it leaves"));
        }
        // A flow on another spine stays there. A flow on the first spine moves once, when the link fails.
        let moves = taken.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(moves, usize::from(taken[0] == 0), "{taken:?}");
        stayed += usize::from(taken[0] > 0);
    }
    assert!((1..19).contains(&stayed), "{stayed} of 19");
}
