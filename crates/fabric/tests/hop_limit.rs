//! Tests of switches that are routers.
//! A packet is dropped at the switch where its hop limit ends, and the switch may answer.

mod common;

use common::{drop_tail, fat_tree, packet, wire};
use tailcut_fabric::load_balancer::{CongaConfig, ExpeditusConfig, LoadBalancerConfig};
use tailcut_fabric::queue::{DropReason, Limit};
use tailcut_fabric::{Fabric, FabricConfig, Output, Packet};
use tailcut_units::{HostId, Time};

fn limited(hop_limit: u8) -> Packet {
    Packet {
        hop_limit,
        ..packet(0, 15, 84, 7)
    }
}

fn fabric(load_balancer: LoadBalancerConfig) -> Fabric<u8> {
    let queue = drop_tail(Limit::Packets(10), None);
    let topology = fat_tree(4, wire(10, 500), wire(10, 500), queue);
    let config = FabricConfig {
        load_balancer,
        ..FabricConfig::default()
    };
    Fabric::new(&topology, &config)
}

/// Returns where a packet from host 0 to host 15 ends, and how many links it has passed.
/// The end is a switch, or `None` for the destination host.
fn end(fabric: &mut Fabric<u8>, hop_limit: u8) -> (Option<u32>, u8) {
    let start = fabric.now();
    fabric.inject(start, HostId(0), limited(hop_limit), hop_limit);
    match fabric.advance(Time::MAX).expect("it comes out") {
        Output::Delivered(delivery) => (None, delivery.packet.hops),
        Output::Dropped(dropped) => {
            assert_eq!((dropped.reason, dropped.port), (DropReason::HopLimit, None));
            assert_eq!(dropped.body, hop_limit);
            (dropped.ended_at, dropped.packet.hops)
        }
    }
}

#[test]
fn a_packet_ends_at_the_switch_that_its_hop_limit_leads_to() {
    let mut fabric = fabric(LoadBalancerConfig::Ecmp);
    let ends: Vec<(Option<u32>, u8)> = (1..=7).map(|limit| end(&mut fabric, limit)).collect();
    // The path has five switches: edge, aggregation, core, aggregation, edge.
    let switches: Vec<u32> = ends.iter().filter_map(|(switch, _)| *switch).collect();
    assert_eq!(switches.len(), 5);
    assert_eq!(switches[0], 0, "the first edge");
    let hops: Vec<u8> = ends.iter().map(|(_, hops)| *hops).collect();
    assert_eq!(hops, [1, 2, 3, 4, 5, 6, 6]);
    assert_eq!(end(&mut fabric, 0), (None, 6), "no limit");
    assert_eq!(fabric.drops().hop_limit.packets, 5);
    let out = fabric.delivered().packets + fabric.drops().hop_limit.packets;
    assert_eq!(fabric.injected().packets, out);
}

#[test]
fn a_switch_answers_over_the_links_that_lead_back() {
    let balancers = [
        LoadBalancerConfig::Ecmp,
        LoadBalancerConfig::Conga(CongaConfig::default()),
        LoadBalancerConfig::Expeditus(ExpeditusConfig::default()),
    ];
    for balancer in balancers {
        let mut fabric = fabric(balancer);
        for limit in 1..=5 {
            let (switch, hops) = end(&mut fabric, limit);
            let asked = fabric.now();
            let answer = packet(15, 0, 84, 7);
            fabric.inject_at_switch(switch.expect("a switch"), answer, 99);
            let Some(Output::Delivered(told)) = fabric.advance(Time::MAX) else {
                panic!("no answer from the switch {hops} links away");
            };
            assert_eq!(
                (told.host, told.body, told.packet.hops),
                (HostId(0), 99, hops)
            );
            // Each link takes the transmission time of 84 bytes at 10 Gb/s, and 500 ns of delay.
            let takes = told.time.since(asked);
            assert_eq!(takes.as_ps(), u64::from(hops) * (67_200 + 500_000));
        }
        assert_eq!(fabric.injected().packets, 10);
        assert_eq!(fabric.delivered().packets, 5);
    }
}

#[test]
fn an_answer_to_nobody_or_from_nowhere_is_dropped_and_counted() {
    let mut fabric = fabric(LoadBalancerConfig::Ecmp);
    fabric.inject_at_switch(9_999, packet(15, 0, 84, 7), 1);
    fabric.inject_at_switch(0, packet(15, 99, 84, 7), 2);
    for _ in 0..2 {
        let Some(Output::Dropped(dropped)) = fabric.advance(Time::MAX) else {
            panic!("it comes out");
        };
        assert_eq!(dropped.reason, DropReason::UnknownAddress);
    }
}
