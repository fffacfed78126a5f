//! Measures the cost of a packet-hop in the fabric alone.
//! Every host of a fat-tree sends full packets to one other host. A fixed number of packets is always in flight.
//! The receiver answers each full packet with a small packet.
//!
//! `cargo run --release -p tailcut-fabric --example hops -- [k] [window] [million hops]`

use std::time::Instant;
use tailcut_fabric::engine::EngineKind;
use tailcut_fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_fabric::topology::{CoreOversubscription, FatTree, Wire};
use tailcut_fabric::{Fabric, FabricConfig, Output, Packet};
use tailcut_units::{Duration, FiveTuple, HostId, Protocol, Rate, Time};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<u64>());
    let mut argument = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (k, window, million) = (argument(8), argument(20), argument(50));
    for engine in [EngineKind::Calendar, EngineKind::Heap] {
        let wire = Wire {
            rate: Rate::from_gbps(10),
            delay: Duration::from_us(1),
        };
        let topology = FatTree {
            k: k as u32,
            tiers: 3,
            edge_downlinks: k as u32 / 2,
            host_links: 1,
            core_oversubscription: CoreOversubscription::None,
            host_wire: wire,
            fabric_wire: wire,
            core_wire: wire,
            queue: QueueConfig::DropTail(DropTail {
                limit: Limit::Packets(100_000),
                mark_above: Some(Limit::Packets(65)),
            }),
            shared_buffer: None,
        }
        .build()
        .expect("a fat-tree");
        let config = FabricConfig {
            engine,
            ..FabricConfig::default()
        };
        let mut fabric = Fabric::<[u64; 9]>::new(&topology, &config);
        let hosts = topology.hosts();
        let packet = |src: u32, dst: u32, size, port| Packet {
            src: HostId(src),
            dst: HostId(dst),
            flow_hash: FiveTuple {
                src: HostId(src),
                dst: HostId(dst),
                src_port: port,
                dst_port: 80,
                protocol: Protocol::Tcp,
            }
            .hash(),
            size,
            path: Packet::ANY_PATH,
            ..Packet::default()
        };
        for host in 0..hosts {
            let dst = (host + hosts / 2 + 1) % hosts;
            for i in 0..window {
                let at = Time::from_ns(i * 1_300 + u64::from(host));
                fabric.inject(at, HostId(host), packet(host, dst, 1538, 9), [0; 9]);
            }
        }
        let started = Instant::now();
        while fabric.packet_hops() < million * 1_000_000 {
            let next = fabric.advance(Time::MAX);
            let Some(delivery) = next.and_then(Output::delivered) else {
                break;
            };
            let (src, dst) = (delivery.packet.dst.0, delivery.packet.src.0);
            let size = if delivery.packet.size == 1538 {
                78
            } else {
                1538
            };
            fabric.inject(
                delivery.time,
                HostId(src),
                packet(src, dst, size, 9),
                delivery.body,
            );
        }
        let ns = started.elapsed().as_nanos() as f64 / fabric.packet_hops() as f64;
        println!(
            "{engine:?}: k={k}, {} packets in the network, {ns:.1} ns a hop, {:.1} M hops/s",
            fabric.in_network(),
            1e3 / ns
        );
    }
}
