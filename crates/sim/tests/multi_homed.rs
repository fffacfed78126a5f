//! Hosts with several links: symbols use them all.

#[allow(dead_code, reason = "each test uses its part of the support")]
#[path = "truth/support.rs"]
mod support;

use std::sync::Arc;
use support::{Run, config, queue_of, simulate, trace};
use tailcut_sim::Shape;
use tailcut_sim::fabric::topology::{CustomLink, CustomTopology, Node, NodeNames, Wire};
use tailcut_units::{Duration, HostId, Rate};

/// Two hosts, each with `homes` links of 10 Gb/s, one to each of as many switches.
fn pair(homes: u32) -> Shape {
    let links = (0..homes).flat_map(|switch| {
        [0, 1].map(|host| CustomLink {
            a: Node::Host(HostId(host)),
            b: Node::Switch(switch),
            wire: Wire {
                rate: Rate::from_gbps(10),
                delay: Duration::from_us(1),
            },
        })
    });
    Shape::Custom(Arc::new(CustomTopology {
        hosts: 2,
        switches: homes,
        links: links.collect(),
        queue: queue_of(200),
        shared_buffer: None,
        names: NodeNames::default(),
    }))
}

#[test]
fn a_long_scdp_flow_takes_all_links_of_its_hosts() {
    // 10,000 packets of 1,538 B on the wire.
    let csv = "start_ns,src,dst,bytes\n0,0,1,14600000\n";
    for homes in [1, 2, 4] {
        let shape = pair(homes);
        let any = trace(
            csv,
            &Run::of(&config(
                "scdp",
                "homes",
                shape.clone(),
                support::web_search(0.1, Duration::from_us(1)),
            ))
            .topology,
        );
        let record = simulate(&config("scdp", "homes", shape, any));
        let flow = record.flows[0];
        let fct = flow.fct.expect("complete");
        assert!(fct >= flow.ideal_fct, "{homes}: {flow:?}");
        let line = Rate::from_gbps(10 * u64::from(homes)).serialisation(10_000 * 1_538);
        // A twentieth for the last pull's way, and a millisecond to decode the last block.
        let most = line + line / 20 + Duration::from_us(1_000);
        assert!(
            (line..most).contains(&fct),
            "{homes} links: {fct}, line {line}"
        );
        for port in &record.ports[..homes as usize] {
            let share = 10_000 / u64::from(homes);
            assert!(port.packets >= share - share / 20, "{homes}: {port:?}");
        }
    }
}
