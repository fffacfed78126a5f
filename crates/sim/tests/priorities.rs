//! pFabric, PIAS and QoS in a network: exact effects of priorities.

#![allow(dead_code, reason = "other tests also use the configurations")]

#[path = "truth/support.rs"]
mod support;

use std::fmt::Write as _;
use support::{
    completion_times, config, fat_tree, leaf_spine, queue_of, simulate, single_switch, trace,
    web_search,
};
use tailcut_record::{FlowRecord, RunRecord};
use tailcut_sim::RunConfig;
use tailcut_units::{Bytes, Duration};

/// Transmission time of a full packet of 1,538 B at 10 Gb/s.
/// A packet waits at most one transmission time for another packet that is already in transmission.
const RESIDUAL: Duration = Duration::from_ps(1_230_400);

/// Returns a run with four large flows, and small flows of `bytes`.
fn mice_under_elephants(design: &str, bytes: u64) -> RunConfig {
    mice_under(4, design, bytes, 0)
}

/// Returns a run with large flows from hosts 1 to `elephants` to host 0. The large flows last for the whole run.
/// After the first 5 ms, the next host starts a small flow of `bytes` every 200 us.
/// Each start is also delayed by up to 1.3 us. This delay grows by `shift` ns from flow to flow.
fn mice_under(elephants: u32, design: &str, bytes: u64, shift: u64) -> RunConfig {
    let shape = single_switch(elephants + 2, queue_of(100));
    let topology = shape.build().expect("a topology");
    let mut csv = String::from("start_ns,src,dst,bytes\n");
    for elephant in 1..=elephants {
        writeln!(csv, "0,{elephant},0,20000000").expect("text");
    }
    for mouse in 0..100 {
        let start = 5_000_000 + mouse * 200_000 + mouse * shift % 1_300;
        writeln!(csv, "{start},{},0,{bytes}", elephants + 1).expect("text");
    }
    config(design, "one switch", shape, trace(&csv, &topology))
}

fn mice(record: &RunRecord) -> Vec<&FlowRecord> {
    let is_mouse = |flow: &&FlowRecord| flow.bytes < Bytes(100_000);
    let mice: Vec<_> = record.flows.iter().filter(is_mouse).collect();
    assert_eq!(mice.len(), 100);
    assert!(mice.iter().all(|flow| flow.fct.is_some()));
    mice
}

/// Returns the largest difference between the completion time of a small flow and its ideal time.
fn longest_delay(record: &RunRecord) -> Duration {
    let delays = mice(record).into_iter().filter_map(|flow| {
        let fct = flow.fct?;
        assert!(fct >= flow.ideal_fct, "{flow:?}");
        Some(fct.saturating_sub(flow.ideal_fct))
    });
    delays.max().expect("there are mice")
}

#[test]
fn a_mouse_under_pfabric_waits_for_one_packet_at_most_whatever_elephants_do() {
    let record = simulate(&mice_under_elephants("pfabric", 10_000));
    assert!(
        record.totals.drops.total().packets > 0,
        "elephants overflow"
    );
    assert!(longest_delay(&record) <= RESIDUAL);
    assert_eq!(
        mice(&record).iter().map(|f| f.retransmissions).sum::<u32>(),
        0
    );
    // With TCP, the same small flows wait for the whole queue of the large flows.
    let tcp = simulate(&mice_under_elephants("tcp", 10_000));
    assert!(longest_delay(&tcp) > RESIDUAL * 30);
}

#[test]
fn probes_of_large_flows_that_wait_cost_small_flows_nothing_under_pfabric() {
    // Sixteen starved large flows fill the queue with probes. One dropped probe does not make room for a packet.
    for bytes in [10_000, 10_220, 10_500] {
        let record = simulate(&mice_under(16, "pfabric", bytes, 13));
        let resent = |flow: &&FlowRecord| flow.retransmissions;
        assert_eq!(mice(&record).iter().map(resent).sum::<u32>(), 0, "{bytes}");
        assert!(longest_delay(&record) <= RESIDUAL, "{bytes}");
    }
}

#[test]
fn a_mouse_under_pias_waits_for_one_packet_a_way_once_elephants_are_demoted() {
    // The small flow has four packets: half of the initial window.
    // The window has half of its initial size after a mark in the first round trip.
    let mut config = mice_under_elephants("pias", 5_000);
    config.settings.designs.pias.thresholds = vec![20_000, 1_000_000];
    let record = simulate(&config);
    // The SYN and the first data packet each wait once. All later packets arrive after the waiting time has ended.
    assert!(
        longest_delay(&record) <= RESIDUAL * 2,
        "{}",
        longest_delay(&record)
    );
    // With thresholds above all sizes, PIAS equals DCTCP, which keeps a queue of 65 packets.
    config.settings.designs.pias.thresholds = vec![50_000_000];
    let record = simulate(&config);
    assert!(longest_delay(&record) > RESIDUAL * 30);
}

