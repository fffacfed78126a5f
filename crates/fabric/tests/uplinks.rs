//! Tests of hosts with several uplinks: the uplink of a packet, and the packets that a NIC accepts in advance.

mod common;

use common::{Faulty, drop_tail, packet, wire};
use tailcut_fabric::queue::{DropReason, Limit};
use tailcut_fabric::topology::{
    CustomLink, CustomTopology, LinkFault, Node, NodeNames, Topology, Trouble,
};
use tailcut_fabric::{Bonding, Fabric, FabricConfig, Output, Packet, PortEvents, PortId};
use tailcut_units::{Duration, HostId, Time};

/// Returns a network in which two hosts are connected to both of two leaves.
/// A third host is connected only to the second leaf.
fn two_leaves() -> Topology {
    let (host, switch) = (|h| Node::Host(HostId(h)), Node::Switch);
    let link = |a, b| CustomLink {
        a,
        b,
        wire: wire(10, 100),
    };
    let custom = CustomTopology {
        hosts: 3,
        switches: 2,
        links: vec![
            link(host(0), switch(0)),
            link(host(1), switch(1)),
            link(host(1), switch(0)),
            link(host(0), switch(1)),
            link(host(2), switch(1)),
            link(switch(0), switch(1)),
        ],
        queue: drop_tail(Limit::Packets(1_000), None),
        shared_buffer: None,
        names: NodeNames::default(),
    };
    custom.build().expect("two leaves")
}

#[test]
fn hosts_with_two_uplinks_and_one_are_told_apart() {
    let topology = two_leaves();
    let of = [0, 1, 2].map(|host| topology.is_multi_homed(HostId(host)));
    assert_eq!(of, [true, true, false]);
}

fn fabric(topology: &Topology, bonding: Bonding) -> Faulty<u32> {
    fabric_with(topology, bonding, PortEvents::OneWherePossible)
}

fn fabric_with(topology: &Topology, bonding: Bonding, port_events: PortEvents) -> Faulty<u32> {
    let config = FabricConfig {
        bonding,
        port_events,
        ..FabricConfig::default()
    };
    Faulty::new(topology, &config)
}

/// Sends `packets` packets of host 0 at the same time.
/// Returns the time of the last arrival, and the number of packets on each uplink.
fn sent_at_once(
    topology: &Topology,
    bonding: Bonding,
    packets: impl Iterator<Item = Packet>,
) -> (Time, Vec<u64>) {
    let mut fabric = fabric(topology, bonding);
    for packet in packets {
        fabric.inject(Time::ZERO, HostId(0), packet, 0);
    }
    let mut last = Time::ZERO;
    while let Some(delivery) = fabric.delivery(Time::MAX) {
        last = delivery.time;
    }
    let ports = topology.uplinks_of(HostId(0)).map(PortId);
    let sent = ports.map(|port| fabric.port_report(Time::MAX, port).sent_packets);
    (last, sent.collect())
}

#[test]
fn packets_that_may_overtake_each_other_take_the_uplink_that_is_free_first() {
    let topology = two_leaves();
    assert_eq!(topology.host_rate(HostId(0)), wire(20, 0).rate);
    assert_eq!(topology.host_rate(HostId(2)), wire(10, 0).rate);
    assert_eq!(topology.host_capacity_bps(), 50_000_000_000);
    let packets = (0..100).map(|_| packet(0, 1, 1_250, 7));
    let (last, sent) = sent_at_once(&topology, Bonding::FreeFirst, packets);
    // Two links share 100 packets of 1 us. The last packet then needs one more hop.
    assert_eq!(last, Time::from_ns(50 * 1_000 + 1_000 + 200));
    assert_eq!(sent, [50, 50]);
}

