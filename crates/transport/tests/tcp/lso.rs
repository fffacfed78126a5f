//! Tests of large sends: bursts of segments back to back, which a NIC makes from one large buffer.

use crate::pair::{A, B, Pair, lose_once, plain_config, tcp};
use tailcut_transport::tcp::{Host, InitialWindow, TcpConfig};
use tailcut_units::{Duration, Time};

/// Returns the lengths of all runs of back-to-back data segments, in the first 5 ms of two flows.
fn bursts(lso_bytes: u32) -> Vec<usize> {
    let config = TcpConfig {
        lso_bytes,
        initial_window: InitialWindow::Segments(96),
        max_cwnd: 96_000,
        ..plain_config()
    };
    let mut pair = tcp(&config).with_slow_acks();
    pair.submit(0, 10_000_000);
    pair.submit(1, 10_000_000);
    pair.run_until(Time::ZERO + Duration::from_ms(5));
    runs(&pair)
}

fn runs(pair: &Pair<Host>) -> Vec<usize> {
    let step = pair.rates[A].serialisation(1_078);
    let data: Vec<_> = pair
        .sent
        .iter()
        .filter(|sent| sent.segment.payload > 0)
        .collect();
    let mut runs = vec![1];
    for two in data.windows(2) {
        let same = two[0].segment.flow == two[1].segment.flow;
        if same && two[1].at - two[0].at == step {
            *runs.last_mut().expect("not empty") += 1;
        } else {
            runs.push(1);
        }
    }
    runs
}

#[test]
fn without_it_flows_take_turns() {
    let runs = bursts(0);
    let turns = runs.iter().filter(|run| **run <= 2).count();
    assert!(turns * 10 >= runs.len() * 9, "{runs:?}");
}

#[test]
fn with_it_a_flow_waits_for_a_third_of_its_window_and_sends_it_at_once() {
    let runs = bursts(65_536);
    let (first, later) = runs.split_at(2);
    // At first the whole window is free, and one burst uses at most 65,536 B of it.
    assert_eq!(first, [65, 65]);
    let whole = later.iter().filter(|run| **run >= 31).count();
    assert!(whole * 10 >= later.len() * 8, "{runs:?}");
}

#[test]
fn a_burst_that_just_fits_the_window_does_not_wait() {
    let config = TcpConfig {
        lso_bytes: 2_000,
        initial_window: InitialWindow::Segments(10),
        ..plain_config()
    };
    let mut pair = tcp(&config);
    pair.submit(0, 1_000_000);
    // The handshake takes 200 us, and the ACKs of the first segments arrive 200 us later.
    pair.run_until(Time::ZERO + Duration::from_us(390));
    assert_eq!(runs(&pair), [10]);
}

#[test]
fn the_end_of_the_data_waits_for_nothing() {
    let config = TcpConfig {
        lso_bytes: 65_536,
        ..plain_config()
    };
    let mut pair = tcp(&config);
    pair.submit(0, 3_000);
    pair.run();
    assert!(pair.completed(0).expect("complete") < Time::ZERO + Duration::from_ms(1));
}

#[test]
fn duplicate_acks_in_a_burst_do_not_open_the_window() {
    let config = TcpConfig {
        lso_bytes: 65_536,
        ..plain_config()
    };
    // The recovery ends with a timeout. The retransmissions after it cause duplicate ACKs that show no loss.
    let lost: Vec<u64> = (60..86).step_by(2).collect();
    let mut pair = tcp(&config)
        .with_one_way(Duration::from_ms(10))
        .with_fault(lose_once(&lost));
    pair.submit(0, 5_000_000);
    let (mut seen, mut sent, mut acknowledged) = (0, 0, 0);
    let mut largest = 0;
    while pair.step() {
        for packet in &pair.sent[seen..] {
            let header = packet.header();
            if packet.from == A {
                sent = sent.max(header.offset + u64::from(packet.segment.payload));
            } else {
                acknowledged = acknowledged.max(header.ack);
            }
        }
        seen = pair.sent.len();
        let endpoint = pair.hosts[A].endpoint();
        let window = endpoint.ids().next().and_then(|id| endpoint.window(id));
        if let Some(window) = window {
            largest = largest.max(sent.saturating_sub(acknowledged + window.cwnd));
        }
    }
    assert!(pair.completed(0).is_some() && pair.hosts[B].endpoint().is_empty());
    // After a reduction of the window, earlier segments are still in flight, here at most 200.
    assert!(largest <= 200_000, "{largest} B beyond the window");
}
