//! Tests of multicast. Every member receives every packet exactly once. No link transports a packet twice.
//! An event on one branch has no effect on other branches.

mod common;

use common::{Deliveries, drop_tail, leaf_spine, packet, wire};
use proptest::prelude::*;
use std::collections::BTreeSet;
use tailcut_fabric::load_balancer::LoadBalancerConfig;
use tailcut_fabric::queue::{Limit, QueueConfig, Sharing, Trimming, Victim};
use tailcut_fabric::topology::{
    CoreOversubscription, CustomLink, CustomTopology, FatTree, Node, NodeNames, SingleSwitch,
    Topology,
};
use tailcut_fabric::{Fabric, FabricConfig, GroupError, Packet, PortId, SharedBuffer};
use tailcut_units::{Bytes, Duration, HostId, Time};

const ROOMY: Limit = Limit::Packets(10_000);

fn fat_tree() -> Topology {
    FatTree {
        k: 4,
        tiers: 3,
        edge_downlinks: 4,
        host_links: 1,
        core_oversubscription: CoreOversubscription::None,
        host_wire: wire(10, 500),
        fabric_wire: wire(10, 500),
        core_wire: wire(10, 500),
        queue: drop_tail(ROOMY, None),
        shared_buffer: None,
    }
    .build()
    .expect("a fat-tree")
}

/// Returns two racks with three hosts each. A direct link and a path over two switches connect the racks.
fn custom() -> Topology {
    let switch = Node::Switch;
    let mut ends = vec![
        (switch(0), switch(2)),
        (switch(2), switch(1)),
        (switch(0), switch(3)),
        (switch(3), switch(1)),
        (switch(1), switch(4)),
    ];
    ends.extend((0..8).map(|host| {
        (
            Node::Host(HostId(host)),
            switch([0, 1, 4][host as usize % 3]),
        )
    }));
    CustomTopology {
        hosts: 8,
        switches: 5,
        links: ends
            .into_iter()
            .map(|(a, b)| CustomLink {
                a,
                b,
                wire: wire(10, 500),
            })
            .collect(),
        queue: drop_tail(ROOMY, None),
        shared_buffer: None,
        names: NodeNames::default(),
    }
    .build()
    .expect("a network")
}

fn fabric(topology: &Topology, load_balancer: LoadBalancerConfig, seed: u64) -> Fabric<u32> {
    let config = FabricConfig {
        load_balancer,
        seed,
        ..FabricConfig::default()
    };
    Fabric::new(topology, &config)
}

fn hosts(numbers: &[u32]) -> Vec<HostId> {
    numbers.iter().copied().map(HostId).collect()
}

/// Runs the network until no event is left. Returns the hosts that packets have reached, in ascending order.
fn delivered(fabric: &mut Fabric<u32>) -> Vec<HostId> {
    let deliveries = std::iter::from_fn(|| fabric.delivery(Time::MAX));
    let mut hosts: Vec<HostId> = deliveries.map(|delivery| delivery.host).collect();
    hosts.sort_unstable();
    hosts
}

