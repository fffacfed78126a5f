//! Tests of the opening of connections: the order of segments, and lost first segments.

use crate::pair::{A, B, Fate, Pair, plain_config, tcp};
use tailcut_transport::tcp::{Host, TcpConfig, TcpFlags};
use tailcut_transport::{Event, Transport};
use tailcut_units::{Duration, FlowId, HostId, Time};

/// Returns the times at which host A sent its SYNs.
fn syn_times(pair: &Pair<Host>) -> Vec<Time> {
    let syns = pair
        .sent
        .iter()
        .filter(|sent| sent.from == A && sent.header().flags.has(TcpFlags::SYN));
    syns.map(|sent| sent.at).collect()
}

fn seconds(seconds: u64) -> Time {
    Time::from_ns(seconds * 1_000_000_000)
}

#[test]
fn a_one_segment_flow_takes_five_segments() {
    let mut pair = tcp(&TcpConfig::default());
    pair.submit(7, 1_000);
    pair.run();
    assert_eq!(
        pair.trace(1_000),
        [
            "A SYN",
            "B SYN ack 0",
            "A FIN 0..1 ack 0",
            "B FIN ack 1+1",
            "A ack 0+1"
        ]
    );
}

#[test]
fn the_completion_time_is_three_one_way_trips() {
    let mut pair = tcp(&TcpConfig::default());
    pair.submit(0, 1_000);
    pair.run();
    let header = pair.rates[A].serialisation(78);
    let data = pair.rates[A].serialisation(1_078);
    let expected = Time::ZERO + pair.one_way * 3 + header * 2 + data;
    assert_eq!(pair.completed(0), Some(expected));
}

#[test]
fn an_empty_flow_opens_and_closes_a_connection() {
    let mut pair = tcp(&TcpConfig::default());
    pair.submit(0, 0);
    pair.run();
    assert_eq!(
        pair.trace(1),
        [
            "A SYN",
            "B SYN ack 0",
            "A FIN ack 0",
            "B FIN ack 1",
            "A ack 1"
        ]
    );
    assert!(pair.completed(0).is_some());
    assert_eq!(pair.stats(0).payload_sent, 0);
}

#[test]
fn a_lost_syn_is_sent_again_after_the_initial_timeout_and_then_after_twice_that() {
    let mut lost = 0;
    let mut pair = tcp(&TcpConfig::default()).with_fault(move |passage| {
        lost += u32::from(passage.has(TcpFlags::SYN));
        if passage.has(TcpFlags::SYN) && lost <= 2 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 1_000);
    pair.run();
    assert_eq!(syn_times(&pair), [seconds(0), seconds(1), seconds(3)]);
    assert_eq!(pair.stats(0).timeouts, 2);
    assert_eq!(pair.stats(0).retransmissions, 2);
}

#[test]
fn the_initial_timeout_can_be_three_seconds() {
    let config = TcpConfig {
        initial_rto: Duration::from_ms(3_000),
        ..TcpConfig::default()
    };
    let mut first = true;
    let mut pair = tcp(&config).with_fault(move |_| {
        if core::mem::take(&mut first) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 1_000);
    pair.run();
    assert_eq!(syn_times(&pair), [seconds(0), seconds(3)]);
}

#[test]
fn a_lost_syn_ack_is_sent_again_and_the_second_syn_does_not_open_twice() {
    let mut first = true;
    let mut pair = tcp(&TcpConfig::default()).with_fault(move |passage| {
        let syn_ack = passage.from == B && passage.has(TcpFlags::SYN);
        if syn_ack && core::mem::take(&mut first) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 1_000);
    pair.run();
    let syn_acks = pair
        .sent
        .iter()
        .filter(|s| s.from == B && s.header().flags.has(TcpFlags::SYN));
    assert!(syn_acks.count() >= 2);
    let completions = pair
        .events
        .iter()
        .filter(|(_, _, e)| *e == Event::Completed(FlowId(0)));
    assert_eq!(completions.count(), 1);
}

#[test]
fn after_a_lost_syn_the_window_starts_at_one_segment() {
    let mut first = true;
    let mut pair = tcp(&plain_config()).with_fault(move |_| {
        if core::mem::take(&mut first) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 20_000);
    pair.run_until(seconds(1) + Duration::from_us(250));
    assert_eq!(pair.data_offsets(1_000), [0], "RFC 5681, 3.1: one segment");
}

#[test]
fn a_peer_that_never_answers_fails_the_flow_after_the_configured_retries() {
    let config = TcpConfig {
        max_syn_retries: 2,
        ..TcpConfig::default()
    };
    let mut pair = tcp(&config).with_fault(|_| Fate::Drop);
    pair.submit(0, 1_000);
    pair.run();
    assert_eq!(syn_times(&pair), [seconds(0), seconds(1), seconds(3)]);
    assert!(matches!(pair.events[..], [(at, A, Event::Failed(FlowId(0), _))] if at == seconds(7)));
    assert!(pair.hosts[A].endpoint().is_empty());
}

#[test]
fn a_duplicate_syn_that_arrives_after_the_close_opens_nothing() {
    let mut pair = tcp(&TcpConfig::default()).with_fault(|passage| {
        if passage.from == A && passage.has(TcpFlags::SYN) {
            Fate::Duplicate(Duration::from_ms(5_000))
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 1_000);
    pair.run();
    let completions = pair
        .events
        .iter()
        .filter(|(_, _, e)| *e == Event::Completed(FlowId(0)));
    assert_eq!(completions.count(), 1);
    assert!(pair.hosts[B].endpoint().is_empty(), "the ghost is gone");
}

#[test]
fn every_flow_of_a_host_has_a_port_of_its_own() {
    let mut pair = tcp(&TcpConfig::default());
    for flow in 0..100 {
        pair.submit(flow, 1_000);
    }
    pair.run();
    let mut ports: Vec<u16> = pair
        .sent
        .iter()
        .filter(|sent| sent.from == A && sent.segment.payload > 0)
        .map(|sent| sent.segment.tuple.src_port)
        .collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 100);
    assert!((0..100).all(|flow| pair.completed(flow).is_some()));
}

#[test]
fn when_all_ports_are_in_use_a_flow_fails_at_once() {
    let mut pair = tcp(&TcpConfig::default());
    let ports = 60_999 - 32_768 + 1;
    for flow in 0..ports {
        pair.submit(flow, 1);
    }
    assert!(pair.events.is_empty());
    pair.submit(ports, 1);
    assert!(matches!(pair.events[..], [(_, A, Event::Failed(FlowId(flow), _))] if flow == ports));
}

#[test]
fn a_flow_to_the_host_itself_works_too() {
    let mut host = Host::new(HostId(1), TcpConfig::default()).expect("a valid configuration");
    let message = tailcut_transport::Message {
        flow: FlowId(0),
        dst: HostId(1),
        bytes: 50_000,
        path: tailcut_transport::PathPin::NONE,
        replication: tailcut_transport::Replication::Off,
    };
    host.submit(Time::ZERO, message);
    while let Some(segment) = host.poll_transmit(Time::ZERO) {
        host.on_segment(Time::ZERO, segment);
    }
    let events: Vec<Event> = std::iter::from_fn(|| host.poll_event()).collect();
    assert!(events.contains(&Event::Completed(FlowId(0))), "{events:?}");
}
