//! Hosts with several links: the symbols of a flow use all of them.

#[allow(dead_code, reason = "each test uses a part of the support")]
#[path = "truth/support.rs"]
mod support;

use std::sync::Arc;
use support::{FAST, Run, config, queue_of, simulate, trace};
use tailcut_record::PortTotals;
use tailcut_sim::Shape;
use tailcut_sim::fabric::topology::{CustomLink, CustomTopology, LeafSpine, Node, NodeNames, Wire};
use tailcut_units::{Duration, HostId, Rate, Time};

/// Returns two hosts, each with one link of 10 Gb/s to each of `homes` switches.
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
        // 5 % for the path of the last pull, and 1 ms to decode the last block.
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

/// Returns two racks, each with two leaves and four hosts. Each host connects to both leaves of its rack.
fn two_racks() -> Shape {
    Shape::LeafSpine(LeafSpine {
        leaves: 4,
        spines: 4,
        hosts_per_leaf: 2,
        host_links: 2,
        host_wire: FAST,
        spine_wire: FAST,
        queue: queue_of(200),
        shared_buffer: None,
    })
}

#[test]
fn between_racks_symbols_take_both_links_and_a_tcp_flow_keeps_its_order_on_one() {
    let csv = "start_ns,src,dst,bytes\n0,0,4,14600000\n";
    let of = |design| {
        let any = support::web_search(0.1, Duration::from_us(1));
        let empty = config(design, "racks", two_racks(), any);
        let record = simulate(&config(
            design,
            "racks",
            two_racks(),
            trace(csv, &Run::of(&empty).topology),
        ));
        let flow = record.flows[0];
        let fct = flow.fct.expect("complete");
        assert!(fct >= flow.ideal_fct, "{design}: {flow:?}");
        let of_host = |port: &&PortTotals| port.name.starts_with("h0>") && port.packets > 100;
        (flow, fct, record.ports.iter().filter(of_host).count())
    };
    let line = Rate::from_gbps(10).serialisation(10_000 * 1_538);
    let (_, fct, links) = of("scdp");
    assert!(fct < line, "{fct} of {line}");
    assert_eq!(links, 2);
    let (flow, fct, links) = of("dctcp");
    assert!(fct >= line && fct < line + line / 5, "{fct} of {line}");
    assert_eq!((links, flow.retransmissions), (1, 0));
}

#[test]
fn flows_of_a_host_share_its_links_by_their_hashes() {
    let flows = (0..64).map(|n| format!("{},0,4,146000\n", n * 1_000));
    let csv = format!("start_ns,src,dst,bytes\n{}", flows.collect::<String>());
    let any = support::web_search(0.1, Duration::from_us(1));
    let topology = Run::of(&config("dctcp", "racks", two_racks(), any)).topology;
    let record = simulate(&config(
        "dctcp",
        "racks",
        two_racks(),
        trace(&csv, &topology),
    ));
    let last = record
        .flows
        .iter()
        .filter_map(|flow| Some(flow.start + flow.fct?))
        .max();
    // The flows send 64 times 100 packets.
    // Two links need half the time of one link, plus some time because the hash is uneven.
    let line = Rate::from_gbps(10).serialisation(6_400 * 1_538);
    let took = last.expect("flows").since(Time::ZERO);
    assert!(took < line * 4 / 5, "{took} of {line}");
}