fn carried(fabric: &Fabric<u32>) -> Vec<u64> {
    (0..fabric.port_count())
        .map(|port| fabric.port_report(Time::MAX, PortId(port)).sent_packets)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_member_gets_a_packet_once_and_no_link_carries_it_twice(
        (shape, source, chosen) in (0..4usize, any::<prop::sample::Index>(), prop::collection::btree_set(0..64u32, 1..12)),
        sprayed in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let topology = match shape {
            0 => leaf_spine(drop_tail(ROOMY, None)),
            1 => fat_tree(),
            2 => custom(),
            _ => SingleSwitch {
                hosts: 9,
                host_wire: wire(10, 500),
                queue: drop_tail(ROOMY, None),
                shared_buffer: None,
            }
            .build()
            .expect("a switch"),
        };
        let count = topology.hosts();
        let members: BTreeSet<HostId> = chosen.iter().map(|n| HostId(n % count)).collect();
        let members: Vec<HostId> = members.into_iter().collect();
        let balancer = if sprayed { LoadBalancerConfig::Spray } else { LoadBalancerConfig::Ecmp };
        let mut fabric = fabric(&topology, balancer, seed);
        let group = fabric.form_group(&members).expect("distinct members");
        let source = source.index(count as usize) as u32;
        let sent = Packet { dst: group, ..packet(source, 0, 1_000, 7) };
        fabric.inject(Time::ZERO, HostId(source), sent, 0);
        prop_assert_eq!(delivered(&mut fabric), members.clone());
        prop_assert!(carried(&fabric).iter().all(|packets| *packets <= 1));
        prop_assert_eq!(fabric.copied().packets, members.len() as u64 - 1);
        prop_assert_eq!(fabric.injected().bytes + fabric.copied().bytes, fabric.delivered().bytes);
        prop_assert_eq!(fabric.in_network(), 0);
    }
}

#[test]
fn a_tree_has_as_few_links_as_one_can() {
    // The packet goes from rack 0 to two hosts of rack 1 and one host of rack 2.
    // The packet crosses one link up, two links down, and three links to hosts.
    let mut fabric = fabric(
        &leaf_spine(drop_tail(ROOMY, None)),
        LoadBalancerConfig::Spray,
        1,
    );
    let group = fabric.form_group(&hosts(&[4, 5, 8])).expect("three hosts");
    for n in 0..100 {
        let sent = Packet {
            dst: group,
            ..packet(0, 0, 1_000, n)
        };
        fabric.inject(Time::from_ns(u64::from(n) * 10_000), HostId(0), sent, 0);
    }
    assert_eq!(delivered(&mut fabric).len(), 300);
    assert_eq!(fabric.packet_hops(), 100 * (1 + 1 + 2 + 3));
}

#[test]
fn one_flow_keeps_to_one_tree_under_ecmp_and_takes_all_under_spraying() {
    let topology = fat_tree();
    let cores = |balancer| {
        let mut fabric = fabric(&topology, balancer, 3);
        let group = fabric
            .form_group(&hosts(&[9, 20, 30]))
            .expect("three hosts");
        for _ in 0..200 {
            let sent = Packet {
                dst: group,
                ..packet(0, 0, 1_000, 7)
            };
            fabric.inject(Time::ZERO, HostId(0), sent, 0);
        }
        delivered(&mut fabric);
        let of_cores = topology.switches.iter().filter(|switch| switch.tier == 2);
        let carried = carried(&fabric);
        of_cores
            .filter(|core| carried[core.first_port as usize..][..4].iter().sum::<u64>() > 0)
            .count()
    };
    assert_eq!(cores(LoadBalancerConfig::Ecmp), 1);
    assert_eq!(cores(LoadBalancerConfig::Spray), 4);
}

#[test]
fn a_packet_pinned_to_a_path_takes_it_to_a_group_as_it_would_to_a_host() {
    let topology = fat_tree();
    let member = HostId(20);
    for path in 0..4 {
        let links = |to_group: bool| {
            let mut fabric = fabric(&topology, LoadBalancerConfig::Ecmp, 3);
            let dst = match to_group {
                true => fabric.form_group(&[member]).expect("one host"),
                false => member,
            };
            let sent = Packet {
                dst,
                path,
                ..packet(0, 0, 1_000, 7)
            };
            fabric.inject(Time::ZERO, HostId(0), sent, 0);
            assert_eq!(delivered(&mut fabric), [member]);
            carried(&fabric)
        };
        assert_eq!(links(true), links(false), "path {path}");
    }
}

