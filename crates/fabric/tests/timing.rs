//! Tests of arrival times: packets arrive exactly at the times that are computed by hand.

mod common;

use common::{Deliveries, drop_tail, leaf_spine, packet, run, wire};
use tailcut_fabric::engine::EngineKind;
use tailcut_fabric::load_balancer::LoadBalancerConfig;
use tailcut_fabric::queue::Limit;
use tailcut_fabric::topology::{SingleSwitch, Topology};
use tailcut_fabric::{Fabric, FabricConfig, PortEvents, SharedBuffer};
use tailcut_units::{Bytes, Duration, HostId, Rate, Time};

fn times(topology: &Topology, injections: &[common::Injection]) -> Vec<(u32, Time)> {
    let (out, _) = run(
        topology,
        EngineKind::Calendar,
        PortEvents::OneWherePossible,
        LoadBalancerConfig::Ecmp,
        injections,
    );
    out.iter().map(|d| (d.body, d.time)).collect()
}

#[test]
fn a_packet_is_stored_and_forwarded_at_every_hop() {
    let topology = leaf_spine(drop_tail(Limit::Packets(100), None));
    // 1,250 B take exactly 1 us at 10 Gb/s.
    // The path has two links with a delay of 500 ns, and two links with a delay of 1,000 ns.
    let arrived = times(&topology, &[(0, packet(0, 4, 1_250, 1))]);
    assert_eq!(arrived, [(0, Time::from_ns(4_000 + 3_000))]);
    // A path within the rack has two links with a delay of 500 ns.
    let arrived = times(&topology, &[(0, packet(0, 1, 1_250, 1))]);
    assert_eq!(arrived, [(0, Time::from_ns(2_000 + 1_000))]);
}

#[test]
fn an_idle_network_waits_for_nothing_and_a_busy_one_for_its_next_event() {
    let topology = leaf_spine(drop_tail(Limit::Packets(100), None));
    let mut fabric = Fabric::new(&topology, &FabricConfig::default());
    assert_eq!(fabric.next_timeout(), None);
    fabric.inject(Time::ZERO, HostId(0), packet(0, 4, 1_250, 1), ());
    let mut now = Time::ZERO;
    let delivered = loop {
        let next = fabric.next_timeout().expect("a packet is on its way");
        assert!(next > now, "{next:?} after {now:?}");
        now = next;
        if let Some(delivery) = fabric.delivery(now) {
            break delivery.time;
        }
    };
    assert_eq!(delivered, now);
    assert_eq!(delivered, Time::from_ns(4_000 + 3_000));
    assert_eq!(fabric.next_timeout(), None);
}

#[test]
fn packets_to_one_port_leave_back_to_back() {
    let topology = leaf_spine(drop_tail(Limit::Packets(100), None));
    let injections: Vec<_> = (1..4).map(|src| (0, packet(src, 0, 1_250, 1))).collect();
    let arrived: Vec<Time> = times(&topology, &injections).iter().map(|a| a.1).collect();
    assert_eq!(arrived, [3_000, 4_000, 5_000].map(Time::from_ns));
}

#[test]
fn a_rate_that_is_no_whole_number_of_picoseconds_a_byte_rounds_up() {
    let topology = SingleSwitch {
        hosts: 2,
        host_wire: tailcut_fabric::topology::Wire {
            rate: Rate::from_bps(3_000_000_000).expect("3 Gb/s"),
            delay: Duration::ZERO,
        },
        queue: drop_tail(Limit::Packets(1), None),
        shared_buffer: None,
    }
    .build()
    .expect("two hosts");
    // Two links transmit 1,000 B at 3 Gb/s. Each link needs 2,666,666.67 ps, which is rounded up.
    let arrived = times(&topology, &[(0, packet(0, 1, 1_000, 1))]);
    assert_eq!(arrived, [(0, Time::from_ps(2 * 2_666_667))]);
}

#[test]
fn a_shared_buffer_gives_a_port_its_share_of_what_is_free() {
    let topology = SingleSwitch {
        hosts: 12,
        host_wire: wire(1, 0),
        queue: drop_tail(Limit::Packets(u32::MAX), None),
        shared_buffer: Some(SharedBuffer {
            capacity: Bytes(10_000),
            alpha: 1.0,
        }),
    }
    .build()
    .expect("twelve hosts");
    // Ten packets for host 0 arrive at the same time. The first packet is in service immediately.
    // With alpha 1, the k-th waiting packet is accepted if k * 1,000 <= 10,000 - (k - 1) * 1,000.
    // Five packets wait, and four are dropped.
    let injections: Vec<_> = (1..11).map(|src| (0, packet(src, 0, 1_000, 1))).collect();
    let (out, fabric) = run(
        &topology,
        EngineKind::Calendar,
        PortEvents::OneWherePossible,
        LoadBalancerConfig::Ecmp,
        &injections,
    );
    assert_eq!(out.len(), 6);
    assert_eq!(fabric.drops().shared_buffer.packets, 4);
}
