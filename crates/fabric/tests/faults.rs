//! Tests of links that fail, slow down and recover: lost packets, transmission times, and detours.

mod common;

use common::{Faulty, drop_tail, packet, wire};
use proptest::prelude::*;
use std::collections::BTreeSet;
use tailcut_fabric::load_balancer::{
    CongaConfig, ExpeditusConfig, ExpeditusDeckConfig, LetFlowConfig, LoadBalancerConfig,
    OmniscientConfig,
};
use tailcut_fabric::queue::{Limit, QueueConfig};
use tailcut_fabric::topology::{
    CustomLink, CustomTopology, LeafSpine, LinkFault, Node, NodeNames, SingleSwitch, Topology,
    Trouble,
};
use tailcut_fabric::{FabricConfig, Handshake, PortEvents, PortId};
use tailcut_units::{Duration, HostId, Rate, Time};

const fn us(us: u64) -> Time {
    Time::from_ns(1_000 * us)
}

fn queue() -> QueueConfig {
    drop_tail(Limit::Packets(1_000), None)
}

/// Returns a network with two leaves of two hosts each and three spines. All links have 10 Gb/s.
fn leaf_spine() -> Topology {
    LeafSpine {
        leaves: 2,
        spines: 3,
        hosts_per_leaf: 2,
        host_links: 1,
        host_wire: wire(10, 100),
        spine_wire: wire(10, 100),
        queue: queue(),
        shared_buffer: None,
    }
    .build()
    .expect("a leaf-spine network")
}

fn fat_tree() -> Topology {
    common::fat_tree(4, wire(10, 100), wire(10, 100), queue())
}

/// Returns a ring of four switches with one host each.
fn ring() -> Topology {
    let mut links = Vec::new();
    for number in 0..4 {
        let (host, switch) = (Node::Host(HostId(number)), Node::Switch(number));
        let wire = wire(10, 100);
        links.push(CustomLink {
            a: host,
            b: switch,
            wire,
        });
        let next = Node::Switch((number + 1) % 4);
        links.push(CustomLink {
            a: switch,
            b: next,
            wire,
        });
    }
    CustomTopology {
        hosts: 4,
        switches: 4,
        links,
        queue: queue(),
        shared_buffer: None,
        names: NodeNames::default(),
    }
    .build()
    .expect("a ring")
}

fn down(a: Node, b: Node, from: Time, until: Time, reconvergence: Duration) -> LinkFault {
    LinkFault {
        a,
        b,
        number: None,
        trouble: Trouble::Down,
        from,
        until,
        reconvergence,
    }
}

fn with(mut topology: Topology, faults: &[LinkFault]) -> Topology {
    topology.add_faults(faults).expect("sound faults");
    topology
}

fn fabric(topology: &Topology, load_balancer: LoadBalancerConfig) -> Faulty<u32> {
    let config = FabricConfig {
        load_balancer,
        seed: 1,
        ..FabricConfig::default()
    };
    Faulty::new(topology, &config)
}

/// Returns whether a packet that is sent at `at` reaches its destination.
fn arrives(fabric: &mut Faulty<u32>, at: Time, src: u32, dst: u32, src_port: u16) -> bool {
    assert!(fabric.delivery(at).is_none());
    fabric.inject(at, HostId(src), packet(src, dst, 1_000, src_port), 0);
    fabric
        .delivery(at.saturating_add(Duration::from_us(20)))
        .is_some()
}

fn choosers() -> [LoadBalancerConfig; 7] {
    [
        LoadBalancerConfig::Ecmp,
        LoadBalancerConfig::Spray,
        LoadBalancerConfig::LetFlow(LetFlowConfig::default()),
        LoadBalancerConfig::Conga(CongaConfig::default()),
        LoadBalancerConfig::Expeditus(ExpeditusConfig::default()),
        LoadBalancerConfig::ExpeditusDeck(ExpeditusDeckConfig::default()),
        LoadBalancerConfig::Omniscient(OmniscientConfig::default()),
    ]
}

