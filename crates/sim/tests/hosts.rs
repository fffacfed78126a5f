//! Queues of hosts, between transports and network, and weak hashes at switches.

#![allow(dead_code, reason = "other tests also use the configurations")]

#[path = "truth/support.rs"]
mod support;

use std::num::NonZeroU32;
use support::{config, gigabit, leaf_spine, queue_of, simulate, slow_spines, trace};
use tailcut_record::RunRecord;
use tailcut_sim::fabric::topology::SingleSwitch;
use tailcut_sim::{EcmpHash, RunConfig, Shape};
use tailcut_units::{Bytes, Duration};

/// Returns a run with a large flow from a host at 1 Gb/s, and 50 flows of 20 KB from the same host to another host.
fn mice_beside_an_elephant(design: &str, queue: Option<u32>) -> RunConfig {
    let shape = Shape::SingleSwitch(SingleSwitch {
        hosts: 3,
        host_wire: gigabit(1, Duration::from_us(10)),
        queue: queue_of(1_000),
        shared_buffer: None,
    });
    let topology = shape.build().expect("a topology");
    let mut csv = "start_ns,src,dst,bytes\n0,0,1,100000000\n".to_owned();
    for mouse in 1..=50 {
        csv += &format!("{},0,2,20000\n", 15_000_000 * mouse);
    }
    let mut config = config(design, "three hosts", shape, trace(&csv, &topology));
    config.settings.nic.queue = queue.and_then(NonZeroU32::new);
    config.drain = Duration::from_ms(2_000);
    config
}

/// Returns the longest completion time of a small flow, in milliseconds.
fn slowest_mouse_ms(record: &RunRecord) -> f64 {
    let mice = record
        .flows
        .iter()
        .filter(|flow| flow.bytes == Bytes(20_000));
    let times = mice.map(|flow| flow.fct.expect("complete").as_us_f64() / 1_000.0);
    times.fold(0.0, f64::max)
}

#[test]
fn small_flows_wait_behind_a_large_one_of_their_host_where_it_has_a_queue() {
    let slowest = |queue| slowest_mouse_ms(&simulate(&mice_beside_an_elephant("tcp", queue)));
    // A full packet takes 12.3 us.
    // A small flow sends a handshake and two windows, and the handshake and each window wait in the queue.
    assert!(slowest(None) < 1.0, "{}", slowest(None));
    let hundred = slowest(Some(100));
    assert!((2.4..5.0).contains(&hundred), "{hundred}");
    let thousand = slowest(Some(1_000));
    assert!((24.0..80.0).contains(&thousand), "{thousand}");
}

#[test]
fn behind_a_fifo_the_classes_of_pias_decide_nothing_at_the_host() {
    let slowest = |queue| slowest_mouse_ms(&simulate(&mice_beside_an_elephant("pias", queue)));
    assert!(slowest(None) < 1.0);
    assert!(slowest(Some(1_000)) > 20.0);
}

#[test]
fn senders_that_wait_for_pulls_leave_little_in_their_queue() {
    // A large flow has at most its window in the queue: 12 symbols (0.15 ms) or 30 packets (0.37 ms).
    for design in ["scdp", "ndp"] {
        let slowest = |queue| slowest_mouse_ms(&simulate(&mice_beside_an_elephant(design, queue)));
        let (none, thousand) = (slowest(None), slowest(Some(1_000)));
        assert!(thousand < none + 1.0, "{design}: {none}, {thousand}");
    }
}

#[test]
fn a_queue_drops_nothing_and_every_design_over_flows_runs_behind_one() {
    for design in ["tcp", "repflow+dctcp", "pfabric", "ndp", "scdp", "hull"] {
        let shape = leaf_spine(queue_of(100), None);
        let topology = shape.build().expect("a topology");
        let csv = "start_ns,src,dst,bytes\n0,0,4,300000\n0,0,5,300000\n0,0,8,20000\n";
        let mut config = config(design, "leaf-spine", shape, trace(csv, &topology));
        config.settings.nic.queue = NonZeroU32::new(50);
        let record = simulate(&config);
        assert!(
            record.flows.iter().all(|flow| flow.fct.is_some()),
            "{design}"
        );
        let dropped = record.totals.drops.total().packets;
        assert!(dropped == 0, "{design}: {dropped}");
    }
}

#[test]
fn with_a_weak_hash_the_copies_of_a_flow_meet_always_or_never() {
    // 40 small flows go from rack to rack over four spines. Each flow has its own run and two connections.
    let shared = |hash| {
        let shape = slow_spines(queue_of(100));
        let topology = shape.build().expect("a topology");
        let nobody = support::workload("none", Vec::new());
        let mut config = config("repflow", "two racks", shape, nobody);
        config.settings.designs.ecmp_hash = hash;
        let mut shared = 0;
        for host in 0..3 {
            for peer in 3..6 {
                let csv = format!("start_ns,src,dst,bytes\n0,{host},{peer},50000\n");
                config.workload = trace(&csv, &topology);
                let record = simulate(&config);
                let up = record.ports.iter().filter(|port| {
                    let (from, to) = port.name.split_once('>').expect("a port");
                    from == "s0" && to.starts_with('s') && port.bytes.0 > 50_000
                });
                shared += u32::from(up.count() == 1);
            }
        }
        shared
    };
    assert_eq!(shared(EcmpHash::Xor), 0);
    let crc = shared(EcmpHash::Crc32);
    assert!(crc == 0 || crc == 9, "{crc}");
}
