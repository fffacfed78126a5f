//! RepFlow and RepSYN in a network: the probability of an uncongested path (RepNet paper, II-B), and the cost.
//! The tests also check the conservation of packets.

use std::fmt::Write;
use std::sync::Arc;
use tailcut_oracle::statistics::{Interval, mean_interval};
use tailcut_record::{FlowRecord, RunRecord};
use tailcut_sim::fabric::PortEvents;
use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_sim::fabric::topology::{LeafSpine, Wire};
use tailcut_sim::transport::tcp::{DelayedAck, TcpConfig};
use tailcut_sim::workload::{Arrivals, Class, Limits, SizeDistribution, Trace};
use tailcut_sim::{
    FlowsSpec, LoadReference, MatrixSpec, OfferedRate, OpenSpec, RepNetParameters, RunConfig,
    Settings, Shape, TopologySpec, Unattended, WorkloadPart, WorkloadSpec, run,
};
use tailcut_units::{Bytes, Duration, Rate};

const HOSTS_A_RACK: u32 = 8;
const SPINES: u32 = 3;
const LIMIT: u64 = 100_000;

/// Returns a run over two racks with three spines, with all links at 1 Gb/s.
fn config(design: &str, flows: FlowsSpec) -> RunConfig {
    let wire = Wire {
        rate: Rate::from_gbps(1),
        delay: Duration::from_us(10),
    };
    let topology = TopologySpec {
        name: "two racks".to_owned(),
        shape: Shape::LeafSpine(LeafSpine {
            leaves: 2,
            spines: SPINES,
            hosts_per_leaf: HOSTS_A_RACK,
            host_links: 1,
            host_wire: wire,
            spine_wire: wire,
            queue: QueueConfig::DropTail(DropTail {
                limit: Limit::Packets(100),
                mark_above: None,
            }),
            shared_buffer: None,
        }),
    };
    let workload = WorkloadSpec {
        name: "test".to_owned(),
        load: None,
        weights: Arc::default(),
        parts: vec![WorkloadPart {
            class: Class::Foreground,
            flows,
            path: None,
        }],
    };
    let settings = Settings {
        tcp: TcpConfig {
            min_rto: Duration::from_ms(10),
            initial_rto: Duration::from_ms(50),
            delayed_ack: Some(DelayedAck {
                segments: 2,
                timeout: Duration::from_ms(1),
            }),
            ..TcpConfig::default()
        },
        repnet: RepNetParameters {
            limit: Bytes(LIMIT),
            archive_limit: Bytes(LIMIT),
            waiting_list_timeout: Duration::from_ms(1_000),
        },
        ..Settings::default()
    };
    RunConfig {
        settings,
        seed: 7,
        drain: Duration::from_ms(100),
        ..RunConfig::new(design.parse().expect("a design"), topology, workload)
    }
}

fn record(config: &RunConfig) -> RunRecord {
    let record = run(config, &Unattended).expect("a run");
    let totals = &record.totals;
    let dropped = totals.drops.total();
    assert_eq!(
        totals.sent.packets,
        totals.delivered.packets + dropped.packets + totals.remaining.packets
    );
    assert_eq!(
        totals.sent.bytes,
        totals.delivered.bytes + dropped.bytes + totals.remaining.bytes
    );
    for flow in &record.flows {
        assert!(flow.fct.is_none_or(|fct| fct >= flow.ideal_fct), "{flow:?}");
    }
    record
}

/// Returns four large flows that fill the path over spine 0 for the whole run.
/// After the first 50 ms, other hosts of the racks send probes of 1 KB that are not pinned to a path.
fn one_congested_path(probes: u32) -> FlowsSpec {
    let mut text = String::from("start_ns,src,dst,bytes,path\n");
    for pair in 0..4 {
        let to = HOSTS_A_RACK + pair;
        writeln!(text, "0,{pair},{to},1000000000,0").expect("text");
    }
    for probe in 0..probes {
        let start = 50_000_000 + u64::from(probe) * 200_000;
        let from = 4 + probe % 4;
        writeln!(text, "{start},{from},{},1000,", HOSTS_A_RACK + from).expect("text");
    }
    let limits = Limits {
        hosts: 2 * HOSTS_A_RACK,
        paths: SPINES as u16,
    };
    FlowsSpec::Trace(Arc::new(
        Trace::parse(text.as_bytes(), limits).expect("a trace"),
    ))
}

/// Returns the share of probes on the congested path, where a probe waits longer than 20 packets take to transmit.
fn share_that_meets_congestion(design: &str) -> Interval {
    let record = record(&config(design, one_congested_path(5_000)));
    let queueing = Duration::from_us(250);
    let probes = record.flows.iter().filter(|flow| flow.bytes.0 < LIMIT);
    let met = probes.map(|flow| match flow.fct {
        Some(fct) if fct <= flow.ideal_fct + queueing => 0.0,
        _ => 1.0,
    });
    mean_interval(&met.collect::<Vec<f64>>(), 0.999)
}