#[test]
fn a_flow_keeps_to_one_uplink_and_many_flows_take_all() {
    let topology = two_leaves();
    let of_one = (0..100).map(|_| packet(0, 1, 1_250, 7));
    let (_, sent) = sent_at_once(&topology, Bonding::ByFlow, of_one);
    assert!(sent == [100, 0] || sent == [0, 100], "{sent:?}");
    let of_many = (0..100).map(|port| packet(0, 1, 1_250, port));
    let (_, sent) = sent_at_once(&topology, Bonding::ByFlow, of_many);
    // The limits are five standard deviations of a fair coin from its mean.
    assert!(
        sent.iter().all(|packets| (25..=75).contains(packets)),
        "{sent:?}"
    );
}

#[test]
fn a_nic_goes_ahead_on_a_busy_uplink_but_not_for_ever() {
    let topology = two_leaves();
    let cases = [Bonding::FreeFirst, Bonding::ByFlow].map(|bonding| {
        [PortEvents::OneWherePossible, PortEvents::Two].map(|port_events| (bonding, port_events))
    });
    for (bonding, port_events) in cases.into_iter().flatten() {
        let mut fabric = fabric_with(&topology, bonding, port_events);
        let mut taken = 0;
        while fabric.uplink_free_at(HostId(0)) == Time::ZERO {
            fabric.inject(Time::ZERO, HostId(0), packet(0, 1, 1_250, 7), 0);
            taken += 1;
        }
        let (expected, free_ns) = match bonding {
            // Each uplink transmits one packet.
            Bonding::FreeFirst => (2, 1_000),
            // One packet is in service, and four wait behind it.
            Bonding::ByFlow => (5, 1_000),
        };
        assert_eq!(taken, expected, "{bonding:?}, {port_events:?}");
        assert_eq!(fabric.uplink_free_at(HostId(0)), Time::from_ns(free_ns));
    }
}

#[test]
fn what_a_host_drops_before_its_uplink_is_in_the_books_and_comes_back() {
    let topology = two_leaves();
    let mut fabric: Fabric<u32> = Fabric::new(&topology, &FabricConfig::default());
    fabric.inject(Time::ZERO, HostId(2), packet(2, 1, 1_250, 7), 1);
    fabric.drop_at_host(HostId(2), packet(2, 1, 1_000, 7), 2);
    let mut dropped = Vec::new();
    while let Some(output) = fabric.advance(Time::MAX) {
        if let Output::Dropped(packet) = output {
            dropped.push((packet.body, packet.reason, packet.port));
        }
    }
    let uplink = PortId(topology.uplinks_of(HostId(2)).start);
    assert_eq!(dropped, [(2, DropReason::QueueFull, Some(uplink))]);
    let report = fabric.port_report(Time::MAX, uplink);
    assert_eq!((report.sent_packets, report.dropped), (1, 1));
    let injected = fabric.injected();
    assert_eq!((injected.packets, injected.bytes), (2, 2_250));
}

#[test]
fn a_host_avoids_an_uplink_that_is_down_once_that_is_known() {
    let mut topology = two_leaves();
    let us = |us| Time::ZERO + Duration::from_us(us);
    let fault = LinkFault {
        a: Node::Host(HostId(0)),
        b: Node::Switch(0),
        number: None,
        trouble: Trouble::Down,
        from: us(100),
        until: us(300),
        reconvergence: Duration::from_us(50),
    };
    topology.add_faults(&[fault]).expect("a link");
    for bonding in [Bonding::FreeFirst, Bonding::ByFlow] {
        let mut fabric = fabric(&topology, bonding);
        let mut lost_at = |at: Time| {
            for port in 0..32 {
                assert!(fabric.delivery(at).is_none());
                fabric.inject(at, HostId(0), packet(0, 1, 100, port), 0);
            }
            let until = at.saturating_add(Duration::from_us(20));
            let mut lost = 32;
            while fabric.delivery(until).is_some() {
                lost -= 1;
            }
            lost
        };
        assert_eq!(lost_at(us(0)), 0, "{bonding:?}");
        assert_ne!(lost_at(us(110)), 0, "not noticed yet");
        assert_eq!(lost_at(us(200)), 0, "avoided");
        assert_eq!(lost_at(us(400)), 0, "back");
    }
}
