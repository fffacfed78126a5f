//! Tests of trimming in a network: headers arrive early or return to their sender, and all packets are counted.

mod common;

use common::{packet, run, wire};
use tailcut_fabric::engine::EngineKind;
use tailcut_fabric::load_balancer::LoadBalancerConfig;
use tailcut_fabric::queue::{Limit, QueueConfig, Sharing, Trimming, Victim};
use tailcut_fabric::topology::SingleSwitch;
use tailcut_fabric::{Packet, PortEvents};
use tailcut_units::HostId;

#[test]
fn an_incast_loses_payload_only_and_what_has_no_room_comes_back() {
    let topology = SingleSwitch {
        hosts: 41,
        host_wire: wire(10, 500),
        queue: QueueConfig::Trimming(Trimming {
            classes: 1,
            data_limit: Limit::Packets(8),
            header_limit_bytes: 640,
            headers_per_data: 10,
            victim: Victim::Coin,
            sharing: Sharing::Shared,
            return_to_sender: true,
        }),
        shared_buffer: None,
    }
    .build()
    .expect("41 hosts");
    let injections: Vec<_> = (1..41)
        .map(|src| {
            let whole = Packet {
                trimmed_size: 64,
                ..packet(src, 0, 1_538, 1)
            };
            (0, whole)
        })
        .collect();
    let (out, fabric) = run(
        &topology,
        EngineKind::Calendar,
        PortEvents::OneWherePossible,
        LoadBalancerConfig::Ecmp,
        &injections,
    );
    assert_eq!(out.len(), 40, "every packet arrives somewhere");
    let whole = out.iter().filter(|d| !d.packet.trimmed).count();
    let came_back = out.iter().filter(|d| d.packet.returned).count();
    // One packet is in service, and eight packets wait. Ten headers of 64 B fit, and 21 headers return to their sender.
    assert_eq!((whole, came_back), (9, 21));
    for delivery in &out {
        let sender = HostId(delivery.body + 1);
        let expected = if delivery.packet.returned {
            sender
        } else {
            HostId(0)
        };
        assert_eq!(delivery.host, expected);
    }
    let (trimmed, drops) = (fabric.trimmed(), fabric.drops());
    assert_eq!(trimmed.packets, 31);
    assert_eq!(drops.header_queue_full.packets, 0);
    let remaining = fabric.count_remaining();
    assert_eq!(
        fabric.injected().bytes,
        fabric.delivered().bytes + trimmed.bytes + remaining.bytes
    );
}
