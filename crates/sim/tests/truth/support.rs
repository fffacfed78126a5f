//! Configurations and helpers for the tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use tailcut_record::RunRecord;
use tailcut_sim::fabric::SharedBuffer;
use tailcut_sim::fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_sim::fabric::topology::{
    CoreOversubscription, CustomLink, CustomTopology, FatTree, LeafSpine, Node, NodeNames,
    SingleSwitch, Topology, Wire,
};
use tailcut_sim::transport::tcp::{DelayedAck, TcpConfig};
use tailcut_sim::workload::{Arrivals, Class, Limits, SizeDistribution, Trace};
use tailcut_sim::{
    FlowsSpec, LoadReference, MatrixSpec, OfferedRate, OpenSpec, ReadBy, RequestRate, RequestsPart,
    RunConfig, Settings, Shape, StoragePart, TopologySpec, Unattended, WorkloadPart, WorkloadSpec,
    WriteBy, run,
};
use tailcut_units::{Duration, HostId, Rate};

pub const fn gigabit(gbps: u64, delay: Duration) -> Wire {
    Wire {
        rate: Rate::from_gbps(gbps),
        delay,
    }
}

/// Link of 10 Gb/s with a delay of 1 us.
pub const FAST: Wire = gigabit(10, Duration::from_us(1));

pub fn queue_of(packets: u32) -> QueueConfig {
    QueueConfig::DropTail(DropTail {
        limit: Limit::Packets(packets),
        mark_above: Some(Limit::Packets(packets * 13 / 20)),
    })
}

/// Returns hosts on one switch with equal links.
pub fn single_switch(hosts: u32, queue: QueueConfig) -> Shape {
    Shape::SingleSwitch(SingleSwitch {
        hosts,
        host_wire: FAST,
        queue,
        shared_buffer: None,
    })
}

/// Returns three racks of four hosts, with four spines.
pub fn leaf_spine(queue: QueueConfig, shared_buffer: Option<SharedBuffer>) -> Shape {
    Shape::LeafSpine(LeafSpine {
        leaves: 3,
        spines: 4,
        hosts_per_leaf: 4,
        host_links: 1,
        host_wire: FAST,
        spine_wire: FAST,
        queue,
        shared_buffer,
    })
}

/// Returns two racks, with hosts that are ten times as fast as each of the spines between them.
pub fn slow_spines(queue: QueueConfig) -> Shape {
    Shape::LeafSpine(LeafSpine {
        leaves: 2,
        spines: 4,
        hosts_per_leaf: 3,
        host_links: 1,
        host_wire: FAST,
        spine_wire: gigabit(1, Duration::from_us(1)),
        queue,
        shared_buffer: None,
    })
}

/// Returns sixteen hosts in four pods.
pub fn fat_tree(queue: QueueConfig) -> Shape {
    Shape::FatTree(FatTree {
        k: 4,
        tiers: 3,
        edge_downlinks: 2,
        host_links: 1,
        core_oversubscription: CoreOversubscription::None,
        host_wire: FAST,
        fabric_wire: FAST,
        core_wire: FAST,
        queue,
        shared_buffer: None,
    })
}

/// Returns two hosts on either side of three switches in a row: h0, h1 - s0 = s1 - s2 - h2, h3.
/// Two links connect s0 and s1. With the rates of these links, transmission times are not whole numbers.
pub fn odd_network(queue: QueueConfig) -> Shape {
    let link = |a, b, mbps, delay_ns| CustomLink {
        a,
        b,
        wire: Wire {
            rate: Rate::from_mbps(mbps),
            delay: Duration::from_ns(delay_ns),
        },
    };
    let host = |n| Node::Host(HostId(n));
    Shape::Custom(Arc::new(CustomTopology {
        hosts: 4,
        switches: 3,
        links: vec![
            link(host(0), Node::Switch(0), 7_000, 300),
            link(host(1), Node::Switch(0), 10_000, 100),
            link(Node::Switch(0), Node::Switch(1), 3_000, 1_700),
            link(Node::Switch(0), Node::Switch(1), 3_000, 1_700),
            link(Node::Switch(1), Node::Switch(2), 9_000, 450),
            link(host(2), Node::Switch(2), 1_100, 250),
            link(host(3), Node::Switch(2), 10_000, 50),
        ],
        queue,
        shared_buffer: None,
        names: NodeNames::default(),
    }))
}