#[test]
fn packets_are_lost_on_a_dead_link_until_routing_has_noticed_and_never_after() {
    // The link is down from 1 ms to 3 ms. Routing reacts to each change half a millisecond later.
    let (leaf, spine) = (Node::Switch(0), Node::Switch(3));
    let fault = down(leaf, spine, us(1_000), us(3_000), Duration::from_us(500));
    let topology = with(leaf_spine(), &[fault]);
    let mut fabric = fabric(&topology, LoadBalancerConfig::Spray);
    let mut lost = [0; 4];
    for n in 0..400 {
        let at = us(10 + 10 * n);
        let phase = match at {
            at if at < us(1_000) => 0,
            at if at < us(1_500) => 1,
            at if at < us(3_500) => 2,
            _ => 3,
        };
        lost[phase] += u32::from(!arrives(&mut fabric, at, n as u32 % 2, 2, 1));
    }
    // About a third of the 50 packets in the second phase are lost.
    // The mean of this binomial distribution is 16.7, with a standard deviation of 3.3.
    assert!((5..30).contains(&lost[1]), "{lost:?}");
    assert_eq!([lost[0], lost[2], lost[3]], [0, 0, 0]);
    let drops = fabric.drops();
    assert_eq!(drops.link_down.packets, u64::from(lost[1]));
    let now = us(5_000);
    let sent = |port| fabric.port_report(now, PortId(port)).sent_packets;
    // Ports 0 to 3 are the uplinks of hosts. The leaf has ports 4 and 5 to its hosts, and then three ports to spines.
    // From 3.5 ms, packets use all three ports to spines.
    assert!(sent(4 + 2) > 0 && sent(4 + 3) > 0 && sent(4 + 4) > 0);
    let injected = fabric.injected();
    let accounted = fabric.delivered().packets + drops.link_down.packets;
    assert_eq!(injected.packets, accounted);
}

#[test]
fn a_link_that_is_down_from_the_start_is_avoided_from_the_start() {
    for load_balancer in choosers() {
        let fault = down(
            Node::Switch(0),
            Node::Switch(3),
            Time::ZERO,
            Time::MAX,
            Duration::from_ms(9),
        );
        let mut fabric = fabric(&with(leaf_spine(), &[fault]), load_balancer);
        for n in 0..200 {
            let (src, dst) = if n % 2 == 0 { (0, 2) } else { (3, 1) };
            assert!(arrives(&mut fabric, us(1 + 30 * n), src, dst, n as u16));
        }
        assert_eq!(fabric.drops().link_down.packets, 0);
    }
}

#[test]
fn on_every_network_a_host_that_is_cut_off_is_given_up_after_a_while() {
    let networks = [
        SingleSwitch {
            hosts: 4,
            host_wire: wire(10, 100),
            queue: queue(),
            shared_buffer: None,
        }
        .build()
        .expect("a switch"),
        leaf_spine(),
        fat_tree(),
        ring(),
    ];
    for topology in networks {
        let host = Node::Host(HostId(3));
        let rack = Node::Switch(topology.racks[3]);
        let fault = down(rack, host, us(100), us(600), Duration::from_us(200));
        let mut fabric = fabric(&with(topology, &[fault]), LoadBalancerConfig::Ecmp);
        assert!(arrives(&mut fabric, us(1), 0, 3, 1));
        assert!(!arrives(&mut fabric, us(110), 0, 3, 1));
        assert_eq!(fabric.drops().link_down.packets, 1);
        assert!(!arrives(&mut fabric, us(310), 0, 3, 1));
        assert_eq!(fabric.drops().no_route.packets, 1);
        // The link is up again, but routing has not reacted yet.
        assert!(!arrives(&mut fabric, us(650), 0, 3, 1));
        assert_eq!(fabric.drops().no_route.packets, 2);
        assert!(arrives(&mut fabric, us(810), 0, 3, 1));
    }
}

#[test]
fn a_detour_is_taken_where_no_shortest_path_is_left() {
    let fault = down(
        Node::Switch(0),
        Node::Switch(1),
        us(0),
        Time::MAX,
        Duration::ZERO,
    );
    let mut fabric = fabric(&with(ring(), &[fault]), LoadBalancerConfig::Ecmp);
    assert!(arrives(&mut fabric, us(1), 0, 1, 1));
    // The packet crosses the link of its host, three links of the ring, and the link of the destination.
    assert_eq!(fabric.packet_hops(), 5);
}

#[test]
fn a_failure_between_aggregation_and_core_moves_only_what_crossed_it() {
    // The fault is on the link between aggregation switch 8 (the first of pod 0) and core 16.
    // Other pods must not use this core to reach pod 0.
    let fault = down(
        Node::Switch(8),
        Node::Switch(16),
        us(0),
        Time::MAX,
        Duration::ZERO,
    );
    for load_balancer in choosers() {
        let topology = with(fat_tree(), &[fault]);
        let mut fabric = fabric(&topology, load_balancer.clone());
        for n in 0..300 {
            let (src, dst) = [(0, 15), (15, 0), (9, 1), (5, 12)][n as usize % 4];
            assert!(
                arrives(&mut fabric, us(1 + 30 * n), src, dst, n as u16),
                "{load_balancer:?}"
            );
        }
        // Pods 1 and 3 still use this core for traffic between each other.
        let names = (0..fabric.port_count()).map(|port| (port, topology.port_name(port)));
        let through: u64 = names
            .filter(|(_, name)| name.as_deref().is_some_and(|name| name.starts_with("s16>")))
            .map(|(port, _)| fabric.port_report(us(10_000), PortId(port)).sent_packets)
            .sum();
        assert!(through > 0, "{load_balancer:?}");
    }
}