#[test]
fn a_branch_is_trimmed_alone() {
    let queue = QueueConfig::Trimming(Trimming {
        classes: 1,
        data_limit: Limit::Packets(8),
        header_limit_bytes: 64_000,
        headers_per_data: 10,
        victim: Victim::Coin,
        sharing: Sharing::Shared,
        return_to_sender: false,
    });
    let topology = SingleSwitch {
        hosts: 12,
        host_wire: wire(10, 500),
        queue,
        shared_buffer: None,
    }
    .build()
    .expect("a switch");
    let mut fabric = fabric(&topology, LoadBalancerConfig::Ecmp, 1);
    let whole = |src, dst| Packet {
        trimmed_size: 64,
        ..packet(src, dst, 1_538, 1)
    };
    let group = fabric.form_group(&hosts(&[1, 2])).expect("two hosts");
    // Eight unicast senders fill the link to host 1. The same number of packets goes to the group.
    for n in 0..8 {
        for src in 4..12 {
            fabric.inject(Time::from_ns(n * 1_500), HostId(src), whole(src, 1), 0);
        }
        let sent = Packet {
            dst: group,
            ..whole(0, 0)
        };
        fabric.inject(Time::from_ns(n * 1_500), HostId(0), sent, 1);
    }
    let (mut whole_at, mut headers_at) = ([0; 3], [0; 3]);
    while let Some(delivery) = fabric.delivery(Time::MAX) {
        if delivery.body == 1 {
            assert_eq!(
                delivery.packet.dst, group,
                "the destination is still the group"
            );
            let counts = if delivery.packet.trimmed {
                &mut headers_at
            } else {
                &mut whole_at
            };
            counts[delivery.host.0 as usize] += 1;
        }
    }
    assert_eq!((whole_at[2], headers_at[2]), (8, 0), "the free branch");
    assert_eq!(whole_at[1] + headers_at[1], 8);
    assert!(headers_at[1] > 0, "the crowded one");
    assert_eq!(
        fabric.injected().bytes + fabric.copied().bytes,
        fabric.delivered().bytes + fabric.trimmed().bytes
    );
}

#[test]
fn who_leaves_gets_no_new_packets_and_a_dissolved_group_none() {
    let mut fabric = fabric(
        &leaf_spine(drop_tail(ROOMY, None)),
        LoadBalancerConfig::Ecmp,
        1,
    );
    let group = fabric.form_group(&hosts(&[4, 5, 8])).expect("three hosts");
    let sent = Packet {
        dst: group,
        ..packet(0, 0, 1_000, 7)
    };
    let at = |us: u64| Time::from_ns(us * 1_000);
    fabric.inject(at(0), HostId(0), sent, 0);
    assert_eq!(delivered(&mut fabric), hosts(&[4, 5, 8]));
    fabric.leave_group(at(50), group, HostId(5), HostId(5));
    fabric.inject(at(100), HostId(0), sent, 0);
    assert_eq!(delivered(&mut fabric), hosts(&[4, 8]));
    fabric.inject(at(200), HostId(0), sent, 0);
    fabric.dissolve_group(group);
    let other = fabric.form_group(&hosts(&[1])).expect("one host");
    assert_ne!(other, group, "a packet to the old group is on its way");
    assert_eq!(delivered(&mut fabric), hosts(&[4, 8]));
    assert_eq!(fabric.form_group(&hosts(&[2])), Ok(group), "free again");
    fabric.dissolve_group(group);
    fabric.inject(at(300), HostId(0), sent, 0);
    assert_eq!(delivered(&mut fabric), []);
    assert_eq!(fabric.drops().no_member.packets, 1);
    assert_eq!(fabric.in_network(), 0);
}

