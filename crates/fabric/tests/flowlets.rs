//! LetFlow: a flow keeps its port while it sends, and may change it after a pause.

mod common;

use common::{Deliveries, drop_tail, leaf_spine, packet};
use std::collections::BTreeSet;
use tailcut_fabric::load_balancer::{LetFlowConfig, LoadBalancerConfig};
use tailcut_fabric::queue::Limit;
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

/// The spine port of the first leaf that each packet took, sent at these instants by one flow.
fn spines(fabric: &mut Fabric<u32>, src_port: u16, at_ns: impl Iterator<Item = u64>) -> Vec<u32> {
    // The leaf's ports follow the 12 uplinks of hosts; its first four lead down.
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
        // Exactly the gap between any two, which does not exceed it.
        let ports = spines(&mut fabric, src_port, (0..40).map(|n| n * 20_000));
        assert!(ports.iter().all(|port| *port == ports[0]), "{ports:?}");
        let now = Time::from_ns(39 * 20_000);
        assert_eq!(fabric.balancer_state(now, 0).flows, 1);
        let later = now.saturating_add(Duration::from_us(40));
        assert_eq!(fabric.balancer_state(later, 0).flows, 0, "forgotten");
    }
}

#[test]
fn a_longer_gap_draws_a_port_anew_and_evenly() {
    let mut fabric = fabric(7);
    let ports = spines(&mut fabric, 1, (0..2_000).map(|n| n * 30_000));
    let first = ports.iter().filter(|port| **port == ports[0]).count();
    // Binomial of 2,000 at one half: 1,000 with a standard deviation of 22.4.
    assert!((900..1_100).contains(&first), "{first} of 2,000");
}

#[test]
fn flows_draw_by_their_switch_and_seed_and_not_by_their_hash() {
    let ports = |seed| spines(&mut fabric(seed), 1, std::iter::once(0));
    let drawn: BTreeSet<u32> = (0..40).flat_map(ports).collect();
    assert_eq!(drawn.len(), 2);
    assert_eq!(ports(3), ports(3));
}
