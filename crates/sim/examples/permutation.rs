//! Cost of a packet-hop in a complete simulation. The workload is a permutation of long flows on a fat-tree.
//! The default is DCTCP at 10 Gb/s, with ECMP and queues of 100 packets.
//!
//! `cargo run --release -p tailcut-sim --example permutation -- [k] [megabytes a flow] [design] [Gb/s] [packet bytes]`

use std::sync::Arc;
use tailcut_fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_fabric::topology::{CoreOversubscription, FatTree, Wire};
use tailcut_sim::{
    BurstPart, FlowsSpec, MatrixSpec, RunConfig, Settings, Shape, TopologySpec, Unattended,
    WorkloadPart, WorkloadSpec, run,
};
use tailcut_transport::tcp::{DelayedAck, TcpConfig};
use tailcut_units::{Duration, Rate};
use tailcut_workload::{Class, Framing, SizeDistribution};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let k: u32 = arguments.first().and_then(|a| a.parse().ok()).unwrap_or(8);
    let megabytes: u64 = arguments.get(1).and_then(|a| a.parse().ok()).unwrap_or(10);
    let design = arguments.get(2).map_or("dctcp", |a| a.as_str());
    let gbps: u64 = arguments.get(3).and_then(|a| a.parse().ok()).unwrap_or(10);
    let packet: u32 = arguments
        .get(4)
        .and_then(|a| a.parse().ok())
        .unwrap_or(1_500);
    let wire = Wire {
        rate: Rate::from_gbps(gbps.max(1)),
        delay: Duration::from_us(1),
    };
    let topology = TopologySpec {
        name: format!("fat-tree:k={k}"),
        shape: Shape::FatTree(FatTree {
            k,
            tiers: 3,
            edge_downlinks: k / 2,
            host_links: 1,
            core_oversubscription: CoreOversubscription::None,
            host_wire: wire,
            fabric_wire: wire,
            core_wire: wire,
            queue: QueueConfig::DropTail(DropTail {
                limit: Limit::Packets(100),
                mark_above: Some(Limit::Packets(65)),
            }),
            shared_buffer: None,
        }),
    };
    let workload = WorkloadSpec {
        name: "permutation".to_owned(),
        load: None,
        weights: Arc::default(),
        parts: vec![WorkloadPart {
            class: Class::Foreground,
            path: None,
            flows: FlowsSpec::Burst(BurstPart {
                sizes: Arc::new(SizeDistribution::fixed(megabytes * 1_000_000)),
                matrix: MatrixSpec::Permutation { within_racks: true },
                at: Duration::ZERO,
                jitter: Duration::ZERO,
            }),
        }],
    };
    let settings = Settings {
        framing: Framing {
            payload: packet.max(41) - 40,
            ..Framing::ETHERNET_TCP
        },
        tcp: TcpConfig {
            min_rto: Duration::from_ms(10),
            delayed_ack: Some(DelayedAck {
                segments: 2,
                timeout: Duration::from_ms(1),
            }),
            ..TcpConfig::default()
        },
        ..Settings::default()
    };
    let config = RunConfig {
        settings,
        drain: Duration::from_ms(10_000),
        ..RunConfig::new(design.parse().expect("a design"), topology, workload)
    };
    let record = run(&config, &Unattended).expect("a run");
    let summary = record.summary();
    let cpu = summary.cpu_seconds.unwrap_or(f64::NAN);
    println!(
        "{} hops {} events {} cpu {cpu:.2} s: {:.2} M hops/s; rss {:.1} MB; unfinished {}; {:?}",
        summary.key.design,
        summary.packet_hops,
        summary.events,
        summary.packet_hops as f64 / cpu / 1e6,
        summary.peak_rss_bytes.unwrap_or(0) as f64 / 1e6,
        summary.unfinished,
        summary.fct
    );
    println!(
        "{:?} {:?} {}",
        summary.drops, summary.marks, summary.record_hash
    );
}