#[test]
fn a_switch_passes_packets_on_to_who_leaves_until_the_word_of_it_is_there() {
    let arrives = |left_at, told_by| {
        let mut fabric = fabric(
            &leaf_spine(drop_tail(ROOMY, None)),
            LoadBalancerConfig::Ecmp,
            1,
        );
        let group = fabric.form_group(&hosts(&[5])).expect("one host");
        let sent = Packet {
            dst: group,
            ..packet(0, 0, 1_000, 7)
        };
        fabric.inject(Time::ZERO, HostId(0), sent, 0);
        fabric.leave_group(Time::from_ns(left_at), group, HostId(5), HostId(told_by));
        let arrived = delivered(&mut fabric) == hosts(&[5]);
        assert_eq!(fabric.drops().no_member.packets, u64::from(!arrived));
        arrived
    };
    // Each hop needs 0.8 us for the transmission.
    // The first hop needs 0.8 + 0.5 us, and the next two need 0.8 + 1 us each: 4.9 us to the last switch.
    // A notification from host 5 needs 0.5 us to this switch. A notification from the sender needs 0.5 + 1 + 1 us.
    for (told_by, word_takes) in [(5, 500), (0, 2_500)] {
        let just_in_time = 4_900 - word_takes;
        assert!(!arrives(just_in_time, told_by));
        assert!(arrives(just_in_time + 1, told_by));
    }
}

#[test]
fn a_group_has_one_to_1024_members_each_once() {
    let mut fabric = fabric(
        &leaf_spine(drop_tail(ROOMY, None)),
        LoadBalancerConfig::Ecmp,
        1,
    );
    let many: Vec<HostId> = (0..1_025).map(HostId).collect();
    assert_eq!(fabric.form_group(&[]), Err(GroupError::Members(0)));
    assert_eq!(fabric.form_group(&many), Err(GroupError::Members(1_025)));
    let full = fabric.form_group(&many[..1_024]).expect("1,024 members");
    assert_eq!(
        fabric.join_group(full, HostId(1_024)),
        Err(GroupError::Members(1_025))
    );
    let twice = hosts(&[3, 4, 3]);
    assert_eq!(
        fabric.form_group(&twice),
        Err(GroupError::Repeated(HostId(3)))
    );
    fabric.dissolve_group(full);
    let none = fabric.join_group(full, HostId(1_024));
    assert_eq!(none, Err(GroupError::Unknown(full)));
    let shown = none.expect_err("a dissolved group").to_string();
    assert_eq!(
        shown,
        "group: found no group 0; allowed are groups that were formed"
    );
}

/// Returns a fat-tree with 250 hosts.
fn large_fat_tree() -> Topology {
    FatTree {
        k: 10,
        tiers: 3,
        edge_downlinks: 5,
        host_links: 1,
        core_oversubscription: CoreOversubscription::None,
        host_wire: wire(10, 500),
        fabric_wire: wire(10, 500),
        core_wire: wire(10, 500),
        queue: drop_tail(ROOMY, None),
        shared_buffer: None,
    }
    .build()
    .expect("a fat-tree")
}

#[test]
fn two_hundred_members_get_every_packet_once_also_while_some_leave_and_others_join() {
    for balancer in [LoadBalancerConfig::Ecmp, LoadBalancerConfig::Spray] {
        let mut fabric = fabric(&large_fat_tree(), balancer, 1);
        let mut members: BTreeSet<HostId> = (0..200).map(HostId).collect();
        let formed: Vec<HostId> = members.iter().copied().collect();
        let group = fabric.form_group(&formed).expect("200 hosts");
        let mut now = Time::ZERO;
        for round in 0..40u32 {
            // 20 packets are sent together. They must reach all members and no other host.
            for n in 0..20 {
                let sent = Packet {
                    dst: group,
                    ..packet(249, 0, 1_000, n)
                };
                fabric.inject(now, HostId(249), sent, n.into());
            }
            let got = delivered(&mut fabric);
            let each: Vec<HostId> = members.iter().flat_map(|host| [*host; 20]).collect();
            assert_eq!(got, each, "round {round}");
            // No event is left.
            // Two pauses give the notifications enough time to reach every switch before the next round.
            now = fabric.now() + Duration::from_us(100);
            while fabric.advance(now).is_some() {}
            for n in 0..30 {
                let host = HostId((round * 31 + n * 7) % 250);
                if members.remove(&host) {
                    fabric.leave_group(now, group, host, host);
                } else {
                    members.insert(host);
                    fabric.join_group(group, host).expect("room");
                }
            }
            now += Duration::from_us(100);
            while fabric.advance(now).is_some() {}
        }
        assert_eq!(fabric.drops().no_member.packets, 0);
        assert_eq!(fabric.in_network(), 0);
    }
}

