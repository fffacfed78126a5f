//! Tests of the order of packets.
//! If a path is chosen once per flow or flowlet, packets of the same flow or flowlet are never reordered.

mod common;

use common::{Deliveries, drop_tail, packet, wire};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tailcut_fabric::load_balancer::{
    CongaConfig, ExpeditusConfig, ExpeditusDeckConfig, LetFlowConfig, LoadBalancerConfig,
    OmniscientConfig,
};
use tailcut_fabric::queue::Limit;
use tailcut_fabric::topology::{LeafSpine, Topology};
use tailcut_fabric::{Delivery, Fabric, FabricConfig, Handshake};
use tailcut_units::{Duration, Time};

fn leaf_spine() -> Topology {
    LeafSpine {
        leaves: 4,
        spines: 4,
        hosts_per_leaf: 4,
        host_links: 1,
        host_wire: wire(10, 100),
        // The links to spines are slow, so that queues form.
        spine_wire: wire(2, 100),
        queue: drop_tail(Limit::Packets(30), None),
        shared_buffer: None,
    }
    .build()
    .expect("a leaf-spine network")
}

fn fat_tree() -> Topology {
    let queue = drop_tail(Limit::Packets(30), None);
    common::fat_tree(4, wire(10, 100), wire(2, 100), queue)
}

/// Packets to send: the time in nanoseconds and the flow of each. A flow has two hosts and a port.
type Sends = Vec<(u64, (u32, u32, u16))>;

/// Sends the packets, after a handshake of each flow. Returns the arrivals of each flow, in order.
fn arrivals(
    topology: &Topology,
    load_balancer: LoadBalancerConfig,
    sends: &Sends,
) -> BTreeMap<(u32, u32, u16), Vec<u64>> {
    let config = FabricConfig {
        load_balancer,
        seed: 5,
        ..FabricConfig::default()
    };
    let mut fabric: Fabric<(u64, (u32, u32, u16))> = Fabric::new(topology, &config);
    let mut flows: Vec<(u32, u32, u16)> = sends.iter().map(|send| send.1).collect();
    flows.sort_unstable();
    flows.dedup();
    let handshake = |fabric: &mut Fabric<_>, at: u64, (src, dst, port): (u32, u32, u16)| {
        let (there, back) = (packet(src, dst, 78, port), packet(dst, src, 78, port));
        let at = Time::from_ns(at);
        for (delay, first, second, step) in [
            (0, there, back, Handshake::Open),
            (20, back, there, Handshake::Answer),
        ] {
            let at = at.saturating_add(Duration::from_us(delay));
            let mut packet = first;
            packet.handshake = step;
            fabric.inject_with(
                at,
                packet.src,
                packet,
                common::answers(second.flow_hash),
                (0, (0, 0, 0)),
            );
            while fabric
                .delivery(at.saturating_add(Duration::from_us(19)))
                .is_some()
            {}
        }
    };
    for (number, &flow) in flows.iter().enumerate() {
        handshake(&mut fabric, 40_000 * number as u64, flow);
    }
    let start = 40_000 * flows.len() as u64;
    let mut arrived: BTreeMap<(u32, u32, u16), Vec<u64>> = BTreeMap::new();
    let mut note = |delivery: Delivery<(u64, (u32, u32, u16))>| {
        let (number, flow) = delivery.body;
        arrived.entry(flow).or_default().push(number);
    };
    for (number, &(at, flow)) in sends.iter().enumerate() {
        let at = Time::from_ns(start + at);
        while let Some(delivery) = fabric.delivery(at) {
            note(delivery);
        }
        let (src, dst, port) = flow;
        let packet = packet(src, dst, 1_538, port);
        fabric.inject(at, packet.src, packet, (number as u64, flow));
    }
    while let Some(delivery) = fabric.delivery(Time::MAX) {
        note(delivery);
    }
    arrived
}

/// Generates up to 300 packets of a few flows. The average load is twice the capacity of the links between switches.
fn sends(hosts: u32) -> impl Strategy<Value = Sends> {
    let flow = (0..hosts, 1..hosts, 0u16..2);
    let packets = proptest::collection::vec((0u64..400, flow), 50..300);
    packets.prop_map(move |packets| {
        let mut at = 0;
        let sends = packets.into_iter().map(|(pause, (src, away, port))| {
            at += pause;
            (at, (src, (src + away) % hosts, port))
        });
        sends.collect()
    })
}

fn in_order(arrived: &BTreeMap<(u32, u32, u16), Vec<u64>>) -> bool {
    let mut flows = arrived.values();
    flows.all(|numbers| numbers.windows(2).all(|pair| pair[0] < pair[1]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_flow_whose_path_is_chosen_once_arrives_in_order(sends in sends(16)) {
        for load_balancer in [
            LoadBalancerConfig::Ecmp,
            LoadBalancerConfig::Expeditus(ExpeditusConfig::default()),
            LoadBalancerConfig::ExpeditusDeck(ExpeditusDeckConfig::default()),
            LoadBalancerConfig::Omniscient(OmniscientConfig::default()),
        ] {
            for topology in [fat_tree(), leaf_spine()] {
                let arrived = arrivals(&topology, load_balancer.clone(), &sends);
                prop_assert!(in_order(&arrived), "{load_balancer:?}: {arrived:?}");
            }
        }
    }

    #[test]
    fn a_flowlet_arrives_in_order_however_its_path_was_chosen(sends in sends(16)) {
        // All packets are sent within 300 times 400 ns. No flow therefore has a pause that is longer than the gap.
        for load_balancer in [
            LoadBalancerConfig::LetFlow(LetFlowConfig::default()),
            LoadBalancerConfig::Conga(CongaConfig::default()),
        ] {
            let arrived = arrivals(&leaf_spine(), load_balancer.clone(), &sends);
            prop_assert!(in_order(&arrived), "{load_balancer:?}: {arrived:?}");
        }
    }
}

#[test]
fn spraying_the_same_packets_reorders_them() {
    let sends: Sends = (0..200).map(|n| (n * 100, (n as u32 % 4, 8, 1))).collect();
    let arrived = arrivals(&leaf_spine(), LoadBalancerConfig::Spray, &sends);
    assert!(
        !in_order(&arrived),
        "spraying reorders packets, so the other tests can fail"
    );
}
