//! Tests of ports: the times at which packets leave.
//! The times are the same with one or two events per packet, and with both event queues.

mod common;

use common::{Deliveries, Injection, drop_tail, leaf_spine, packet, run};
use proptest::prelude::*;
use tailcut_fabric::engine::EngineKind;
use tailcut_fabric::load_balancer::LoadBalancerConfig;
use tailcut_fabric::queue::Limit;
use tailcut_fabric::{PortEvents, PortId};
use tailcut_units::Time;

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0u32..12).prop_map(Limit::Packets),
        (0u64..20_000).prop_map(Limit::Bytes),
    ]
}

fn injections() -> impl Strategy<Value = Vec<Injection>> {
    let one = (0u64..900, 0u32..12, 1u32..12, 64u32..1600, 0u16..4);
    prop::collection::vec(one, 1..300).prop_map(|raw| {
        let mut at = 0;
        raw.into_iter()
            .map(|(gap, src, offset, size, port)| {
                // A third of the gaps become zero, so that there are bursts.
                at += gap.saturating_sub(300);
                (at, packet(src, (src + offset) % 12, size, port))
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn ports_and_engines_do_not_change_a_result(
        limit in limit(),
        mark in prop::option::of(limit()),
        spray: bool,
        injections in injections(),
    ) {
        let topology = leaf_spine(drop_tail(limit, mark));
        let routing = if spray { LoadBalancerConfig::Spray } else { LoadBalancerConfig::Ecmp };
        let reference = run(
            &topology,
            EngineKind::Heap,
            PortEvents::Two,
            routing.clone(),
            &injections,
        );
        for engine in [EngineKind::Calendar, EngineKind::Heap] {
            for events in [PortEvents::OneWherePossible, PortEvents::Two] {
                let (out, fabric) = run(&topology, engine, events, routing.clone(), &injections);
                prop_assert_eq!(&out, &reference.0);
                prop_assert_eq!(fabric.drops(), reference.1.drops());
                prop_assert_eq!(fabric.packet_hops(), reference.1.packet_hops());
                let remaining = fabric.count_remaining();
                let drops = fabric.drops().queue_full;
                prop_assert_eq!(
                    fabric.injected().bytes,
                    fabric.delivered().bytes + drops.bytes + remaining.bytes
                );
                prop_assert_eq!(fabric.injected().packets, injections.len() as u64);
            }
        }
    }

    #[test]
    fn ports_report_alike_at_any_instant(injections in injections(), at_ns in 0u64..200_000) {
        let topology = leaf_spine(drop_tail(Limit::Packets(9), Some(Limit::Packets(3))));
        let until = injections.partition_point(|&(at, _)| at <= at_ns);
        let reports = [PortEvents::OneWherePossible, PortEvents::Two].map(|events| {
            let config = tailcut_fabric::FabricConfig { port_events: events, ..Default::default() };
            let mut fabric = tailcut_fabric::Fabric::<u32>::new(&topology, &config);
            for &(at, packet) in &injections[..until] {
                while fabric.delivery(Time::from_ns(at)).is_some() {}
                fabric.inject(Time::from_ns(at), packet.src, packet, 0);
            }
            let now = Time::from_ns(at_ns);
            while fabric.delivery(now).is_some() {}
            (0..fabric.port_count())
                .map(|port| {
                    let report = fabric.port_report(now, PortId(port));
                    let rate = topology.links[port as usize].config.rate;
                    assert!(report.carried_bytes <= rate.bytes_in(now.since(Time::ZERO)));
                    report
                })
                .collect::<Vec<_>>()
        });
        prop_assert_eq!(&reports[0], &reports[1]);
    }
}
