//! Tests of the first form of Expeditus: the switch's own queues and the levels from higher switches decide.

use crate::common::{self, Deliveries, drop_tail, tuple, wire};
use crate::net::Net;
use proptest::prelude::*;

use tailcut_fabric::load_balancer::{Combination, ExpeditusDeckConfig, LoadBalancerConfig};
use tailcut_fabric::queue::{Limit, QueueConfig, Sharing, Trimming, Victim};
use tailcut_fabric::topology::{CustomLink, CustomTopology, Node, NodeNames, Topology, Wire};
use tailcut_fabric::{Delivery, Packet, PortId};
use tailcut_units::{Bytes, Duration, FiveTuple, HostId, Rate, Time};

/// Number of spines. The handshake of the tests uses the last spine.
const SPINES: u32 = 4;

/// Returns a network of four leaves with three hosts each.
/// The uplinks of the first leaf are very slow.
/// The queues of the first leaf's uplinks therefore do not change during a handshake over the last uplink.
fn crawling() -> Topology {
    let (host, switch) = (|host| Node::Host(HostId(host)), Node::Switch);
    let fast = wire(1, 100);
    // A packet of 1,000 B takes 0.8 ms, and a packet of a handshake takes 65 us.
    let slow = Wire {
        rate: Rate::from_mbps(10),
        ..fast
    };
    let link = |a, b, wire| CustomLink { a, b, wire };
    let mut links: Vec<CustomLink> = (0..12)
        .map(|h| link(host(h), switch(h / 3), fast))
        .collect();
    for leaf in 0..4 {
        for spine in 0..SPINES {
            let wire = if leaf == 0 { slow } else { fast };
            links.push(link(switch(leaf), switch(4 + spine), wire));
        }
    }
    let custom = CustomTopology {
        hosts: 12,
        switches: 4 + SPINES,
        links,
        queue: drop_tail(Limit::Packets(1_000), None),
        shared_buffer: None,
        names: NodeNames::default(),
    };
    custom.build().expect("four leaves")
}

/// Returns a flow from the first leaf to the second. For its SYN and its SYN-ACK, ECMP chooses the last spine.
fn over_the_last_spine(seed: u64) -> FiveTuple {
    let over_last = |net: &mut Net, flow: FiveTuple| {
        let up = [0, 3].map(|host| net.uplinks(net.topology.racks[host])[SPINES as usize - 1]);
        [(flow, up[0]), (flow.reversed(), up[1])]
            .iter()
            .all(|&(flow, last)| net.uplink_of(flow) == last)
    };
    let mut net = Net::new(crawling(), LoadBalancerConfig::Ecmp, seed);
    let flows = (1..u16::MAX).map(|port| tuple(0, 3, port));
    let found = flows.into_iter().find(|&flow| over_last(&mut net, flow));
    found.expect("a flow over the last spine")
}

