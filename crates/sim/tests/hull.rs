//! HULL in a network: queues are almost empty, at the cost of some bandwidth.

#![allow(dead_code, reason = "other tests also use the configurations")]

#[path = "truth/support.rs"]
mod support;

use std::sync::Arc;
use support::{
    config, fat_tree, gigabit, queue_of, simulate, slow_spines, trace, web_search, workload,
};
use tailcut_record::RunRecord;
use tailcut_sim::fabric::PortEvents;
use tailcut_sim::fabric::queue::{DropTail, Limit, Placement, QueueConfig};
use tailcut_sim::fabric::topology::SingleSwitch;
use tailcut_sim::transport::nic::Coalescing;
use tailcut_sim::workload::{Arrivals, SizeDistribution};
use tailcut_sim::{
    FlowsSpec, MatrixSpec, Measures, OfferedRate, OpenSpec, PhantomParameters, RunConfig, Shape,
};
use tailcut_units::{Bytes, Duration, Time};

fn marking_at(bytes: Option<u64>) -> QueueConfig {
    QueueConfig::DropTail(DropTail {
        limit: Limit::Bytes(150_000),
        mark_above: bytes.map(Limit::Bytes),
    })
}

/// Returns hosts at 1 Gb/s on one switch, with a round-trip time of 100 us.
/// With a round-trip time of 100 us, the window at a fraction of the link rate is above its minimum of two segments.
fn gigabit_switch(hosts: u32, queue: QueueConfig) -> Shape {
    Shape::SingleSwitch(SingleSwitch {
        hosts,
        host_wire: gigabit(1, Duration::from_us(25)),
        queue,
        shared_buffer: None,
    })
}

/// Sets bursts of 64 KB at the hosts, and measures waiting times and bursts.
fn with_bursts(mut config: RunConfig) -> RunConfig {
    config.settings.tcp.lso_bytes = 65_536;
    config.settings.tcp.min_rto = Duration::from_ms(10);
    config.measures = Measures {
        waits: true,
        bursts: true,
        goodput: true,
    };
    config
}

fn poisson_incast(bytes: u64, flows_per_second: f64, seconds: u64) -> FlowsSpec {
    FlowsSpec::Open(OpenSpec {
        sizes: Arc::new(SizeDistribution::fixed(bytes)),
        arrivals: Arrivals::Poisson,
        matrix: MatrixSpec::Incast {
            senders: 9,
            receiver: 0,
        },
        rate: OfferedRate::FlowsPerSecond(flows_per_second),
        from: Duration::ZERO,
        until: Duration::from_ms(1_000 * seconds),
        max_flows: None,
        fan_in: None,
    })
}

/// Returns the dynamic-flow experiment of HULL's deck: nine senders at a load of 20 %.
/// Of the flows, 80 % have 1 KB, and all others have 10 MB.
fn dynamic(design: &str, mark_above: Option<u64>) -> RunConfig {
    let flows = vec![
        poisson_incast(1_000, 9.996, 60),
        poisson_incast(10_000_000, 2.499, 60),
    ];
    with_bursts(config(
        design,
        "ten hosts",
        gigabit_switch(10, marking_at(mark_above)),
        workload("dynamic flows", flows),
    ))
}

/// Sets the size above which phantom queues mark, in bytes.
fn with_threshold(mut config: RunConfig, bytes: u64) -> RunConfig {
    config.settings.designs.hull.phantom = Some(PhantomParameters {
        mark_above: Bytes(bytes),
        ..PhantomParameters::default()
    });
    config
}

/// Returns the mean and the 99th percentile of the waiting times at the receiver's port, in microseconds.
fn waits(record: &RunRecord) -> (f64, f64) {
    let waits = record.switch_waits.as_ref().expect("measured");
    assert_eq!(waits.busiest_port, "s0>h0");
    (waits.busiest.mean_us, waits.busiest.p99_us)
}

#[test]
fn the_four_rows_of_the_published_table_keep_their_order() {
    let mut six_k = dynamic("hull", Some(6_000));
    six_k.settings.designs.hull.phantom = None;
    // The table does not state the threshold of its last row.
    // With 6 KB, the 99th percentile exceeds the percentile of the previous row.
    // With the smallest published threshold, the percentile does not exceed the percentile of the previous row.
    let rows = [
        dynamic("tcp", None),
        dynamic("dctcp", Some(30_000)),
        six_k,
        with_threshold(dynamic("hull", None), 1_000),
    ];
    let found = rows.map(|row| waits(&simulate(&row)));
    for pair in found.windows(2) {
        assert!(pair[0].0 > 1.5 * pair[1].0, "means {found:?}");
        assert!(pair[0].1 > 1.5 * pair[1].1, "99th percentiles {found:?}");
    }
}

/// Returns a run with two long flows to one receiver, for 300 ms.
fn two_long_flows(design: &str, mark_above: Option<u64>) -> RunConfig {
    let shape = gigabit_switch(3, marking_at(mark_above));
    let topology = shape.build().expect("a topology");
    let csv = "start_ns,src,dst,bytes\n0,1,0,400000000\n0,2,0,400000000\n";
    let mut config = config(design, "three hosts", shape, trace(csv, &topology));
    config.drain = Duration::from_ms(300);
    config.sample_every = Some(Duration::from_ms(10));
    with_bursts(config)
}

