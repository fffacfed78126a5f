//! Test of the omniscient chooser: the first packet of a flow takes the path whose worst hop is least congested.
//! The worst hop can be anywhere on the path.

use crate::common::tuple;
use crate::net::{Net, fat_tree, traffic};
use proptest::prelude::*;
use tailcut_fabric::PortId;
use tailcut_fabric::load_balancer::{DreConfig, LoadBalancerConfig, OmniscientConfig};
use tailcut_units::{Duration, Time};

/// Configuration in which loads do not decay within the first 20 ms. Loads are then sums of bytes.
const LASTING: OmniscientConfig = OmniscientConfig {
    sight: tailcut_fabric::load_balancer::Sight::Load,
    dre: DreConfig {
        interval: Duration::from_ms(20),
        keep: 0.01,
        levels: 8,
    },
    entry_timeout: Duration::from_ms(100),
};

proptest! {
    #[test]
    fn the_worst_hop_of_the_path_is_the_best_of_all(
        traffic in traffic(16, 4),
        src in 0u32..16,
        dst in 0u32..16,
        seed in 0u64..1_000,
    ) {
        prop_assume!(src / 2 != dst / 2);
        let load_balancer = LoadBalancerConfig::Omniscient(LASTING);
        let mut net = Net::congested(fat_tree(), load_balancer, seed, &traffic);
        let carried = |net: &Net, port: &u32| {
            net.fabric.port_report(Time::MAX, PortId(*port)).carried_bytes
        };
        let between_switches = |ports: &[u32]| ports[1..ports.len() - 1].to_vec();
        // Another network shows the ports of each path. One packet is pinned to each path.
        let mut paths = Net::new(fat_tree(), LoadBalancerConfig::Ecmp, seed);
        let worst = |path: &[u32]| path.iter().map(|port| carried(&net, port)).max();
        let best = (0..4)
            .map(|path| worst(&between_switches(&paths.pinned(tuple(src, dst, 9), path))))
            .min();
        let before: Vec<u64> = (0..net.fabric.port_count()).map(|port| carried(&net, &port)).collect();
        // This packet is the first of its flow. All later packets of the flow stay on its path.
        let opened = between_switches(&net.open(tuple(src, dst, 9)));
        let taken = between_switches(&net.data(tuple(src, dst, 9)));
        prop_assert_eq!(&opened, &taken);
        let taken = taken.iter().map(|&port| before[port as usize]).max();
        prop_assert_eq!(Some(taken), best);
    }
}