/// Returns a run with this workload, TCP for a data centre, and no samples.
pub fn config(design: &str, name: &str, shape: Shape, workload: WorkloadSpec) -> RunConfig {
    let design = design.parse().expect("a design");
    let name = name.to_owned();
    let settings = Settings {
        tcp: TcpConfig {
            min_rto: Duration::from_ms(2),
            initial_rto: Duration::from_ms(10),
            delayed_ack: Some(DelayedAck {
                segments: 2,
                timeout: Duration::from_us(200),
            }),
            ..TcpConfig::default()
        },
        ..Settings::default()
    };
    RunConfig {
        settings,
        ..RunConfig::new(design, TopologySpec { name, shape }, workload)
    }
}

pub fn workload(name: &str, flows: Vec<FlowsSpec>) -> WorkloadSpec {
    WorkloadSpec {
        name: name.to_owned(),
        load: None,
        weights: Arc::default(),
        parts: flows
            .into_iter()
            .map(|flows| WorkloadPart {
                class: Class::Foreground,
                path: None,
                flows,
            })
            .collect(),
    }
}

/// Returns Poisson arrivals of web-search flows between random hosts, at a load of the hosts' links.
pub fn web_search(load: f64, until: Duration) -> WorkloadSpec {
    let sizes = named_sizes("websearch");
    let mut spec = workload("websearch", vec![poisson(sizes, load, until)]);
    spec.load = Some(load);
    spec
}

pub fn poisson(sizes: SizeDistribution, load: f64, until: Duration) -> FlowsSpec {
    FlowsSpec::Open(OpenSpec {
        sizes: Arc::new(sizes),
        arrivals: Arrivals::Poisson,
        matrix: MatrixSpec::Anywhere,
        rate: OfferedRate::Load {
            fraction: load,
            of: LoadReference::HostLinks,
            wire_bytes: true,
        },
        from: Duration::ZERO,
        until,
        max_flows: None,
        fan_in: None,
    })
}

/// Returns clients that write or read blocks with three replicas.
pub fn storage(bytes: u64, reads: f64, per_second: f64, until: Duration) -> StoragePart {
    StoragePart {
        sizes: Arc::new(SizeDistribution::fixed(bytes)),
        left_out: None,
        replicas: 3,
        reads,
        blocks: 1,
        arrivals: Arrivals::Poisson,
        per_second,
        from: Duration::ZERO,
        until,
        max_sessions: None,
        write: WriteBy::Multicast,
        read: ReadBy::AllReplicas,
    }
}

/// Returns a workload with the flows of a trace in CSV.
pub fn trace(csv: &str, topology: &Topology) -> WorkloadSpec {
    let limits = Limits {
        hosts: topology.hosts(),
        paths: topology.paths as u16,
    };
    let trace = Trace::parse(csv.as_bytes(), limits).expect("a trace");
    workload("trace", vec![FlowsSpec::Trace(Arc::new(trace))])
}

/// Run with its network. The record of a run does not contain the complete network.
pub struct Run {
    pub topology: Topology,
}

impl Run {
    pub fn of(config: &RunConfig) -> Self {
        let topology = config.topology.shape.build().expect("a topology");
        Self { topology }
    }
}

pub fn simulate(config: &RunConfig) -> RunRecord {
    run(config, &Unattended).expect("a run")
}

/// Returns the number of packets that each port sent, by name.
pub fn packets_by_port(record: &RunRecord) -> BTreeMap<&str, u64> {
    let ports = record.ports.iter();
    ports
        .map(|port| (port.name.as_str(), port.packets))
        .collect()
}

/// Returns the completion times in seconds of the flows that finished, in the order of their numbers.
pub fn completion_times(record: &RunRecord) -> Vec<f64> {
    let times = record.flows.iter().filter_map(|flow| flow.fct);
    times.map(|fct| fct.as_secs_f64()).collect()
}

/// Returns a size distribution from the literature.
pub fn named_sizes(name: &str) -> SizeDistribution {
    SizeDistribution::named(name).expect("a named table")
}

/// Returns six servers and six clients on one switch at 10 Gb/s, with objects of 300 KB.
pub fn requests(design: &str, load: f64, count: u64) -> RunConfig {
    let part = RequestsPart {
        sizes: Arc::new(SizeDistribution::fixed(300_000)),
        clients: 6,
        servers: 6,
        arrivals: Arrivals::Poisson,
        rate: RequestRate::Load(load),
        from: Duration::ZERO,
        until: Duration::from_ms(1_000_000),
        max_requests: Some(count),
    };
    let workload = WorkloadSpec {
        name: "requests".to_owned(),
        load: Some(load),
        weights: Arc::default(),
        parts: vec![WorkloadPart {
            class: Class::Foreground,
            path: None,
            flows: FlowsSpec::Requests(part),
        }],
    };
    let mut config = config(
        design,
        "one switch",
        single_switch(12, queue_of(100)),
        workload,
    );
    config.settings.tcp.min_rto = Duration::from_ms(5);
    config.drain = Duration::from_ms(10_000);
    config
}
