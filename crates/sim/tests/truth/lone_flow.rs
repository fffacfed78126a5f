//! A flow alone in the network takes exactly the calculated time, to the picosecond.

use crate::support::{
    FAST, config, fat_tree, gigabit, leaf_spine, odd_network, queue_of, simulate, single_switch,
    trace,
};
use tailcut_oracle::ideal::{self, Hop, Transfer};
use tailcut_sim::Shape;
use tailcut_sim::fabric::topology::{CoreOversubscription, FatTree, LeafSpine, Node, Topology};
use tailcut_sim::transport::tcp::DelayedAck;
use tailcut_units::Duration;

const QUEUE: u32 = 1_000;
/// Bytes of the initial window: ten segments.
const WINDOW: u64 = 10 * 1_460;

/// Name and shape of a network, with pairs of hosts. There is one pair for each possible distance.
type Case = (&'static str, Shape, Vec<(u32, u32)>);

/// Returns all kinds of topologies.
fn topologies() -> Vec<Case> {
    let queue = || queue_of(QUEUE);
    vec![
        ("single switch", single_switch(4, queue()), vec![(0, 3)]),
        (
            "leaf-spine",
            leaf_spine(queue(), None),
            vec![(0, 1), (0, 11)],
        ),
        (
            "leaf-spine of unlike wires",
            Shape::LeafSpine(LeafSpine {
                leaves: 2,
                spines: 3,
                hosts_per_leaf: 6,
                host_links: 1,
                host_wire: gigabit(1, Duration::from_us(20)),
                spine_wire: gigabit(40, Duration::from_ns(333)),
                queue: queue(),
                shared_buffer: None,
            }),
            vec![(0, 5), (2, 7)],
        ),
        (
            "fat-tree of two tiers",
            Shape::FatTree(FatTree {
                k: 4,
                tiers: 2,
                edge_downlinks: 4,
                host_links: 1,
                core_oversubscription: CoreOversubscription::None,
                host_wire: FAST,
                fabric_wire: FAST,
                core_wire: FAST,
                queue: queue(),
                shared_buffer: None,
            }),
            vec![(0, 3), (0, 15)],
        ),
        (
            "fat-tree of three tiers",
            fat_tree(queue()),
            vec![(0, 1), (0, 3), (0, 15)],
        ),
        (
            "custom",
            odd_network(queue()),
            vec![(0, 1), (0, 2), (1, 3), (2, 0), (3, 1), (2, 3)],
        ),
    ]
}

/// Returns the hops of the path from one host to another, in a network where all paths are equal.
/// The search is breadth-first over the links, and does not use the tables of the switches.
fn way(topology: &Topology, src: u32, dst: u32) -> Vec<Hop> {
    let start = topology.uplinks[src as usize];
    let mut ways = vec![vec![start]];
    loop {
        let mut longer = Vec::new();
        for way in ways {
            let last = *way.last().expect("a path has a link");
            match topology.links[last as usize].to {
                Node::Host(host) if host.0 == dst => {
                    let hops = way.iter().map(|&link| {
                        let config = &topology.links[link as usize].config;
                        Hop {
                            rate: config.rate,
                            delay: config.delay,
                        }
                    });
                    return hops.collect();
                }
                Node::Host(_) => {}
                Node::Switch(switch) => {
                    let out = (0..topology.links.len() as u32)
                        .filter(|&l| topology.links[l as usize].from == Node::Switch(switch));
                    longer.extend(out.map(|link| [&way[..], &[link]].concat()));
                }
            }
        }
        ways = longer;
    }
}

fn transfer(topology: &Topology, src: u32, dst: u32) -> Transfer {
    Transfer {
        forward: way(topology, src, dst),
        backward: way(topology, dst, src),
        mss: 1_460,
        overhead: 78,
        handshake: true,
        handshake_ack_apart: false,
        initial_window: WINDOW,
        growth_per_ack: 2 * 1_460,
        delayed_ack: None,
    }
}

#[test]
fn one_flow_within_the_initial_window_is_exactly_ideal_on_every_topology() {
    for (name, shape, pairs) in topologies() {
        let topology = shape.build().expect("a topology");
        for (src, dst) in pairs {
            for bytes in [1, 1_459, 1_460, 1_461, 9_000, WINDOW] {
                let csv = format!("start_ns,src,dst,bytes\n12345,{src},{dst},{bytes}\n");
                let workload = trace(&csv, &topology);
                let record = simulate(&config("tcp", name, shape.clone(), workload));
                let flow = record.flows[0];
                let ideal = transfer(&topology, src, dst).unlimited(bytes).delivered;
                let case = format!("{bytes} B from h{src} to h{dst} on {name}");
                assert_eq!(flow.fct, Some(ideal), "{case}");
                assert_eq!(flow.ideal_fct, ideal, "{case}");
            }
        }
    }
}

#[test]
fn one_flow_in_slow_start_is_exact_to_the_picosecond_under_every_congestion_control() {
    for delayed_ack in [
        None,
        Some(DelayedAck {
            segments: 2,
            timeout: Duration::from_us(200),
        }),
    ] {
        for (name, shape, pairs) in topologies() {
            let topology = shape.build().expect("a topology");
            for (src, dst) in pairs {
                for (design, bytes) in [
                    ("tcp", WINDOW + 1),
                    ("tcp", 100_000),
                    ("cubic", 77_777),
                    ("dctcp", 50_000),
                ] {
                    let csv = format!("start_ns,src,dst,bytes\n0,{src},{dst},{bytes}\n");
                    let mut config = config(design, name, shape.clone(), trace(&csv, &topology));
                    config.settings.tcp.delayed_ack = delayed_ack;
                    let flow = simulate(&config).flows[0];
                    let mut alone = transfer(&topology, src, dst);
                    alone.delayed_ack = delayed_ack.map(|policy| ideal::DelayedAck {
                        segments: u32::from(policy.segments),
                        timeout: policy.timeout,
                    });
                    let expected = alone.slow_start(bytes).delivered;
                    let case = format!(
                        "{design}: {bytes} B from h{src} to h{dst} on {name}, {delayed_ack:?}"
                    );
                    assert_eq!(flow.fct, Some(expected), "{case}");
                    assert!(flow.ideal_fct <= expected, "{case}");
                    assert_eq!(flow.retransmissions, 0, "{case}");
                }
            }
        }
    }
}