#[test]
fn a_small_flow_under_qos_waits_for_one_packet_a_round_trip_and_loses_none_to_a_full_port() {
    let record = simulate(&mice_under_elephants("qos", 10_000));
    let drops = record.totals.drops.total().packets;
    assert!(drops > 0, "elephants overflow");
    // The SYN waits once, and the data waits once.
    assert!(longest_delay(&record) <= RESIDUAL * 2);
    // If the size limit makes every flow large, the small flows wait in the same queue as the large flows.
    let mut config = mice_under_elephants("qos", 10_000);
    config.settings.designs.qos.small_below = Bytes(10_000);
    assert!(longest_delay(&simulate(&config)) > RESIDUAL * 30);
}

#[test]
fn flows_that_start_together_finish_in_the_order_of_their_sizes_under_pfabric() {
    let shape = single_switch(9, queue_of(100));
    let topology = shape.build().expect("a topology");
    let mut csv = String::from("start_ns,src,dst,bytes\n");
    let sizes = [700, 100, 500, 800, 200, 600, 400, 300].map(|packets| packets * 1_460u64);
    for (host, bytes) in sizes.iter().enumerate() {
        writeln!(csv, "0,{},0,{bytes}", host + 1).expect("text");
    }
    let record = simulate(&config(
        "pfabric",
        "one switch",
        shape,
        trace(&csv, &topology),
    ));
    let times = completion_times(&record);
    let mut order: Vec<usize> = (0..8).collect();
    order.sort_by(|a, b| times[*a].total_cmp(&times[*b]));
    let finished: Vec<u64> = order
        .iter()
        .map(|flow| sizes[*flow] / 1_460 / 100)
        .collect();
    assert_eq!(finished, [1, 2, 3, 4, 5, 6, 7, 8]);
    // Each flow has almost the whole link while it is served.
    // Under SRPT, the link is idle for little more than one timeout when the next flow starts to be served.
    let mut bytes = 0;
    for flow in order {
        bytes += sizes[flow];
        let alone = bytes as f64 / 1_460.0 * RESIDUAL.as_secs_f64();
        assert!(times[flow] > alone);
        assert!(
            times[flow] < alone * 1.1 + 100e-6,
            "{} {alone}",
            times[flow]
        );
    }
}

#[test]
fn replicated_mice_over_pias_are_tagged_copied_and_complete() {
    let mut config = config(
        "repflow+pias",
        "fat-tree",
        fat_tree(queue_of(100)),
        web_search(0.5, Duration::from_ms(20)),
    );
    config.settings.designs.pias.thresholds = vec![10_000, 100_000];
    let record = simulate(&config);
    let flows = record.flows.iter();
    let (mice, others): (Vec<&FlowRecord>, Vec<&FlowRecord>) =
        flows.partition(|flow| flow.bytes < Bytes(100_000));
    assert!(mice.len() > 20 && others.len() > 20);
    assert!(mice.iter().all(|flow| flow.copies == 1));
    assert!(others.iter().all(|flow| flow.copies == 0));
    assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
}

#[test]
fn every_flow_of_a_loaded_network_ends_under_pfabric() {
    for design in ["pfabric", "pfabric@spray"] {
        for shape in [fat_tree(queue_of(100)), leaf_spine(queue_of(100), None)] {
            let load = web_search(0.8, Duration::from_ms(100));
            let mut config = config(design, "network", shape, load);
            config.drain = Duration::from_ms(2_000);
            let record = simulate(&config);
            assert!(record.flows.len() > 500);
            assert!(
                record.flows.iter().all(|flow| flow.fct.is_some()),
                "{design}"
            );
        }
    }
}

#[test]
fn pfabric_serves_mice_better_than_dctcp_at_every_load() {
    let mean = |design: &str, load: f64| {
        let config = config(
            design,
            "fat-tree",
            fat_tree(queue_of(100)),
            web_search(load, Duration::from_ms(20)),
        );
        let summary = simulate(&config).summary();
        summary.fct.mice.mean_us.expect("mice finish")
    };
    for load in [0.3, 0.6, 0.8] {
        let (pfabric, dctcp) = (mean("pfabric", load), mean("dctcp", load));
        assert!(
            pfabric < dctcp,
            "pfabric {pfabric}, dctcp {dctcp} at load {load}"
        );
    }
}
