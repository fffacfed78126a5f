//! Conservation in every run, for all designs, networks and loads: no packet or byte appears or vanishes.
//! No link exceeds its rate, and no flow is faster than its ideal time.

use crate::support::{
    Run, config, fat_tree, leaf_spine, named_sizes, odd_network, poisson, queue_of, simulate,
    single_switch, slow_spines, web_search, workload,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use tailcut_oracle::conservation::{Counters, within_line_rate};
use tailcut_record::{PacketCount, RunRecord};
use tailcut_sim::fabric::queue::{Limit, QueueConfig, Sharing};
use tailcut_sim::fabric::topology::{
    CustomLink, CustomTopology, LinkFault, Node, NodeNames, Trouble, Wire,
};
use tailcut_sim::fabric::{LossRate, SharedBuffer};
use tailcut_sim::transport::tcp::TcpConfig;
use tailcut_sim::workload::{SizeDistribution, ThinkTime};
use tailcut_sim::{BurstPart, ClosedSpec, FanInSpec, FlowsSpec, MatrixSpec, RunConfig, Shape};
use tailcut_units::{Bytes, Duration, HostId, Rate, Time};

const DESIGNS: [&str; 20] = [
    "tcp",
    "cubic",
    "dctcp",
    "repflow",
    "repsyn+cubic",
    "mixed+dctcp",
    "tcp@spray",
    "dctcp@spray",
    "repflow+dctcp@spray",
    "ndp",
    "ndp-plus@spray",
    "scdp",
    "scdp@ecmp",
    "scdp-plain",
    "pfabric",
    "pfabric@spray",
    "pias",
    "qos",
    "repsyn+pias",
    "hull",
];

/// Designs whose switches choose paths, and which can avoid losses that occur in other designs.
const CHOOSING: [&str; 9] = [
    "tcp@letflow",
    "ndp@letflow",
    "dctcp@conga",
    "scdp@conga",
    "tcp@expeditus",
    "repsyn+dctcp@expeditus",
    "pias@expeditus-deck",
    "repflow@omniscient",
    "pfabric@omniscient",
];

/// Checks the conservation of packets and bytes in the network.
fn balance_the_network(record: &RunRecord, case: &str) {
    let totals = &record.totals;
    let drops = &totals.drops.0;
    let of = |what: &str, figure: fn(&PacketCount) -> u64, trimmed| Counters {
        what: format!("{case}, in {what}"),
        sent: figure(&totals.sent) + figure(&totals.copied),
        delivered: figure(&totals.delivered),
        dropped: drops
            .iter()
            .map(|(why, n)| (why.clone(), figure(n)))
            .collect(),
        in_flight: figure(&totals.remaining),
        trimmed,
        ..Counters::default()
    };
    for counters in [
        // Trimming removes bytes of a packet, but the packet itself remains.
        of("packets", |count| count.packets, 0),
        of("bytes", |count| count.bytes, totals.trimmed.bytes),
    ] {
        counters
            .check()
            .unwrap_or_else(|imbalance| panic!("{imbalance}"));
    }
    let dropped_at_ports: u64 = record.ports.iter().map(|port| port.dropped).sum();
    let elsewhere = ["no-route", "link-down", "link-loss"].map(|reason| lost(record, reason));
    assert_eq!(
        dropped_at_ports + elsewhere.iter().sum::<u64>(),
        totals.drops.total().packets,
        "{case}: drops by port and drops by reason"
    );
}

/// Returns the number of packets that were dropped for a reason.
fn lost(record: &RunRecord, reason: &str) -> u64 {
    let count = record.totals.drops.0.get(reason);
    count.map_or(0, |count| count.packets)
}

/// Checks the conservation of packets at each switch: arrivals equal departures, drops and packets in the queue.
/// The check is exact in a complete run. In a run that was cut off, packets in switches and on links remain.
/// Copies are counted for all switches together.
fn balance_the_switches(run: &Run, record: &RunRecord, case: &str) {
    let remaining = record.totals.remaining.packets;
    let copied = record.totals.copied.packets;
    let mut held = copied;
    for switch in 0..run.topology.switches.len() as u32 {
        let node = Node::Switch(switch);
        let ports = || run.topology.links.iter().zip(&record.ports);
        let into = ports().filter(|(link, _)| link.to == node);
        let out = ports().filter(|(link, _)| link.from == node);
        let sent: u64 = into.map(|(_, port)| port.packets).sum();
        let left: u64 = out.map(|(_, port)| port.packets + port.dropped).sum();
        let may_send = sent + copied;
        assert!(
            may_send >= left,
            "{case}: s{switch} sends more than it received"
        );
        held = held + sent - left;
    }
    // Drops outside of ports: packets without a route, and packets lost on the link to the switch.
    let elsewhere = ["no-route", "link-down", "link-loss"].map(|reason| lost(record, reason));
    let elsewhere: u64 = elsewhere.iter().sum();
    assert!(
        held <= remaining + elsewhere,
        "{case}: {held} held, {remaining} remain, {elsewhere} lost elsewhere"
    );
    if elsewhere == 0 && remaining == 0 {
        assert_eq!(held, 0, "{case}: switches hold nothing at the end");
    }
    let sent_by_hosts: u64 = record.ports[..run.topology.uplink_count as usize]
        .iter()
        .map(|port| port.packets)
        .sum();
    let sent = record.totals.sent.packets;
    assert!(
        sent_by_hosts <= sent && sent <= sent_by_hosts + remaining,
        "{case}: hosts sent {sent} packets, and their links carried {sent_by_hosts}"
    );
    let hops: u64 = record.ports.iter().map(|port| port.packets).sum();
    assert!(
        hops <= record.totals.packet_hops && record.totals.packet_hops <= hops + remaining,
        "{case}: {hops} transmissions at ports, {} hops in the totals",
        record.totals.packet_hops
    );
}

/// Checks that no link carries more than its rate allows, in an interval and in total.
fn no_link_exceeds_its_rate(run: &Run, record: &RunRecord, case: &str) {
    let rate = |port: u32| run.topology.links[port as usize].config.rate;
    let mut sampled_at = vec![Time::ZERO; record.ports.len()];
    let mut instants: Vec<Time> = record.links.iter().map(|sample| sample.time).collect();
    instants.dedup();
    for sample in &record.links {
        let last = &mut sampled_at[sample.link as usize];
        let before = instants.partition_point(|&at| at < sample.time);
        let from = before.checked_sub(1).map_or(Time::ZERO, |i| instants[i]);
        let span = sample.time.since(from.max(*last));
        *last = sample.time;
        // A sample includes a packet when its transmission ends.
        // The transmission of the first packet can therefore have begun before the interval.
        let bytes = sample.bytes.0.saturating_sub(1);
        assert!(
            within_line_rate(bytes, rate(sample.link), span),
            "{case}: {sample:?} over {span:?}"
        );
        assert!(sample.utilisation <= 1.001, "{case}: {sample:?}");
    }
    for port in &record.ports {
        assert!(
            within_line_rate(port.bytes.0, rate(port.port), record.totals.simulated),
            "{case}: {port:?}"
        );
    }
}

/// Returns the limit of a port, if one number describes it.
fn limit_of(config: &RunConfig, queue: &QueueConfig) -> Option<Limit> {
    let full_packet = u64::from(
        config
            .settings
            .framing
            .wire_bytes(config.settings.framing.payload),
    );
    match queue {
        QueueConfig::DropTail(queue) => Some(queue.limit),
        QueueConfig::PFabric(queue) => Some(queue.limit),
        QueueConfig::Priority(queue) if queue.sharing == Sharing::Shared => Some(queue.limit),
        // Data and headers have separate limits, and each class can have its own limit.
        QueueConfig::Trimming(queue) => {
            let each = match queue.data_limit {
                Limit::Packets(packets) => u64::from(packets) * full_packet,
                Limit::Bytes(bytes) => bytes,
            };
            let data = match queue.sharing {
                Sharing::PerClass => each * u64::from(queue.classes),
                Sharing::Shared => each,
                Sharing::LastApart => each * 2,
            };
            Some(Limit::Bytes(data + queue.header_limit_bytes))
        }
        _ => None,
    }
}

/// Checks that no queue sample exceeds its limit, and that no switch exceeds its shared memory.
fn no_queue_exceeds_its_limit(config: &RunConfig, run: &Run, record: &RunRecord, case: &str) {
    let mut topology = run.topology.clone();
    let installed = config.switch_plan().install(&mut topology);
    installed.expect("queues of the design");
    let mut in_memory: BTreeMap<(Time, u32), u64> = BTreeMap::new();
    for sample in &record.queues {
        let link = &topology.links[sample.port as usize];
        if let Node::Switch(switch) = link.from {
            *in_memory.entry((sample.time, switch)).or_default() += sample.backlog.0;
        }
        if let Some(limit) = limit_of(config, &link.config.queue) {
            let fits = match limit {
                Limit::Packets(most) => sample.packets <= most,
                Limit::Bytes(most) => sample.backlog.0 <= most,
            };
            assert!(fits, "{case}: {sample:?} in {limit:?}");
        }
    }
    for ((time, switch), bytes) in in_memory {
        if let Some(memory) = topology.switches[switch as usize].shared_buffer {
            let most = memory.capacity.0;
            assert!(
                bytes <= most,
                "{case}: switch s{switch} holds {bytes} B at {time:?}"
            );
        }
    }
}

fn no_flow_beats_its_ideal(record: &RunRecord, case: &str) {
    for flow in &record.flows {
        if let Some(fct) = flow.fct {
            assert!(fct >= flow.ideal_fct, "{case}: {flow:?}");
            assert!(flow.payload_sent.0 == 0 || flow.payload_sent >= flow.bytes);
        }
    }
}

/// Checks that the payload on the links of hosts equals the bytes that the flows report.
/// Copies and retransmissions are included. The check is exact in a complete run.
fn the_flows_account_for_every_payload_byte(
    config: &RunConfig,
    run: &Run,
    record: &RunRecord,
    case: &str,
) {
    let framing = config.settings.framing;
    let overhead = u64::from(framing.header + framing.preamble_and_gap);
    let uplinks = &record.ports[..run.topology.uplink_count as usize];
    let carried: u64 = uplinks
        .iter()
        .map(|port| port.bytes.0 - overhead * port.packets)
        .sum();
    let sent: u64 = record.flows.iter().map(|flow| flow.payload_sent.0).sum();
    assert_eq!(
        carried, sent,
        "{case}: payload on the links of hosts, and payload of all flows"
    );
}

/// Executes a run, checks its conservation, and returns its record.
pub fn audit(config: RunConfig) -> RunRecord {
    let case = format!(
        "design {} with workload {} on network {}",
        config.stack, config.workload.name, config.topology.name
    );
    let record = simulate(&config);
    let run = Run::of(&config);
    assert!(record.totals.sent.packets > 0, "{case}: an idle run");
    balance_the_network(&record, &case);
    balance_the_switches(&run, &record, &case);
    no_link_exceeds_its_rate(&run, &record, &case);
    no_queue_exceeds_its_limit(&config, &run, &record, &case);
    no_flow_beats_its_ideal(&record, &case);
    if record.totals.remaining.packets == 0 {
        the_flows_account_for_every_payload_byte(&config, &run, &record, &case);
    }
    record
}

fn networks(packets: u32) -> Vec<(&'static str, Shape)> {
    let shared = SharedBuffer {
        capacity: Bytes(150_000),
        alpha: 1.0,
    };
    let queue = || queue_of(packets);
    vec![
        ("single switch", single_switch(6, queue())),
        ("leaf-spine", leaf_spine(queue(), None)),
        (
            "leaf-spine with shared buffers",
            leaf_spine(queue_of(10_000), Some(shared)),
        ),
        ("leaf-spine of slow spines", slow_spines(queue())),
        ("fat-tree", fat_tree(queue())),
        ("odd network", odd_network(queue())),
        ("unlike parallel paths", unlike_paths(queue())),
        ("hosts on two leaves", dual_homed(queue())),
    ]
}

/// Returns six hosts, each with links to two of three leaves. The links have different rates, and there is one spine.
fn dual_homed(queue: QueueConfig) -> Shape {
    let link = |a, b, mbps| CustomLink {
        a,
        b,
        wire: Wire {
            rate: Rate::from_mbps(mbps),
            delay: Duration::from_ns(500),
        },
    };
    let (host, switch) = (|n| Node::Host(HostId(n)), Node::Switch);
    let of_hosts = (0..6).flat_map(|n| {
        [
            link(host(n), switch(n % 3), 10_000),
            link(host(n), switch((n + 1) % 3), 5_000),
        ]
    });
    let of_spine = (0..3).map(|leaf| link(switch(leaf), switch(3), 10_000));
    Shape::Custom(Arc::new(CustomTopology {
        hosts: 6,
        switches: 4,
        links: of_hosts.chain(of_spine).collect(),
        queue,
        shared_buffer: None,
        names: NodeNames::default(),
    }))
}

/// Returns a network with two unlike paths. h0 and h1 are on s0, h2 and h3 are on s3, and s0 reaches s3 over s1 or s2.
/// One path has the higher rate, and the other path has the shorter delay.
fn unlike_paths(queue: QueueConfig) -> Shape {
    let link = |a, b, mbps, delay_ns| CustomLink {
        a,
        b,
        wire: Wire {
            rate: Rate::from_mbps(mbps),
            delay: Duration::from_ns(delay_ns),
        },
    };
    let (host, switch) = (|n| Node::Host(HostId(n)), Node::Switch);
    Shape::Custom(Arc::new(CustomTopology {
        hosts: 4,
        switches: 4,
        links: vec![
            link(host(0), switch(0), 10_000, 500),
            link(host(1), switch(0), 2_500, 500),
            link(host(2), switch(3), 10_000, 500),
            link(host(3), switch(3), 5_000, 500),
            link(switch(0), switch(1), 9_000, 4_000),
            link(switch(1), switch(3), 7_000, 4_000),
            link(switch(0), switch(2), 1_000, 100),
            link(switch(2), switch(3), 3_000, 100),
        ],
        queue,
        shared_buffer: None,
        names: NodeNames::default(),
    }))
}

#[test]
fn web_search_balances_under_every_design_on_every_network() {
    let mut dropped = 0;
    let mut by_pool = 0;
    for (name, shape) in networks(40) {
        for design in DESIGNS.into_iter().chain(CHOOSING) {
            for load in [0.2, 0.7] {
                let traffic = web_search(load, Duration::from_ms(3));
                let mut config = config(design, name, shape.clone(), traffic);
                config.sample_every = Some(Duration::from_us(20));
                let record = audit(config);
                assert_eq!(record.totals.remaining.packets, 0, "it ran to its end");
                assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
                dropped += record.totals.drops.total().packets;
                let pool = record.totals.drops.0.get("shared-buffer");
                by_pool += pool.map_or(0, |count| count.packets);
            }
        }
    }
    assert!(
        dropped > by_pool && by_pool > 0,
        "both kinds of loss occurred"
    );
}

#[test]
fn an_incast_beside_background_traffic_balances_though_packets_are_lost_or_trimmed() {
    for (name, shape) in networks(5) {
        // Custom networks have too few hosts for a fan-in.
        for design in DESIGNS {
            if matches!(shape, Shape::Custom(_)) {
                continue;
            }
            let burst = FlowsSpec::Burst(BurstPart {
                sizes: Arc::new(SizeDistribution::fixed(40_000)),
                matrix: MatrixSpec::Incast {
                    senders: 5,
                    receiver: 0,
                },
                at: Duration::from_us(50),
                jitter: Duration::ZERO,
            });
            let mut background = poisson(named_sizes("facebook-hadoop"), 0.3, Duration::from_ms(1));
            let FlowsSpec::Open(spec) = &mut background else {
                unreachable!("arrivals are open")
            };
            spec.fan_in = Some(FanInSpec {
                senders: 4,
                below: Bytes(10_000),
            });
            let traffic = workload("incast", vec![burst, background]);
            let mut config = config(design, name, shape.clone(), traffic);
            config.settings.designs.pias.limit = Limit::Packets(5);
            let record = audit(config);
            let lost = record.totals.drops.total().packets + record.totals.trimmed.packets;
            // The designs `qos` and `scdp-plain` may lose no packets.
            // In `qos`, each class has the whole capacity of a port. The design `scdp-plain` paces its requests.
            let may_lose_none = ["qos", "scdp-plain"].contains(&design);
            assert!(lost > 0 || may_lose_none, "{design} on {name}");
            assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
        }
    }
}

#[test]
fn payload_that_was_cut_off_and_headers_that_bounce_or_are_dropped_are_in_the_books() {
    let crowds = [
        ("single switch", single_switch(31, queue_of(40)), 30),
        ("leaf-spine", leaf_spine(queue_of(40), None), 11),
        ("fat-tree", fat_tree(queue_of(40)), 15),
    ];
    for (name, shape, senders) in crowds {
        for design in ["ndp", "ndp-plus@spray", "scdp"] {
            let burst = FlowsSpec::Burst(BurstPart {
                sizes: Arc::new(SizeDistribution::fixed(100_000)),
                matrix: MatrixSpec::Incast {
                    senders,
                    receiver: 0,
                },
                at: Duration::ZERO,
                jitter: Duration::ZERO,
            });
            let traffic = workload("incast", vec![burst]);
            let mut tight = config(design, name, shape.clone(), traffic);
            tight.settings.designs.ndp.header_queue_packets = 1;
            tight.settings.designs.scdp.header_queue = Bytes(1_538);
            tight.settings.designs.scdp.queue = Limit::Bytes(30_760);
            let totals = audit(tight).totals;
            assert_eq!(totals.remaining.packets, 0, "{design} on {name}");
            assert!(totals.trimmed.bytes > 0, "{design} on {name}");
            // NDP's switches return a header that does not fit in the queue.
            // SCDP's switches drop a header that does not fit.
            let returns = design != "scdp";
            let dropped = totals.drops.0.get("header-queue-full");
            let dropped = dropped.map_or(0, |count| count.packets);
            assert_eq!(totals.returned.packets > 0, returns, "{design} on {name}");
            assert!(returns || dropped > 0, "{design} on {name}");
        }
    }
}

#[test]
fn links_that_fail_or_slow_down_lose_what_they_say_and_every_flow_finishes() {
    let fault = |a, b, trouble, from_us: u64, until_us: u64| LinkFault {
        a: Node::Switch(a),
        b: Node::Switch(b),
        number: None,
        trouble,
        from: Time::from_ns(1_000 * from_us),
        until: Time::from_ns(1_000 * until_us),
        reconvergence: Duration::from_us(200),
    };
    let slow = Trouble::Slow(Rate::from_gbps(1));
    let lossy = Trouble::Lossy(LossRate::from_share(0.1).expect("a share"));
    for (name, shape, [one, other]) in [
        (
            "leaf-spine",
            leaf_spine(queue_of(40), None),
            [(0, 3), (1, 4)],
        ),
        ("fat-tree", fat_tree(queue_of(40)), [(8, 16), (1, 9)]),
    ] {
        let mut lost_in_all = 0;
        for design in ["tcp", "ndp", "hull"].into_iter().chain(CHOOSING) {
            let traffic = web_search(0.6, Duration::from_ms(2));
            let mut config = config(design, name, shape.clone(), traffic);
            config.sample_every = Some(Duration::from_us(31));
            config.faults = vec![
                fault(one.0, one.1, Trouble::Down, 300, 1_300),
                fault(other.0, other.1, slow, 200, 1_500),
                fault(other.0, other.1, Trouble::Down, 1_600, 1_700),
                fault(other.0, other.1, lossy, 100, 2_000),
            ];
            let record = audit(config);
            assert!(lost(&record, "link-loss") > 0, "{design} on {name}");
            lost_in_all += lost(&record, "link-down");
            let unfinished = record.flows.iter().filter(|flow| flow.fct.is_none());
            assert_eq!(unfinished.count(), 0, "{design} on {name}");
        }
        assert!(lost_in_all > 0, "{name}");
    }
}

#[test]
fn a_run_that_is_cut_off_counts_what_is_still_on_its_way() {
    for (name, shape) in networks(40) {
        for design in DESIGNS.into_iter().chain(CHOOSING) {
            let mut cut = config(
                design,
                name,
                shape.clone(),
                web_search(0.8, Duration::from_ms(1)),
            );
            cut.drain = Duration::from_us(3);
            cut.sample_every = Some(Duration::from_us(7));
            let record = audit(cut);
            assert!(record.totals.remaining.packets > 0, "{design} on {name}");
            assert!(record.flows.iter().any(|flow| flow.fct.is_none()));
        }
    }
}

#[test]
fn every_option_of_tcp_balances_in_a_closed_loop_and_in_a_permutation() {
    type TcpOption = (&'static str, fn(&mut TcpConfig));
    let options: [TcpOption; 6] = [
        ("SACK", |tcp| tcp.sack = true),
        ("an ACK per segment", |tcp| tcp.delayed_ack = None),
        ("no limited transmit", |tcp| tcp.limited_transmit = false),
        ("large sends", |tcp| tcp.lso_bytes = 65_536),
        ("SACK and large sends", |tcp| {
            tcp.sack = true;
            tcp.lso_bytes = 65_536;
        }),
        ("classic ECN", |tcp| tcp.classic_ecn = true),
    ];
    let sizes = || Arc::new(named_sizes("facebook-hadoop"));
    for (name, shape) in networks(12) {
        for (option, set) in options {
            for design in ["tcp", "cubic@spray", "repflow+dctcp"] {
                let closed = FlowsSpec::Closed(ClosedSpec {
                    sizes: sizes(),
                    matrix: MatrixSpec::Anywhere,
                    outstanding: 3,
                    think: ThinkTime::Fixed(Duration::from_us(2)),
                    from: Duration::ZERO,
                    until: Duration::from_us(600),
                    max_flows: None,
                });
                let burst = FlowsSpec::Burst(BurstPart {
                    sizes: sizes(),
                    matrix: MatrixSpec::Permutation { within_racks: true },
                    at: Duration::from_us(100),
                    jitter: Duration::from_us(10),
                });
                let traffic = workload(option, vec![closed, burst]);
                let mut config = config(design, name, shape.clone(), traffic);
                set(&mut config.settings.tcp);
                config.settings.framing.payload = 1_000;
                let record = audit(config);
                assert_eq!(record.totals.remaining.packets, 0);
                let unfinished = record.flows.iter().filter(|flow| flow.fct.is_none());
                assert_eq!(unfinished.count(), 0, "{design} with {option} on {name}");
            }
        }
    }
}