#[test]
fn a_slow_link_takes_as_long_as_its_rate_says_and_only_while_it_is_slow() {
    let gigabit = Rate::from_gbps(1);
    for port_events in [PortEvents::OneWherePossible, PortEvents::Two] {
        let fault = LinkFault {
            a: Node::Host(HostId(1)),
            b: Node::Switch(0),
            number: None,
            trouble: Trouble::Slow(gigabit),
            from: us(100),
            until: us(200),
            reconvergence: Duration::ZERO,
        };
        let topology = with(leaf_spine(), &[fault]);
        let config = FabricConfig {
            port_events,
            ..FabricConfig::default()
        };
        let mut fabric: Faulty<u32> = Faulty::new(&topology, &config);
        // 1,250 B take 1 us at 10 Gb/s, and 10 us at 1 Gb/s. The two links add 100 ns each.
        let mut takes = |at| {
            assert!(fabric.delivery(at).is_none());
            fabric.inject(at, HostId(0), packet(0, 1, 1_250, 1), 0);
            let delivery = fabric.delivery(Time::MAX).expect("it arrives");
            delivery.time.since(at).as_ns()
        };
        assert_eq!(takes(us(10)), 2_200);
        assert_eq!(takes(us(150)), 11_200);
        // A service that has begun before the change ends at the old rate.
        assert_eq!(takes(us(195)), 11_200);
        assert_eq!(takes(us(300)), 2_200);
        let port =
            (0..fabric.port_count()).find(|&p| topology.port_name(p).as_deref() == Some("s0>h1"));
        let report = fabric.port_report(us(400), PortId(port.expect("a port")));
        assert_eq!(report.carried_bytes, 5_000);
    }
}

#[test]
fn a_port_that_speeds_up_again_never_takes_back_what_it_has_carried() {
    let fault = LinkFault {
        a: Node::Host(HostId(1)),
        b: Node::Switch(0),
        number: None,
        trouble: Trouble::Slow(Rate::from_mbps(100)),
        from: us(10),
        until: us(60),
        reconvergence: Duration::ZERO,
    };
    let topology = with(leaf_spine(), &[fault]);
    let mut fabric = fabric(&topology, LoadBalancerConfig::Ecmp);
    let port =
        (0..fabric.port_count()).find(|&p| topology.port_name(p).as_deref() == Some("s0>h1"));
    let port = PortId(port.expect("a port"));
    for n in 0..3 {
        fabric.inject(us(20 + n), HostId(0), packet(0, 1, 1_250, 1), 0);
    }
    let mut before = 0;
    for at in (20..400).map(us) {
        while fabric.delivery(at).is_some() {}
        let carried = fabric.port_report(at, port).carried_bytes;
        assert!(
            carried >= before,
            "{carried} B, before {before} B, at {at:?}"
        );
        before = carried;
    }
    assert_eq!(before, 3_750);
}

/// Returns a network of two switches with one host each, and four links between the switches.
fn parallel() -> Topology {
    let (host, switch) = (|h| Node::Host(HostId(h)), Node::Switch);
    let wire = wire(10, 1_000);
    let between = |_| (switch(0), switch(1));
    let ends = [(host(0), switch(0)), (host(1), switch(1))];
    let ends = ends.into_iter().chain((0..4).map(between));
    CustomTopology {
        hosts: 2,
        switches: 2,
        links: ends.map(|(a, b)| CustomLink { a, b, wire }).collect(),
        queue: queue(),
        shared_buffer: None,
        names: NodeNames::default(),
    }
    .build()
    .expect("two switches")
}

#[test]
fn one_of_several_parallel_links_has_a_name_and_fails_alone() {
    let plain = parallel();
    let names: Vec<String> = (0..plain.links.len() as u32)
        .filter_map(|port| plain.link_name(port))
        .collect();
    let (there, back) = (["s0>s1#0", "s0>s1#1", "s0>s1#2", "s0>s1#3"], "s1>s0#3");
    assert!(
        there.iter().all(|name| names.contains(&(*name).to_owned())),
        "{names:?}"
    );
    assert!(names.contains(&back.to_owned()) && names.contains(&"h0>s0".to_owned()));
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());

    let second = LinkFault {
        number: Some(1),
        ..down(
            Node::Switch(1),
            Node::Switch(0),
            us(0),
            Time::MAX,
            Duration::ZERO,
        )
    };
    let topology = with(parallel(), &[second]);
    let mut fabric = fabric(&topology, LoadBalancerConfig::Spray);
    for n in 0..40 {
        assert!(arrives(&mut fabric, us(30 * n), 0, 1, n as u16), "{n}");
        assert!(arrives(&mut fabric, us(30 * n + 29), 1, 0, n as u16), "{n}");
    }
    for port in 0..fabric.port_count() {
        let name = topology.link_name(port).expect("a link");
        let sent = fabric.port_report(us(2_000), PortId(port)).sent_packets;
        assert_eq!(sent == 0, name.ends_with("#1"), "{name} sent {sent}");
    }

    let fifth = LinkFault {
        number: Some(4),
        ..second
    };
    let error = parallel().add_faults(&[fifth]).expect_err("four links");
    assert_eq!(
        error.to_string(),
        "link: found 4 between s1 and s0; allowed: the number of a link between them, from 0"
    );
}

