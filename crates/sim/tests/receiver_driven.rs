//! NDP, NDP+ and SCDP over switches that trim: a single flow, an incast and a loaded network.

#[allow(dead_code, reason = "each test uses a part of the support")]
#[path = "truth/support.rs"]
mod support;

use std::sync::Arc;
use support::{
    Run, config, fat_tree, leaf_spine, odd_network, queue_of, simulate, single_switch, slow_spines,
    trace, web_search, workload,
};
use tailcut_oracle::conservation::Counters;
use tailcut_record::RunRecord;
use tailcut_sim::fabric::queue::Limit;
use tailcut_sim::transport::scdp::DecodeSpeed;
use tailcut_sim::workload::SizeDistribution;
use tailcut_sim::{BurstPart, FlowsSpec, MatrixSpec, RunConfig, Shape, WorkloadSpec};
use tailcut_units::{Bytes, Duration, Rate};

const DESIGNS: [&str; 3] = ["ndp", "ndp-plus", "scdp"];

/// Sizes on the wire: a packet with 1,460 B of payload, and a header alone.
const FULL: u64 = 1_538;
const HEADER: u64 = 78;

fn incast(senders: u32, bytes: u64) -> WorkloadSpec {
    workload(
        "incast",
        vec![FlowsSpec::Burst(BurstPart {
            sizes: Arc::new(SizeDistribution::fixed(bytes)),
            matrix: MatrixSpec::Incast {
                senders,
                receiver: 0,
            },
            at: Duration::ZERO,
            jitter: Duration::ZERO,
        })],
    )
}

fn permutation(bytes: u64) -> WorkloadSpec {
    workload(
        "permutation",
        vec![FlowsSpec::Burst(BurstPart {
            sizes: Arc::new(SizeDistribution::fixed(bytes)),
            matrix: MatrixSpec::Permutation { within_racks: true },
            at: Duration::ZERO,
            jitter: Duration::ZERO,
        })],
    )
}

/// Returns a codec whose decoding time is negligible.
fn decoded_at_once() -> DecodeSpeed {
    DecodeSpeed::new(vec![(1, Rate::from_gbps(1_000_000))]).expect("a point")
}

fn last_completion(record: &RunRecord) -> Duration {
    let ends = record.flows.iter().map(|flow| {
        let fct = flow.fct.unwrap_or_else(|| panic!("unfinished: {flow:?}"));
        flow.start + fct
    });
    let last = ends.max().expect("flows");
    last.since(tailcut_units::Time::ZERO)
}

/// Runs a configuration and returns its record.
/// Checks that every packet and byte is accounted for, and that no flow is faster than its ideal time.
fn audit(config: &RunConfig) -> RunRecord {
    let record = simulate(config);
    let case = format!("{} on {}", config.stack, config.topology.name);
    let totals = &record.totals;
    let drops = totals.drops.total();
    let counters = [
        (
            "packets",
            totals.sent.packets,
            totals.delivered.packets,
            drops.packets,
            0,
            totals.remaining.packets,
        ),
        (
            "bytes",
            totals.sent.bytes,
            totals.delivered.bytes,
            drops.bytes,
            totals.trimmed.bytes,
            totals.remaining.bytes,
        ),
    ];
    for (what, sent, delivered, dropped, trimmed, in_flight) in counters {
        let counters = Counters {
            what: format!("{case}, {what}"),
            sent,
            delivered,
            dropped: vec![("all".to_owned(), dropped)],
            trimmed,
            in_flight,
            ..Counters::default()
        };
        counters
            .check()
            .unwrap_or_else(|imbalance| panic!("{imbalance}"));
    }
    for flow in &record.flows {
        if let Some(fct) = flow.fct {
            assert!(fct >= flow.ideal_fct, "{case}: {flow:?}");
            assert!(flow.payload_sent.0 == 0 || flow.payload_sent >= flow.bytes);
        }
    }
    record
}

#[test]
fn a_flow_within_the_window_takes_exactly_its_ideal_time() {
    for design in DESIGNS {
        for bytes in [1, 1_460, 1_461, 12 * 1_460] {
            let shape = single_switch(3, queue_of(100));
            let topology = Run::of(&config("tcp", "one", shape.clone(), incast(1, 1))).topology;
            let csv = format!("start_ns,src,dst,bytes\n777,2,0,{bytes}\n");
            let record = simulate(&config(design, "one", shape, trace(&csv, &topology)));
            let flow = record.flows[0];
            assert_eq!(flow.fct, Some(flow.ideal_fct), "{design}: {bytes} B");
            assert_eq!(flow.payload_sent, Bytes(bytes), "{design}: {bytes} B");
        }
    }
}