#[test]
fn a_probe_over_tcp_meets_the_one_congested_path_of_three_in_a_third_of_the_cases() {
    let share = share_that_meets_congestion("tcp");
    assert!(share.contains(1.0 / 3.0), "{share:?}");
}

#[test]
fn the_better_of_two_paths_is_congested_in_a_ninth_of_the_cases() {
    for design in ["repflow", "repsyn", "repflow+cubic"] {
        let share = share_that_meets_congestion(design);
        assert!(share.contains(1.0 / 9.0), "{design}: {share:?}");
        assert!(!share.contains(1.0 / 3.0), "{design}: {share:?}");
    }
}

/// Returns small and large flows between the racks, at half of the capacity.
fn mice_and_elephants() -> FlowsSpec {
    let mut sizes = String::new();
    for (bytes, share) in [(1_000, 0.0), (10_000, 0.3), (90_000, 0.7), (1_000_000, 1.0)] {
        writeln!(sizes, "{bytes},{share}").expect("text");
    }
    FlowsSpec::Open(OpenSpec {
        sizes: Arc::new(SizeDistribution::from_table(&sizes, None).expect("a table")),
        arrivals: Arrivals::Poisson,
        matrix: MatrixSpec::BetweenRacks,
        rate: OfferedRate::Load {
            fraction: 0.5,
            of: LoadReference::RackUplinks,
            wire_bytes: true,
        },
        from: Duration::ZERO,
        until: Duration::from_ms(300),
        max_flows: None,
        fan_in: None,
    })
}

fn mice(record: &RunRecord) -> impl Iterator<Item = &FlowRecord> + Clone {
    record.flows.iter().filter(|flow| flow.bytes.0 < LIMIT)
}

#[test]
fn mice_are_replicated_and_elephants_are_not() {
    for (design, times_sent) in [("repflow", 2), ("repsyn", 1)] {
        let mut config = config(design, mice_and_elephants());
        config.drain = Duration::from_ms(5_000);
        let record = record(&config);
        assert!(record.flows.len() > 200, "{}", record.flows.len());
        assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
        for flow in mice(&record) {
            assert_eq!(flow.copies, 1);
            assert!(flow.payload_sent.0 >= flow.bytes.0);
        }
        // Without a loss, the slower connection has also sent all bytes. The bytes of the slower copy are the cost.
        let mut calm = mice(&record).filter(|flow| flow.retransmissions == 0);
        assert!(calm.clone().count() > 200);
        assert!(calm.all(|flow| flow.payload_sent.0 == times_sent * flow.bytes.0));
        let elephants = record.flows.iter().filter(|flow| flow.bytes.0 >= LIMIT);
        assert!(elephants.clone().count() > 50);
        assert!(elephants.clone().all(|flow| flow.copies == 0));
    }
}

#[test]
fn the_result_does_not_depend_on_the_engine_or_the_events_at_ports() {
    for design in ["repflow", "repsyn+dctcp", "mixed"] {
        let mut hashes = Vec::new();
        for engine in [EngineKind::Calendar, EngineKind::Heap] {
            for port_events in [PortEvents::OneWherePossible, PortEvents::Two] {
                let mut config = config(design, mice_and_elephants());
                config.engine = engine;
                config.port_events = port_events;
                hashes.push(record(&config).hash());
            }
        }
        hashes.dedup();
        assert_eq!(hashes.len(), 1, "{design}");
    }
}

#[test]
fn without_mice_a_replicating_design_is_the_plain_one() {
    let elephants = || {
        let mut spec = mice_and_elephants();
        if let FlowsSpec::Open(open) = &mut spec {
            open.sizes = Arc::new(SizeDistribution::fixed(LIMIT));
        }
        spec
    };
    let plain = record(&config("tcp", elephants())).hash();
    for design in ["repflow", "repsyn", "mixed"] {
        assert_eq!(
            record(&config(design, elephants())).hash(),
            plain,
            "{design}"
        );
    }
}

#[test]
fn each_mouse_of_a_mixed_run_draws_its_scheme_and_its_record_says_which() {
    let record = record(&config("mixed", one_congested_path(3_000)));
    let class = |name: &str| {
        let place = record.classes.iter().position(|class| class == name);
        place.expect("a class of the mixed run") as u8
    };
    for (name, copies) in [("tcp", 0), ("repflow", 1), ("repsyn", 1)] {
        let class = class(&format!("foreground/{name}"));
        let drawn = mice(&record).map(|flow| f64::from(u8::from(flow.class == class)));
        let share = mean_interval(&drawn.collect::<Vec<f64>>(), 0.999);
        assert!(share.contains(1.0 / 3.0), "{name}: {share:?}");
        let mut members = mice(&record).filter(|flow| flow.class == class);
        assert!(members.all(|flow| flow.copies == copies), "{name}");
    }
    let foreground = class("foreground");
    let elephants = record.flows.iter().filter(|flow| flow.bytes.0 >= LIMIT);
    assert!(elephants.clone().count() == 4);
    assert!(
        elephants
            .clone()
            .all(|flow| flow.class == foreground && flow.copies == 0)
    );
}