#[test]
fn a_group_sees_any_number_of_hosts_and_no_late_packet_goes_to_who_joined_after_it() {
    let topology = SingleSwitch {
        hosts: 4_000,
        host_wire: wire(10, 500),
        queue: drop_tail(ROOMY, None),
        shared_buffer: None,
    }
    .build()
    .expect("a switch");
    let mut fabric = fabric(&topology, LoadBalancerConfig::Ecmp, 1);
    let group = fabric.form_group(&hosts(&[1, 2])).expect("two hosts");
    // A packet needs 0.8 us and 500 ns to reach the switch.
    // Two or three packets are therefore in flight while one host leaves and the next joins.
    for host in 3..4_000u32 {
        let now = Time::from_ns(u64::from(host) * 1_000);
        let until = now;
        while let Some(delivery) = fabric.delivery(until) {
            let (arrived, latest) = (delivery.host.0, delivery.body);
            assert!(
                arrived <= latest,
                "host {arrived} joined after host {latest}"
            );
        }
        let sent = Packet {
            dst: group,
            ..packet(0, 0, 1_000, 7)
        };
        // Hosts join in the order of their numbers.
        // The body of a packet is the number of the last host that has joined.
        fabric.inject(now, HostId(0), sent, host - 1);
        fabric.leave_group(now, group, HostId(host - 2), HostId(host - 2));
        fabric.join_group(group, HostId(host)).expect("room");
    }
    while let Some(delivery) = fabric.delivery(Time::MAX) {
        assert!(delivery.host.0 <= delivery.body);
    }
    assert_eq!(fabric.in_network(), 0);
}

#[test]
fn a_group_that_is_dissolved_twice_gives_its_address_to_one_other() {
    let mut fabric = fabric(
        &leaf_spine(drop_tail(ROOMY, None)),
        LoadBalancerConfig::Ecmp,
        1,
    );
    let group = fabric.form_group(&hosts(&[4])).expect("one host");
    fabric.dissolve_group(group);
    fabric.dissolve_group(group);
    let first = fabric.form_group(&hosts(&[4])).expect("one host");
    assert_ne!(fabric.form_group(&hosts(&[5])), Ok(first));
}

#[test]
fn of_two_branches_that_share_a_buffer_each_loses_in_about_half_of_the_seeds() {
    let topology = SingleSwitch {
        hosts: 4,
        host_wire: wire(10, 500),
        queue: drop_tail(ROOMY, None),
        // The shared buffer has space for one waiting packet.
        shared_buffer: Some(SharedBuffer {
            capacity: Bytes(1_538),
            alpha: 1.0,
        }),
    };
    let topology = topology.build().expect("a switch");
    let mut first_lost = 0;
    for seed in 0..40 {
        let mut fabric = fabric(&topology, LoadBalancerConfig::Ecmp, seed);
        let group = fabric.form_group(&hosts(&[1, 2])).expect("two hosts");
        // The copies of the first packet occupy both links.
        // One copy of the second packet waits, and its second copy finds the buffer full.
        for source in [0, 3] {
            let packet = Packet {
                dst: group,
                ..packet(source, 1, 1_538, 1)
            };
            fabric.inject(Time::ZERO, HostId(source), packet, 0);
        }
        let mut delivered = delivered(&mut fabric);
        assert_eq!(delivered.len(), 3);
        delivered.dedup();
        assert_eq!(delivered, hosts(&[1, 2]));
        let of_first = fabric.port_report(Time::MAX, PortId(5));
        first_lost += u32::from(of_first.dropped > 0);
    }
    assert!((12..=28).contains(&first_lost), "{first_lost} of 40");
}
