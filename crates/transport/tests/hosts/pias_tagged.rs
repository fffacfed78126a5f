//! Tests of PIAS tags on TCP segments.

use crate::pair::{A, B, Fate, Pair, Sent, lose_once, plain_config};
use std::num::NonZeroU32;
use tailcut_transport::pias::Tags;
use tailcut_transport::repnet::{self, RepNetConfig};
use tailcut_transport::tcp::{Congestion, Host, InitialWindow, TcpConfig, TcpFlags};
use tailcut_transport::{Demotion, Transport};
use tailcut_units::{Duration, HostId, Rate, Time};

const THRESHOLDS: [u64; 3] = [3_000, 8_000, 20_000];

const TAGS: Tags = Tags {
    demotion: Demotion::NONE,
    resends_count: false,
    in_order: true,
    relief_after: None,
};

/// Returns a configuration with segments of 1,000 B.
fn config(tags: Tags) -> TcpConfig {
    let demotion = Demotion::at(&THRESHOLDS).expect("ascending");
    TcpConfig {
        congestion: Congestion::DCTCP,
        initial_window: InitialWindow::Segments(200),
        tags: Some(Tags { demotion, ..tags }),
        ..plain_config()
    }
}

fn pias_with(tags: Tags) -> Pair<Host> {
    let host = |id| Host::new(HostId(id), config(tags)).expect("a valid configuration");
    Pair::new(host(0), host(1))
}

fn pias() -> Pair<Host> {
    pias_with(TAGS)
}

/// Computes the class that is expected for the byte at `offset`, independently of the code under test.
fn class_of(offset: u64) -> u8 {
    THRESHOLDS.iter().filter(|t| offset >= **t).count() as u8
}

fn data<T: Transport>(pair: &Pair<T>) -> Vec<Sent> {
    let data = |sent: &&Sent| sent.from == A && sent.segment.payload > 0;
    pair.sent.iter().filter(data).copied().collect()
}

#[test]
fn a_flow_goes_down_exactly_where_it_has_sent_a_threshold() {
    let mut pair = pias();
    pair.submit(0, 30_000);
    pair.run();
    let classes: Vec<u8> = data(&pair).iter().map(|s| s.segment.priority).collect();
    let expected: Vec<u8> = [vec![0; 3], vec![1; 5], vec![2; 12], vec![3; 10]].concat();
    assert_eq!(classes, expected);
}

#[test]
fn what_is_sent_again_keeps_its_class_and_pushes_nothing_down() {
    let mut pair = pias().with_fault(lose_once(&[1, 6]));
    pair.submit(0, 30_000);
    pair.run();
    let data = data(&pair);
    assert!(data.len() > 30, "something was sent again");
    for sent in data {
        assert_eq!(sent.segment.priority, class_of(sent.header().offset));
    }
}

#[test]
fn bytes_that_are_sent_again_count_if_so_wished() {
    let mut pair = pias_with(Tags {
        resends_count: true,
        ..TAGS
    })
    .with_fault(lose_once(&[1, 6]));
    pair.submit(0, 30_000);
    pair.run();
    let mut sent_before = 0;
    for sent in data(&pair) {
        assert_eq!(sent.segment.priority, class_of(sent_before));
        sent_before += u64::from(sent.segment.payload);
    }
    assert!(sent_before > 30_000, "something was sent again");
}

/// Returns two hosts whose network drops the segments of the two lowest classes, and the flow's completion time.
fn starved(relief_after: Option<NonZeroU32>) -> (Pair<Host>, Option<Time>) {
    let tags = Tags {
        relief_after,
        ..TAGS
    };
    let mut pair = pias_with(tags).with_fault(|passage| match passage.segment.priority {
        0 | 1 => Fate::Deliver,
        _ => Fate::Drop,
    });
    pair.submit(0, 26_000);
    pair.run();
    let completed = pair.completed(0);
    (pair, completed)
}

#[test]
fn a_starved_flow_counts_from_zero_again_after_some_timeouts_in_a_row() {
    let (_, completed) = starved(None);
    assert_eq!(completed, None, "nothing relieves it");
    for after in [1, 3] {
        let (pair, completed) = starved(NonZeroU32::new(after));
        assert!(completed.is_some(), "after {after}");
        // The first segment in a dropped class is at 8,000 B. This segment is sent once, and again after each timeout.
        let first: Vec<u8> = data(&pair)
            .iter()
            .filter(|sent| sent.header().offset == 8_000)
            .map(|sent| sent.segment.priority)
            .collect();
        let starves = vec![2; after as usize];
        assert_eq!(first, [starves, vec![0]].concat(), "after {after}");
    }
}

/// Returns the completion time of a flow of 2 KB, and the times of three flows of 500 KB.
/// The large flows start earlier and have moved to low classes.
fn short_beside_long(in_order: bool) -> (Duration, Vec<Duration>) {
    let mut pair = pias_with(Tags { in_order, ..TAGS });
    // The host's link is the bottleneck: its connections have windows of 200 KB.
    pair.rates = [Rate::from_gbps(1); 2];
    for long in 1..4 {
        pair.submit(long, 500_000);
    }
    let start = Time::from_ns(300_000);
    pair.run_until(start);
    pair.submit(0, 2_000);
    pair.run();
    let took = |flow| pair.completed(flow).expect("complete").since(Time::ZERO);
    (
        took(0) - start.since(Time::ZERO),
        (1..4).map(took).collect(),
    )
}

#[test]
fn a_host_serves_its_own_classes_in_order_and_long_flows_in_turn() {
    let (short, long) = short_beside_long(true);
    let (short_in_turn, _) = short_beside_long(false);
    assert!(short < short_in_turn, "{short}, in turn {short_in_turn}");
    let (first, last) = (long.iter().min(), long.iter().max());
    let apart = *last.expect("three") - *first.expect("three");
    assert!(apart < *last.expect("three") / 20, "fair: {long:?}");
}

#[test]
fn handshakes_and_acks_are_in_the_highest_class() {
    let mut pair = pias();
    pair.submit(0, 30_000);
    pair.run();
    let syn = |sent: &&Sent| sent.header().flags.has(TcpFlags::SYN);
    let control: Vec<&Sent> = pair.sent.iter().filter(|s| s.from == B || syn(s)).collect();
    assert!(control.len() > 15);
    assert!(control.iter().all(|sent| sent.segment.priority == 0));
}

#[test]
fn both_copies_of_a_replicated_flow_are_tagged() {
    let host = |id| {
        let host = repnet::Host::new(HostId(id), config(TAGS), RepNetConfig::default());
        host.expect("a valid configuration")
    };
    let mut pair = Pair::new(host(0), host(1));
    pair.submit(0, 30_000);
    pair.run();
    let data = data(&pair);
    let mut ports: Vec<u16> = data
        .iter()
        .map(|sent| sent.segment.tuple.dst_port)
        .collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 2, "two connections");
    for port in ports {
        let mut of_copy = data.iter().filter(|s| s.segment.tuple.dst_port == port);
        assert!(of_copy.any(|sent| sent.segment.priority == 3));
    }
    for sent in data {
        assert_eq!(sent.segment.priority, class_of(sent.header().offset));
    }
}