/// Returns the utilisation of the receiver's port after the first 100 ms, from 0 to 1.
fn utilisation(record: &RunRecord) -> f64 {
    let port = record.ports.iter().find(|port| port.name == "s0>h0");
    let port = port.expect("the port").port;
    let settled = Time::ZERO + Duration::from_ms(100);
    let samples = record.links.iter();
    let samples = samples.filter(|sample| sample.link == port && sample.time > settled);
    let used: Vec<f64> = samples.map(|sample| sample.utilisation).collect();
    assert!(used.len() >= 19);
    used.iter().sum::<f64>() / used.len() as f64
}

#[test]
fn a_phantom_queue_leaves_the_headroom_that_it_was_told_to() {
    for drain in [0.7, 0.8, 0.9] {
        let mut config = two_long_flows("hull", None);
        config.settings.designs.hull.phantom = Some(PhantomParameters {
            drain,
            mark_above: Bytes(3_000),
            ..PhantomParameters::default()
        });
        let record = simulate(&config);
        let used = utilisation(&record);
        assert!(used <= drain * 1.01, "{used} of {drain}");
        assert!(used > drain * 0.8, "{used} of {drain}");
        assert!(record.totals.marks > 0);
        assert_eq!(record.totals.drops.total().packets, 0);
        let (mean, _) = waits(&record);
        assert!(mean < 12.3, "{mean} us: less than one full packet");
    }
}

#[test]
fn a_phantom_queue_beside_the_port_sees_bursts_that_the_wire_spreads() {
    let mean_wait = |placement| {
        let mut config = two_long_flows("hull", None);
        config.settings.designs.hull.pacer = None;
        config.settings.designs.hull.phantom = Some(PhantomParameters {
            placement,
            mark_above: Bytes(15_000),
            ..PhantomParameters::default()
        });
        waits(&simulate(&config)).0
    };
    assert!(mean_wait(Placement::Parallel) < 0.7 * mean_wait(Placement::Series));
}

#[test]
fn the_pacer_takes_the_bursts_out_and_the_queue_with_them() {
    let mut unpaced = two_long_flows("hull", Some(30_000));
    unpaced.settings.designs.hull.phantom = None;
    let paced = unpaced.clone();
    unpaced.settings.designs.hull.pacer = None;
    let (unpaced, paced) = (simulate(&unpaced), simulate(&paced));
    let burst = |record: &RunRecord| record.host_bursts.expect("measured").byte_mean_bytes;
    assert!(burst(&unpaced) > 3.0 * burst(&paced));
    assert!(waits(&unpaced).1 > waits(&paced).1);
    assert!((utilisation(&unpaced) - utilisation(&paced)).abs() < 0.05);
}

#[test]
fn mice_are_not_paced_and_need_no_more_than_an_empty_network_gives_nearly_always() {
    let record = simulate(&dynamic("hull", None));
    let summary = record.summary();
    let ideal = record.flows.iter().find(|flow| flow.bytes == Bytes(1_000));
    let ideal = ideal.expect("mice").ideal_fct.as_us_f64();
    let mice = summary.fct.mice;
    assert!(mice.n > 400);
    assert!(mice.p50_us.expect("a median") < ideal + 12.4, "one packet");
    // At the lowest rate of the pacer, a small flow would take 900 us.
    assert!(mice.p99_us.expect("a percentile") < 400.0, "{mice:?}");
}

#[test]
fn waits_are_those_of_all_packets_at_switches_and_measuring_changes_nothing() {
    let mut config = config(
        "dctcp",
        "fat-tree",
        fat_tree(queue_of(100)),
        web_search(0.5, Duration::from_ms(5)),
    );
    let plain = simulate(&config);
    assert_eq!((&plain.switch_waits, &plain.host_bursts), (&None, &None));
    config.measures = Measures {
        waits: true,
        bursts: true,
        goodput: true,
    };
    let measured = simulate(&config);
    assert_eq!(plain.hash(), measured.hash());
    let waits = measured.switch_waits.as_ref().expect("measured");
    let at_switches = measured.ports.iter().filter(|p| p.name.starts_with('s'));
    let sent: u64 = at_switches.map(|port| port.packets).sum();
    assert_eq!(waits.all.packets, sent);
    assert_eq!(
        waits.to_hosts.packets + waits.between_switches.packets,
        sent
    );
    config.port_events = PortEvents::Two;
    let two_events = simulate(&config);
    assert_eq!(measured.switch_waits, two_events.switch_waits);
    assert_eq!(measured.host_bursts, two_events.host_bursts);
}

#[test]
fn the_more_frames_an_interrupt_the_longer_the_bursts_of_a_flow() {
    // The hosts have links of 10 Gb/s, but the links between the racks have 1 Gb/s, so ACKs arrive with gaps.
    let bursts = [1, 2, 8, 32].map(|frames| {
        let shape = slow_spines(queue_of(400));
        let topology = shape.build().expect("a topology");
        let csv = "start_ns,src,dst,bytes\n0,0,3,50000000\n";
        let mut config = config("tcp", "two racks", shape, trace(csv, &topology));
        config.settings.tcp.max_cwnd = 300_000;
        config.measures.bursts = true;
        config.settings.nic.coalescing = (frames > 1).then_some(Coalescing {
            frames,
            timeout: Duration::from_us(500),
            merge: false,
        });
        let record = simulate(&config);
        assert!(record.flows[0].fct.is_some());
        record.host_bursts.expect("measured").mean_bytes
    });
    assert!(bursts.is_sorted_by(|a, b| a < b), "{bursts:?}");
}

#[test]
fn a_replicated_flow_is_paced_like_any_other() {
    let mut config = two_long_flows("repflow+hull", None);
    config.settings.repnet.limit = Bytes(1_000_000_000);
    let record = simulate(&config);
    assert!(record.totals.marks > 0);
    assert!(utilisation(&record) <= 0.96);
}