#[test]
fn what_cannot_be_wrong_with_a_link_is_refused() {
    let fault = |a, b| down(a, b, us(2), us(3), Duration::ZERO);
    let mut topology = leaf_spine();
    let error = topology
        .add_faults(&[fault(Node::Switch(0), Node::Switch(1))])
        .expect_err("no link");
    assert_eq!(
        error.to_string(),
        "b: found s0 to s1; allowed: nodes with a link"
    );
    let backwards = LinkFault {
        until: us(1),
        ..fault(Node::Switch(0), Node::Switch(3))
    };
    assert_eq!(
        topology
            .add_faults(&[backwards])
            .expect_err("ends early")
            .parameter,
        "until"
    );
    let fast = LinkFault {
        trouble: Trouble::Slow(Rate::from_gbps(11)),
        ..fault(Node::Switch(0), Node::Switch(3))
    };
    assert_eq!(
        topology
            .add_faults(&[fast])
            .expect_err("too fast")
            .parameter,
        "rate"
    );
}

proptest! {
    #[test]
    fn whatever_fails_every_packet_is_delivered_dropped_or_on_its_way(
        failures in proptest::collection::vec((0u32..4, 0u32..4, 0u64..300, 1u64..300, 0u64..100, any::<bool>()), 0..5),
        packets in proptest::collection::vec((0u32..16, 0u32..16, 0u64..400, 60u32..9_000, 0u8..3), 1..150),
        chooser in 0usize..7,
        two in any::<bool>(),
        end in 100u64..700,
    ) {
        let faults = failures.iter().map(|&(pod, core, from, span, reconvergence, is_down)| LinkFault {
            // The first aggregation switch of a pod has links to cores 0 and 1.
            // The second aggregation switch of a pod has links to cores 2 and 3.
            a: Node::Switch(8 + 2 * pod + core / 2),
            b: Node::Switch(16 + core),
            number: None,
            trouble: if is_down { Trouble::Down } else { Trouble::Slow(Rate::from_gbps(1 + from % 9)) },
            from: us(from),
            until: us(from + span),
            reconvergence: Duration::from_us(reconvergence),
        });
        let topology = with(fat_tree(), &faults.collect::<Vec<_>>());
        let run = |port_events| {
            let mut fabric: Faulty<u32> = Faulty::new(&topology, &FabricConfig {
                load_balancer: choosers()[chooser].clone(),
                port_events,
                seed: 3,
                ..FabricConfig::default()
            });
            let mut sorted = packets.clone();
            sorted.sort_by_key(|packet| packet.2);
            let mut out = Vec::new();
            for (number, &(src, dst, at, size, handshake)) in sorted.iter().enumerate() {
                while let Some(delivery) = fabric.delivery(us(at)) {
                    out.push(delivery);
                }
                let mut packet = packet(src, dst, size, number as u16 % 5);
                packet.handshake = [Handshake::None, Handshake::Open, Handshake::Answer][usize::from(handshake)];
                let reverse = common::packet(dst, src, size, number as u16 % 5).flow_hash;
                fabric.inject_with(us(at), packet.src, packet, common::answers(reverse), number as u32);
            }
            while let Some(delivery) = fabric.delivery(us(end.max(400))) {
                out.push(delivery);
            }
            let drops = fabric.drops();
            let dropped = [drops.link_down, drops.no_route, drops.queue_full];
            let (injected, delivered) = (fabric.injected(), fabric.delivered());
            let remaining = fabric.count_remaining();
            (out, injected, delivered, dropped, remaining)
        };
        let first = run(if two { PortEvents::Two } else { PortEvents::OneWherePossible });
        let (_, injected, delivered, dropped, remaining) = &first;
        let count = |figure: fn(&tailcut_fabric::Count) -> u64| {
            dropped.iter().map(figure).sum::<u64>() + figure(delivered) + figure(remaining)
        };
        prop_assert_eq!(injected.packets, count(|count| count.packets));
        prop_assert_eq!(injected.bytes, count(|count| count.bytes));
        prop_assert_eq!(&run(PortEvents::Two).0, &first.0, "equal with both kinds of port");
    }
}
