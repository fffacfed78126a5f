//! Estimated demand of a workload, compared with the run.

#![allow(dead_code, reason = "other tests also use the configurations")]

#[path = "truth/support.rs"]
mod support;

use std::sync::Arc;
use support::{config, leaf_spine, queue_of, simulate, single_switch, workload};
use tailcut_sim::workload::{Arrivals, SizeDistribution, ThinkTime};
use tailcut_sim::{
    BurstPart, ClosedSpec, Demand, FlowsSpec, LoadReference, MatrixSpec, OfferedRate, OpenSpec,
    RunConfig, demand,
};
use tailcut_units::Duration;

fn open(flows: Option<u64>) -> FlowsSpec {
    FlowsSpec::Open(OpenSpec {
        sizes: Arc::new(SizeDistribution::uniform(1_000, 40_000)),
        arrivals: Arrivals::Poisson,
        matrix: MatrixSpec::Anywhere,
        rate: OfferedRate::Load {
            fraction: 0.2,
            of: LoadReference::HostLinks,
            wire_bytes: false,
        },
        from: Duration::ZERO,
        until: Duration::from_ms(5),
        max_flows: flows,
        fan_in: None,
    })
}

fn closed() -> FlowsSpec {
    FlowsSpec::Closed(ClosedSpec {
        sizes: Arc::new(SizeDistribution::fixed(200_000)),
        matrix: MatrixSpec::Permutation { within_racks: true },
        outstanding: 2,
        think: ThinkTime::Fixed(Duration::from_us(100)),
        from: Duration::ZERO,
        until: Duration::from_ms(10),
        max_flows: None,
    })
}

fn burst(bytes: u64) -> FlowsSpec {
    FlowsSpec::Burst(BurstPart {
        sizes: Arc::new(SizeDistribution::fixed(bytes)),
        matrix: MatrixSpec::Permutation { within_racks: true },
        at: Duration::ZERO,
        jitter: Duration::ZERO,
    })
}

fn run_of(parts: Vec<FlowsSpec>) -> RunConfig {
    let shape = leaf_spine(queue_of(200), None);
    config("tcp", "three racks", shape, workload("some", parts))
}

fn estimated(config: &RunConfig, draws: usize) -> Demand {
    let topology = config.topology.shape.build().expect("a network");
    demand(config, &topology, draws).expect("a workload")
}

/// Returns the number of packet-hops of full packets. A packet has two hops within a rack, and four between racks.
fn packet_hops(config: &RunConfig) -> f64 {
    let record = simulate(config);
    let hops = record.flows.iter().map(|flow| {
        let packets = flow.bytes.0.div_ceil(1_460);
        let links = if flow.src.0 / 4 == flow.dst.0 / 4 {
            2
        } else {
            4
        };
        packets * links
    });
    hops.sum::<u64>() as f64
}

#[test]
fn flows_that_are_drawn_are_those_of_the_run() {
    for parts in [
        vec![open(None)],
        vec![open(Some(100))],
        vec![burst(50_000)],
        vec![open(Some(100)), burst(50_000)],
    ] {
        let config = run_of(parts);
        let demand = estimated(&config, 1_000_000);
        assert_eq!(demand.transfers, simulate(&config).flows.len() as f64);
        assert_eq!(demand.packet_hops, packet_hops(&config));
    }
}

#[test]
fn a_few_that_are_drawn_stand_for_all() {
    for parts in [vec![open(None)], vec![open(Some(400))]] {
        let config = run_of(parts);
        let (some, all) = (estimated(&config, 100), estimated(&config, 1_000_000));
        for (some, all) in [
            (some.transfers, all.transfers),
            (some.packet_hops, all.packet_hops),
        ] {
            assert!((some / all - 1.0).abs() < 0.15, "{some} of {all}");
        }
    }
}

#[test]
fn a_closed_loop_is_told_by_its_links_and_pauses() {
    let config = run_of(vec![closed()]);
    let ratio = estimated(&config, 1_000_000).packet_hops / packet_hops(&config);
    // The estimate does not include the time that flows wait for each other.
    assert!((0.7..1.5).contains(&ratio), "{ratio}");
}

#[test]
fn a_run_that_ends_before_its_flows_is_told_by_its_time() {
    let shape = single_switch(4, queue_of(200));
    let mut config = config(
        "tcp",
        "a switch",
        shape,
        workload("some", vec![burst(1 << 40)]),
    );
    config.drain = Duration::from_ms(10);
    // 4 hosts send at 10 Gb/s for 10 ms, in packets of 1,538 B on the wire, over two links.
    let most = 4.0 * 1e10 * 0.01 / 8.0 / 1_538.0 * 2.0;
    let ratio = estimated(&config, 10).packet_hops / most;
    assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
}