#[test]
fn a_long_flow_alone_keeps_the_line_busy() {
    for design in DESIGNS {
        let shape = fat_tree(queue_of(100));
        let topology = Run::of(&config("tcp", "k=4", shape.clone(), incast(1, 1))).topology;
        let csv = "start_ns,src,dst,bytes\n0,15,0,14600000\n";
        let record = simulate(&config(design, "k=4", shape, trace(csv, &topology)));
        let flow = record.flows[0];
        let line = Rate::from_gbps(10).serialisation(10_000 * FULL);
        let fct = flow.fct.expect("complete");
        // The decoding of the last block, if necessary, takes about 1 ms.
        let most = line + Duration::from_us(1_000);
        assert!((line..most).contains(&fct), "{design}: {fct} for {line}");
    }
}

#[test]
fn with_buffers_that_never_fill_scdp_sends_k_symbols_to_the_byte_and_decodes_nothing() {
    for workload in [incast(15, 500_001), permutation(3_000_000)] {
        let mut roomy = config("scdp", "k=4", fat_tree(queue_of(100)), workload);
        roomy.settings.designs.scdp.queue = Limit::Packets(1_000_000);
        let record = simulate(&roomy);
        assert_eq!(record.totals.trimmed.packets, 0);
        let mut symbols = 0;
        for flow in &record.flows {
            assert_eq!(flow.payload_sent, flow.bytes, "{flow:?}");
            assert_eq!((flow.retransmissions, flow.timeouts), (0, 0), "{flow:?}");
            symbols += flow.bytes.0.div_ceil(1_460);
        }
        let uplinks = &record.ports[..16];
        let sent: u64 = uplinks.iter().map(|port| port.bytes.0).sum();
        let payload: u64 = record.flows.iter().map(|flow| flow.bytes.0).sum();
        let control = sent - payload - symbols * HEADER;
        // Each symbol beyond the initial window needs a pull, and each flow sends one final message.
        let flows = record.flows.len() as u64;
        assert_eq!(control, (symbols - flows * 32 + flows) * HEADER);
    }
}

/// Checks that the receiver's link is busy from the arrival of the first packet to the last completion.
/// The link may be idle for the time of a few packets.
/// In addition to data, the link carries only headers of trimmed packets, which are a few per cent.
fn drains_at_line_rate(design: &str, senders: u32, bytes: u64) {
    let workload = incast(senders, bytes);
    let shape = single_switch(senders + 1, queue_of(100));
    let mut config = config(design, "one switch", shape, workload);
    config.settings.designs.scdp.decode_speed = decoded_at_once();
    let record = audit(&config);
    let case = format!("{design}, {senders} senders");
    let data = u64::from(senders) * (bytes / 1_460) * FULL;
    let downlink = record
        .ports
        .iter()
        .find(|port| port.name == "s0>h0")
        .expect("the receiver's port");
    // The link carries the data, and the header of each trimmed packet.
    // SCDP adds two symbols for each block with a loss. Pulls go to other hosts, so they do not use this link.
    let carried = downlink.bytes.0;
    assert!(carried >= data, "{case}");
    let overhead = (carried - data) as f64 / data as f64;
    let trimmed = record.totals.trimmed.packets * HEADER;
    let headers = trimmed as f64 / data as f64;
    let repair: u64 = record
        .flows
        .iter()
        .map(|f| u64::from(f.retransmissions))
        .sum();
    let repair = if design == "scdp" {
        repair.saturating_sub(record.totals.trimmed.packets)
    } else {
        0
    };
    let repair = (repair * FULL) as f64 / data as f64;
    assert!(
        overhead <= headers + repair + 0.01,
        "{case}: {overhead:.4} over the data; headers are {headers:.4}, repair {repair:.4}"
    );
    let busy = Rate::from_gbps(10).serialisation(carried);
    let drained = last_completion(&record);
    let idle = drained.saturating_sub(busy).as_secs_f64() / busy.as_secs_f64();
    println!(
        "{case}: drained in {drained}, line time {busy}, {overhead:.4} over the data, {headers:.4} headers"
    );
    assert!(idle < 0.01, "{case}: idle for {idle:.4} of the time");
    assert!(overhead < 0.2, "{case}: {overhead:.4}");
    let timeouts: u32 = record.flows.iter().map(|flow| flow.timeouts).sum();
    assert_eq!(timeouts, 0, "{case}");
}

#[test]
fn an_incast_drains_at_line_rate() {
    for design in DESIGNS {
        for senders in [2, 10, 70] {
            drains_at_line_rate(design, senders, 292_000);
        }
    }
}

#[test]
fn headers_come_back_where_not_even_they_find_room_and_the_books_balance() {
    let mut tight = config(
        "ndp",
        "one switch",
        single_switch(71, queue_of(100)),
        incast(70, 100_000),
    );
    tight.settings.designs.ndp.header_queue_packets = 1;
    let record = audit(&tight);
    assert!(record.totals.returned.packets > 100);
    assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
    assert_eq!(record.totals.remaining.packets, 0);
}

#[test]
fn scdp_recovers_from_headers_that_are_dropped() {
    let mut tight = config(
        "scdp",
        "one switch",
        single_switch(71, queue_of(100)),
        incast(70, 100_000),
    );
    tight.settings.designs.scdp.header_queue = Bytes(20_000);
    let record = audit(&tight);
    assert!(record.totals.drops.total().packets > 100);
    assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
}

