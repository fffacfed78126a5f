//! A trace gives exactly the flows of its file, on exactly the paths of its file.

use crate::support::{
    FAST, config, fat_tree, leaf_spine, packets_by_port, queue_of, simulate, trace,
};
use std::fmt::Write;
use tailcut_record::RunRecord;
use tailcut_sim::Shape;
use tailcut_sim::fabric::topology::{CoreOversubscription, FatTree};

fn run_trace(design: &str, shape: Shape, csv: &str) -> RunRecord {
    let workload = trace(csv, &shape.build().expect("a topology"));
    simulate(&config(design, "network", shape, workload))
}

#[test]
fn a_trace_gives_exactly_the_flows_of_its_file() {
    let csv = "start_ns,src,dst,bytes\n\
               500,3,9,1460\n\
               0,0,11,100000\n\
               250.125,5,2,1\n\
               500,4,9,2500000\n";
    let record = run_trace("tcp", leaf_spine(queue_of(100), None), csv);
    let flows: Vec<_> = record
        .flows
        .iter()
        .map(|flow| {
            (
                flow.flow.0,
                flow.start.as_ps(),
                flow.src.0,
                flow.dst.0,
                flow.bytes.0,
            )
        })
        .collect();
    assert_eq!(
        flows,
        [
            (0, 500_000, 3, 9, 1_460),
            (1, 0, 0, 11, 100_000),
            (2, 250_125, 5, 2, 1),
            (3, 500_000, 4, 9, 2_500_000),
        ]
    );
    assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
}

#[test]
fn a_trace_run_twice_is_one_run() {
    let mut csv = "start_ns,src,dst,bytes\n".to_owned();
    for row in 0..200 {
        writeln!(
            csv,
            "{},{},{},{}",
            row * 700,
            row % 12,
            (row + 5) % 12,
            1 + row * 997
        )
        .expect("memory");
    }
    for design in ["tcp", "dctcp@spray", "repflow+dctcp"] {
        let run = || run_trace(design, leaf_spine(queue_of(15), None), &csv);
        let (once, again) = (run(), run());
        assert_eq!(once.hash(), again.hash(), "{design}");
        assert_eq!(once.flows, again.flows, "{design}");
    }
}

/// Returns the ports between switches that carried packets.
fn used_between_switches(record: &RunRecord) -> Vec<&str> {
    let ports = packets_by_port(record).into_iter();
    ports
        .filter(|(name, packets)| *packets > 0 && !name.contains('h'))
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn a_pinned_flow_and_its_acks_keep_to_their_spine() {
    for spine in 0..4 {
        let csv = format!("start_ns,src,dst,bytes,path\n0,0,11,300000,{spine}\n");
        for design in ["tcp", "tcp@spray"] {
            let record = run_trace(design, leaf_spine(queue_of(100), None), &csv);
            let over = 3 + spine;
            let mut expected = [
                format!("s0>s{over}"),
                format!("s{over}>s2"),
                format!("s2>s{over}"),
                format!("s{over}>s0"),
            ];
            expected.sort();
            assert_eq!(used_between_switches(&record), expected, "{design}");
        }
    }
}

#[test]
fn a_pinned_flow_and_its_acks_keep_to_their_aggregation_switch_and_core() {
    // Fat-tree with k = 4 and m = 2. Edges are s0 to s7, aggregations are s8 to s15, and cores are s16 to s19.
    // Host h0 is on s0 in the first pod, and host h15 is on s7 in the last pod.
    for path in 0..4 {
        let csv = format!("start_ns,src,dst,bytes,path\n0,0,15,300000,{path}\n");
        let record = run_trace("tcp", fat_tree(queue_of(100)), &csv);
        let (j, i) = (path % 2, path / 2);
        let (near, core, far) = (8 + j, 16 + 2 * j + i, 14 + j);
        let mut expected = Vec::new();
        for way in [[0, near, core, far, 7], [7, far, core, near, 0]] {
            expected.extend(way.windows(2).map(|hop| format!("s{}>s{}", hop[0], hop[1])));
        }
        expected.sort();
        assert_eq!(used_between_switches(&record), expected, "path {path}");
    }
}

/// Pearson's chi-square statistic against a uniform distribution.
fn chi_square(counts: &[f64]) -> f64 {
    let expected = counts.iter().sum::<f64>() / counts.len() as f64;
    counts
        .iter()
        .map(|n| (n - expected) * (n - expected) / expected)
        .sum()
}

#[test]
fn ecmp_spreads_flows_evenly_at_both_tiers_and_is_not_polarised() {
    let k = 8;
    let shape = Shape::FatTree(FatTree {
        k,
        tiers: 3,
        edge_downlinks: k / 2,
        host_links: 1,
        core_oversubscription: CoreOversubscription::None,
        host_wire: FAST,
        fabric_wire: FAST,
        core_wire: FAST,
        queue: queue_of(10_000),
        shared_buffer: None,
    });
    // One packet from every host of the first pod to every host of the last pod, far apart in time.
    let mut csv = "start_ns,src,dst,bytes\n".to_owned();
    let flows = 12_800;
    for row in 0..flows {
        let (src, dst) = (row % 16, 112 + row / 16 % 16);
        writeln!(csv, "{},{src},{dst},1000", row * 2_000).expect("memory");
    }
    let record = run_trace("tcp", shape.clone(), &csv);
    assert_eq!(record.totals.drops.total().packets, 0);
    assert!(record.flows.iter().all(|flow| flow.retransmissions == 0));
    // Only packets from source to destination leave the first pod upwards. All upward packets belong to counted flows.
    let ports = packets_by_port(&record);
    let sent_by_hosts: u64 = (0..16)
        .map(|host| {
            ports
                .iter()
                .find(|(name, _)| name.starts_with(&format!("h{host}>")))
        })
        .map(|port| *port.expect("an uplink").1)
        .sum();
    let per_flow = sent_by_hosts / flows;
    assert_eq!(
        sent_by_hosts % flows,
        0,
        "every flow sends the same number of packets"
    );
    let up = |from: u32, to: u32| {
        let packets = ports[format!("s{from}>s{to}").as_str()];
        assert_eq!(packets % per_flow, 0, "a flow keeps to its path");
        (packets / per_flow) as f64
    };
    // Fat-tree with k = 8 and m = 4. Edges are s0 to s31, aggregations are s32 to s63, and cores are s64 to s79.
    let at_edges: Vec<f64> = (0..4)
        .map(|edge| chi_square(&[32, 33, 34, 35].map(|aggregation| up(edge, aggregation))))
        .collect();
    let over_cores: Vec<f64> = (0..16).map(|core| up(32 + core / 4, 64 + core)).collect();
    println!(
        "ECMP: chi-square at four edges {at_edges:.1?} (3 degrees of freedom), over 16 cores {:.1} (15)",
        chi_square(&over_cores)
    );
    // Each limit is exceeded with a probability of 0.001.
    assert!(at_edges.iter().all(|&chi| chi < 16.3), "{at_edges:?}");
    assert!(chi_square(&over_cores) < 37.7, "{over_cores:?}");
}
