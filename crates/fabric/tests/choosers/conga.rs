//! Tests of CONGA on three tiers: the choice of paths for flowlets between pods.

use crate::common::{Deliveries, tuple};
use crate::net::{Net, fat_tree};
use std::collections::BTreeMap;
use tailcut_fabric::Packet;
use tailcut_fabric::load_balancer::{BetweenPods, CongaConfig, LoadBalancerConfig};
use tailcut_units::{Duration, HostId, Time};

/// Returns the paths of new flows from h0 to `dst`, and the number of flows on each path.
/// During the handshakes, the traffic `busy` loads the path over the first aggregation switch and the first core.
/// Each path has two flags: whether it uses the first aggregation switch, and whether it uses the first core.
fn ways_beside(
    busy: (HostId, HostId),
    dst: HostId,
    between_pods: BetweenPods,
) -> BTreeMap<[bool; 2], u32> {
    let mut ways = BTreeMap::new();
    for seed in 0..200 {
        let load_balancer = LoadBalancerConfig::Conga(CongaConfig {
            between_pods,
            ..CongaConfig::default()
        });
        let mut net = Net::new(fat_tree(), load_balancer, seed);
        for _ in 0..8 {
            let packet = Packet {
                src: busy.0,
                dst: busy.1,
                size: 1_538,
                path: 0,
                ..Packet::default()
            };
            net.fabric.inject(net.now, packet.src, packet, ());
        }
        net.now = Time::ZERO.saturating_add(Duration::from_us(180));
        while net.fabric.delivery(net.now).is_some() {}
        let taken = net.data(tuple(0, dst.0, 9));
        // Switch 0 is the edge switch of h0. Switch 8 is the first aggregation switch above it.
        let first = taken[1] == net.uplinks(0)[0];
        let second = first && taken[2] == net.uplinks(8)[0];
        *ways.entry([first, second]).or_default() += 1;
    }
    ways
}

const SAME_EDGE: HostId = HostId(1);
/// Host in another pod than h0.
const ELSEWHERE: HostId = HostId(13);

/// Returns whether `count` is about half of 200. The mean is 100, with a standard deviation of 7.1.
fn is_half(count: u32) -> bool {
    (70..130).contains(&count)
}

#[test]
fn a_leaf_avoids_its_own_busy_uplink_also_between_pods_unless_it_goes_by_chance() {
    let over_busy = |between_pods| {
        let ways = ways_beside((SAME_EDGE, HostId(12)), ELSEWHERE, between_pods);
        ways.iter()
            .filter(|([first, _], _)| *first)
            .map(|(_, n)| n)
            .sum::<u32>()
    };
    assert_eq!(over_busy(BetweenPods::Leaf), 0);
    assert_eq!(over_busy(BetweenPods::LeafAndCore), 0);
    assert!(is_half(over_busy(BetweenPods::Random)));
}

#[test]
fn the_core_is_left_to_ecmp_unless_aggregation_switches_choose_it() {
    // The load comes from another edge switch and passes the same aggregation switches.
    let other_edge = (HostId(2), HostId(12));
    for between_pods in [BetweenPods::Leaf, BetweenPods::Random] {
        let ways = ways_beside(other_edge, ELSEWHERE, between_pods);
        let [to_busy, to_other] = [[true, true], [true, false]].map(|way| ways[&way]);
        assert!(is_half(to_busy + to_other), "{ways:?}");
        // About 50 of 100 packets are expected. The standard deviation is 5.
        assert!((30..70).contains(&to_busy), "{ways:?}");
    }
    let ways = ways_beside(other_edge, ELSEWHERE, BetweenPods::LeafAndCore);
    assert!(!ways.contains_key(&[true, true]), "{ways:?}");
    assert!(is_half(ways[&[true, false]]), "{ways:?}");
}

#[test]
fn where_leaves_go_by_chance_between_pods_they_still_choose_within_one() {
    let ways = ways_beside((SAME_EDGE, HostId(2)), HostId(3), BetweenPods::Random);
    assert_eq!(ways, BTreeMap::from([([false, false], 200)]));
}

#[test]
fn a_leaf_avoids_a_path_that_it_was_told_is_busy_further_on() {
    let mut over_first = [0, 0];
    for (told, over_first) in [false, true].into_iter().zip(&mut over_first) {
        for seed in 0..100 {
            let load_balancer = LoadBalancerConfig::Conga(CongaConfig::default());
            let mut net = Net::new(fat_tree(), load_balancer, seed);
            let send = |net: &mut Net, src, dst, packets| {
                for _ in 0..packets {
                    let packet = Packet {
                        src: HostId(src),
                        dst: HostId(dst),
                        size: 1_538,
                        path: 0,
                        ..Packet::default()
                    };
                    net.fabric.inject(net.now, packet.src, packet, ());
                }
                net.now = net.now.saturating_add(Duration::from_us(100));
                while net.fabric.delivery(net.now).is_some() {}
            };
            // Packets from another pod load the path from the first aggregation switch to the second edge switch.
            send(&mut net, 12, 2, 8);
            // The next packet meets a loaded path.
            // If `told` is true, an answer reports the load to the first edge switch.
            send(&mut net, 0, 3, 1);
            if told {
                send(&mut net, 2, 1, 2);
            }
            // The switch's own uplink has been idle for many time constants, but the report is still valid.
            net.now = net.now.saturating_add(Duration::from_ms(2));
            *over_first += u32::from(net.data(tuple(1, 2, 9))[1] == net.uplinks(0)[0]);
        }
    }
    assert!((30..70).contains(&over_first[0]), "{over_first:?}");
    assert_eq!(over_first[1], 0);
}