#[test]
fn a_loaded_network_balances_and_finishes_under_every_design() {
    let shapes: [(&str, Shape); 4] = [
        ("leaf-spine", leaf_spine(queue_of(40), None)),
        ("leaf-spine of slow spines", slow_spines(queue_of(40))),
        ("fat-tree", fat_tree(queue_of(40))),
        ("odd network", odd_network(queue_of(40))),
    ];
    for (name, shape) in shapes {
        for design in DESIGNS {
            let mut config = config(
                design,
                name,
                shape.clone(),
                web_search(0.7, Duration::from_ms(3)),
            );
            config.settings.designs.scdp.queue = Limit::Packets(12);
            let record = audit(&config);
            assert!(record.totals.trimmed.packets > 0, "{design} on {name}");
            for flow in &record.flows {
                assert!(flow.fct.is_some(), "{design} on {name}: {flow:?}");
            }
        }
    }
}

#[test]
fn permuted_paths_share_a_full_network_better_than_random_ones() {
    let mean = |design: &str| {
        let record = simulate(&config(
            design,
            "k=4",
            fat_tree(queue_of(100)),
            permutation(3_000_000),
        ));
        let times = record.flows.iter().filter_map(|flow| flow.fct);
        times.map(|fct| fct.as_secs_f64()).sum::<f64>() / 16.0
    };
    let (permuted, random, one) = (mean("ndp"), mean("ndp@spray"), mean("ndp@ecmp"));
    assert!(
        permuted < random && random < one,
        "{permuted} {random} {one}"
    );
}

#[test]
fn the_same_seed_is_the_same_run_and_another_seed_another() {
    for design in DESIGNS {
        let run = |seed| {
            let traffic = web_search(0.6, Duration::from_ms(2));
            let mut config = config(design, "k=4", fat_tree(queue_of(100)), traffic);
            config.seed = seed;
            simulate(&config).hash()
        };
        assert_eq!(run(1), run(1), "{design}");
        assert_ne!(run(1), run(2), "{design}");
    }
}

#[test]
fn a_flow_of_a_full_packet_and_a_byte_over_sprayed_paths_is_no_faster_than_its_full_packet() {
    for (bytes, full_packets) in [(1_461, 1), (10 * 1_460 + 1, 10)] {
        let csv = format!("start_ns,src,dst,bytes\n0,0,15,{bytes}\n");
        for design in ["scdp", "ndp", "ndp@spray"] {
            let shape = fat_tree(queue_of(100));
            let topology = Run::of(&config("tcp", "k=4", shape.clone(), incast(1, 1))).topology;
            let record = simulate(&config(design, "k=4", shape, trace(&csv, &topology)));
            let flow = &record.flows[0];
            // A path between pods has six equal links.
            let link = &topology.links[0].config;
            let full = link.rate.serialisation(FULL);
            let least = (full + link.delay) * 6 + full * (full_packets - 1);
            assert!(flow.ideal_fct >= least, "{design}, {bytes} B: {flow:?}");
            assert!(flow.fct.expect("done") >= flow.ideal_fct, "{flow:?}");
        }
    }
}

#[test]
fn an_incast_of_flows_that_end_in_short_packets_drains_within_two_per_cent_of_the_ideal() {
    // Each flow has 92 full packets and one packet of 680 B.
    let (senders, bytes) = (100, 135_000);
    let shape = single_switch(101, queue_of(100));
    let record = audit(&config("ndp", "one", shape, incast(senders, bytes)));
    let link = Rate::from_gbps(10);
    let of_flow = 92 * FULL + 680 + HEADER;
    let ideal = link.serialisation(of_flow * u64::from(senders));
    let over = last_completion(&record).as_secs_f64() / ideal.as_secs_f64() - 1.0;
    assert!((0.0..0.02).contains(&over), "{over} over the ideal");
}

/// A round of all senders takes 29 ms, longer than NDP's initial timeout of 20 ms.
#[test]
fn in_an_incast_of_thousands_no_timer_of_ndp_fires_while_a_pull_is_due() {
    let (senders, packets) = (4_000, 30);
    let shape = single_switch(senders + 1, queue_of(100));
    let workload = incast(senders, packets * 8_942);
    let mut config = config("ndp", "one switch", shape, workload);
    config.settings.framing.payload = 8_942;
    config.settings.designs.ndp.initial_window = 23;
    let record = simulate(&config);
    let timeouts: u32 = record.flows.iter().map(|flow| flow.timeouts).sum();
    assert_eq!(timeouts, 0);
    let resends: u32 = record.flows.iter().map(|flow| flow.retransmissions).sum();
    let resends = f64::from(resends) / (f64::from(senders) * packets as f64);
    // The arithmetic is in docs/designs/ndp.md.
    assert!((3.5..4.4).contains(&resends), "{resends} for each packet");
    let last = last_completion(&record);
    let ideal = support::FAST
        .rate
        .serialisation(u64::from(senders) * packets * 9_020);
    assert!(last < ideal + ideal / 50, "{last} of {ideal}");
}
