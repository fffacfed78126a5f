//! The offered load equals the load that links carry.

use crate::support::{Run, config, leaf_spine, queue_of, simulate, workload};
use std::collections::BTreeSet;
use std::sync::Arc;
use tailcut_oracle::statistics::mean_interval;
use tailcut_sim::fabric::topology::Node;
use tailcut_sim::workload::{Arrivals, SizeDistribution};
use tailcut_sim::{BurstPart, FlowsSpec, LoadReference, MatrixSpec, OfferedRate, OpenSpec};
use tailcut_units::Duration;

const OVERHEAD: u64 = 78;
const PAYLOAD: u64 = 1_460;

/// Load that some links carry in a run.
struct Carried {
    /// Load of data packets with headers, preamble and gap, as a share of the capacity while flows arrived.
    load: f64,
    /// Load of SYNs and ACKs with headers, preamble and gap, as a share of the same capacity.
    control: f64,
}

fn carried(
    of: LoadReference,
    fraction: f64,
    wire_bytes: bool,
    arrivals: Arrivals,
    seed: u64,
) -> Carried {
    let span = Duration::from_ms(5);
    let flows = FlowsSpec::Open(OpenSpec {
        sizes: Arc::new(SizeDistribution::uniform(1_000, 60_000)),
        arrivals,
        matrix: MatrixSpec::Anywhere,
        rate: OfferedRate::Load {
            fraction,
            of,
            wire_bytes,
        },
        from: Duration::ZERO,
        until: span,
        max_flows: None,
        fan_in: None,
    });
    let shape = leaf_spine(queue_of(10_000), None);
    let mut config = config(
        "dctcp",
        "leaf-spine",
        shape,
        workload("uniform", vec![flows]),
    );
    config.seed = seed;
    let record = simulate(&config);
    assert_eq!(record.totals.remaining.packets, 0);
    assert!(record.flows.iter().all(|flow| flow.retransmissions == 0));
    let topology = Run::of(&config).topology;
    let up_of_rack = |port: usize| match (topology.links[port].from, topology.links[port].to) {
        (Node::Host(_), _) => of == LoadReference::HostLinks,
        (Node::Switch(from), Node::Switch(to)) => {
            of == LoadReference::RackUplinks && from < 3 && to >= 3
        }
        _ => false,
    };
    let (mut bytes, mut packets, mut capacity) = (0, 0, 0.0);
    for (port, totals) in record
        .ports
        .iter()
        .enumerate()
        .filter(|(port, _)| up_of_rack(*port))
    {
        bytes += totals.bytes.0;
        packets += totals.packets;
        let rate = topology.links[port].config.rate.as_bps() as f64;
        capacity += rate / 8.0 * span.as_secs_f64();
    }
    let crosses = |src: u32, dst: u32| {
        of == LoadReference::HostLinks
            || topology.racks[src as usize] != topology.racks[dst as usize]
    };
    let crossing = || {
        record
            .flows
            .iter()
            .filter(|flow| crosses(flow.src.0, flow.dst.0))
    };
    let payload: u64 = crossing().map(|flow| flow.bytes.0).sum();
    let data_packets: u64 = crossing().map(|flow| flow.bytes.0.div_ceil(PAYLOAD)).sum();
    // Exactly the bytes of the crossing flows use the links between racks, with the documented overhead per packet.
    assert_eq!(bytes - OVERHEAD * packets, payload);
    let counted = if wire_bytes {
        OVERHEAD * data_packets
    } else {
        0
    };
    Carried {
        load: (payload + counted) as f64 / capacity,
        control: (OVERHEAD * (packets - data_packets)) as f64 / capacity,
    }
}

#[test]
fn the_load_on_host_links_and_on_rack_uplinks_is_the_load_asked() {
    for (of, fraction, wire_bytes, arrivals) in [
        (LoadReference::HostLinks, 0.5, true, Arrivals::Poisson),
        (LoadReference::HostLinks, 0.3, false, Arrivals::Poisson),
        (LoadReference::HostLinks, 0.7, true, Arrivals::Uniform),
        (LoadReference::RackUplinks, 0.5, true, Arrivals::Poisson),
        (LoadReference::RackUplinks, 0.2, false, Arrivals::Poisson),
    ] {
        let runs: Vec<Carried> = (0..20)
            .map(|seed| carried(of, fraction, wire_bytes, arrivals, seed))
            .collect();
        let loads: Vec<f64> = runs.iter().map(|run| run.load).collect();
        let load = mean_interval(&loads, 0.99);
        let control = runs.iter().map(|run| run.control).sum::<f64>() / runs.len() as f64;
        println!(
            "{of:?}, {arrivals:?}, {} counted: asked {fraction}, carried {:.4} in {:.4} to {:.4}; SYNs and ACKs add {control:.4}",
            if wire_bytes { "headers" } else { "payload" },
            load.estimate,
            load.low,
            load.high,
        );
        assert!(load.contains(fraction), "{load:?}");
        assert!(load.relative_half_width() < 0.03, "{load:?}");
    }
}

#[test]
fn flows_beside_a_permutation_of_some_hosts_keep_to_the_others() {
    for seed in 1..5 {
        let long = FlowsSpec::Burst(BurstPart {
            sizes: Arc::new(SizeDistribution::fixed(10_000)),
            matrix: MatrixSpec::PermutationOf {
                hosts: 7,
                within_racks: true,
            },
            at: Duration::ZERO,
            jitter: Duration::ZERO,
        });
        let studied = FlowsSpec::Open(OpenSpec {
            sizes: Arc::new(SizeDistribution::fixed(1_000)),
            arrivals: Arrivals::Poisson,
            matrix: MatrixSpec::AnywhereBeside { left_out: 7 },
            rate: OfferedRate::FlowsPerSecond(200_000.0),
            from: Duration::ZERO,
            until: Duration::from_ms(1),
            max_flows: None,
            fan_in: None,
        });
        let shape = leaf_spine(queue_of(100), None);
        let traffic = workload("beside", vec![long, studied]);
        let mut config = config("tcp", "leaf-spine", shape, traffic);
        config.seed = seed;
        let record = simulate(&config);
        let ends = |bytes: u64| -> BTreeSet<u32> {
            let flows = record.flows.iter().filter(|flow| flow.bytes.0 == bytes);
            flows.flat_map(|flow| [flow.src.0, flow.dst.0]).collect()
        };
        let (taken, free) = (ends(10_000), ends(1_000));
        assert_eq!((taken.len(), free.len()), (7, 5), "of 12 hosts");
        assert!(taken.is_disjoint(&free));
    }
}