proptest! {
    #[test]
    fn the_path_is_the_best_by_own_queues_and_those_heard_of(
        queued in proptest::collection::vec(1u8..12, SPINES as usize),
        bursts in proptest::collection::vec(0u32..12, SPINES as usize),
        sums in any::<bool>(),
        seed in 0u64..1_000,
    ) {
        let combination = if sums { Combination::Sum } else { Combination::Max };
        let form = LoadBalancerConfig::ExpeditusDeck(ExpeditusDeckConfig {
            combination,
            level_bytes: Bytes(1_000),
            heard_timeout: Duration::from_ms(100),
            ..ExpeditusDeckConfig::default()
        });
        let mut net = Net::new(crawling(), form, seed);
        let packet = |src, dst, path| Packet {
            src: HostId(src),
            dst: HostId(dst),
            size: 1_000,
            path,
            ..Packet::default()
        };
        // Two leaves send to the second leaf at the same time.
        // The last packet over each spine reports the length of the queue at this spine.
        for (path, &packets) in (0..).zip(&bursts) {
            for _ in 0..packets {
                for src in [6, 9] {
                    net.fabric.inject(net.now, HostId(src), packet(src, 3, path), ());
                }
            }
        }
        net.now = Time::from_ns(3_000_000);
        while net.fabric.delivery(net.now).is_some() {}
        let flow = over_the_last_spine(seed);
        net.open(flow);
        // The queued packets wait at the first leaf when the answer arrives.
        // Each uplink also has one packet in service.
        for (path, &packets) in (0..).zip(&queued) {
            for _ in 0..packets {
                net.fabric.inject(net.now, HostId(1), packet(1, 4, path), ());
            }
        }
        net.now = net.now.saturating_add(Duration::from_us(400));
        while net.fabric.delivery(net.now).is_some() {}
        net.answer(flow);
        let (up, down) = (net.uplinks(0), net.uplinks(1));
        let waiting: Vec<u8> = queued.iter().map(|packets| packets - 1).collect();
        let own: Vec<u8> = up.iter().map(|&port| net.levels(port).0).collect();
        prop_assert_eq!(&own, &waiting);
        let heard: Vec<u8> = down.iter().map(|&port| net.levels(port).1).collect();
        // Both leaves send the same number of packets, so half of the packets wait.
        // The last spine is left out, because the SYN has reported its level later.
        for (&packets, &heard) in bursts.iter().zip(&heard).take(SPINES as usize - 1) {
            prop_assert!(heard.abs_diff(packets as u8) <= 1, "{heard} of {packets}");
        }
        let both = waiting.iter().zip(&heard);
        let levels: Vec<u8> = both
            .map(|(&own, &heard)| if sums { own + heard } else { own.max(heard) })
            .collect();
        let chosen = net.uplink_of(flow);
        let chosen = up.iter().position(|&port| port == chosen).expect("an uplink");
        prop_assert_eq!(Some(&levels[chosen]), levels.iter().min());
    }
}

#[test]
fn a_packet_that_comes_down_carries_what_it_tells_and_takes_the_bytes_of_it() {
    let flow = tuple(0, 3, 80);
    let carried = |southbound_bytes| {
        let form = LoadBalancerConfig::ExpeditusDeck(ExpeditusDeckConfig {
            southbound_bytes,
            ..ExpeditusDeckConfig::default()
        });
        let topology = crate::net::fat_tree();
        let mut net = Net::new(topology, form, 7);
        let across = FiveTuple {
            dst: HostId(15),
            ..flow
        };
        let taken = net.data(across);
        let bytes = |port: &u32| {
            let report = net.fabric.port_report(net.now, PortId(*port));
            report.carried_bytes
        };
        taken.iter().map(bytes).collect::<Vec<u64>>()
    };
    // Without a route, the packet takes two hops up to a core and two hops down. The host receives the original size.
    assert_eq!(carried(0), [1_538; 6]);
    assert_eq!(carried(1), [1_538, 1_538, 1_538, 1_539, 1_539, 1_538]);
    assert_eq!(carried(8)[3..5], [1_546, 1_546]);
}

#[test]
fn a_packet_that_is_trimmed_while_it_tells_keeps_the_bytes_of_it_until_it_comes_out() {
    let form = LoadBalancerConfig::ExpeditusDeck(ExpeditusDeckConfig {
        southbound_bytes: 8,
        ..ExpeditusDeckConfig::default()
    });
    let queue = QueueConfig::Trimming(Trimming {
        classes: 1,
        data_limit: Limit::Packets(8),
        header_limit_bytes: 1_000_000,
        headers_per_data: 10,
        victim: Victim::Coin,
        sharing: Sharing::Shared,
        return_to_sender: false,
    });
    let topology = common::fat_tree(4, wire(1, 100), wire(1, 100), queue);
    let mut net = Net::new(topology, form, 7);
    // Twelve hosts of the other pods send to one host. Their packets form queues on the way down.
    for n in 0..20 {
        for src in 4..16 {
            let packet = Packet {
                src: HostId(src),
                dst: HostId(0),
                size: 1_538,
                trimmed_size: 78,
                ..Packet::default()
            };
            let at = Time::from_ns(n * 12_304);
            net.fabric.inject(at, HostId(src), packet, ());
        }
    }
    let (mut whole, mut headers) = (0, 0);
    while let Some(Delivery { packet, .. }) = net.fabric.delivery(Time::MAX) {
        assert_eq!(packet.trimmed_size, 78);
        assert_eq!(packet.size, if packet.trimmed { 78 } else { 1_538 });
        *(if packet.trimmed {
            &mut headers
        } else {
            &mut whole
        }) += 1;
    }
    assert_eq!(whole + headers, 240);
    assert!(headers > 0);
}
