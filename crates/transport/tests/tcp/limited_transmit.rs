//! Tests of limited transmit (RFC 3042).
//! The first two duplicate ACKs release one new segment each.
//! So even a small window causes a third duplicate ACK.

use crate::pair;

use pair::{lose_once, plain_config, tcp};
use tailcut_transport::tcp::{InitialWindow, TcpConfig};
use tailcut_units::Duration;

/// Runs a flow whose first window has three segments. The first segment is lost, so there are only two duplicate ACKs.
fn stats_of(limited_transmit: bool) -> (Vec<u64>, u32) {
    let config = TcpConfig {
        limited_transmit,
        initial_window: InitialWindow::Segments(3),
        ..plain_config()
    };
    let mut pair = tcp(&config)
        .with_one_way(Duration::from_ms(10))
        .with_fault(lose_once(&[0]));
    pair.submit(0, 6_000);
    pair.run();
    (pair.data_offsets(1_000), pair.stats(0).timeouts)
}

#[test]
fn without_it_a_window_of_three_waits_for_the_timer() {
    let (offsets, timeouts) = stats_of(false);
    assert_eq!(timeouts, 1);
    assert_eq!(offsets[..4], [0, 1, 2, 0]);
}

#[test]
fn with_it_two_new_segments_bring_the_third_duplicate() {
    let (offsets, timeouts) = stats_of(true);
    assert_eq!(timeouts, 0);
    assert_eq!(offsets, [0, 1, 2, 3, 4, 0, 5]);
}

#[test]
fn what_it_sent_does_not_count_as_in_flight_when_the_window_is_halved() {
    // The sequence is as in `fast_retransmit.rs`, but segments 18 and 19 leave at the first two duplicate ACKs.
    // 16 segments are in flight. Of these segments, 14 count, so ssthresh is 7, not 8.
    let mut pair = tcp(&plain_config())
        .with_slow_acks()
        .with_one_way(Duration::from_ms(10))
        .with_fault(lose_once(&[4]));
    pair.submit(0, 1_000_000);
    pair.run_until(tailcut_units::Time::ZERO + Duration::from_ms(50));
    let endpoint = pair.hosts[pair::A].endpoint();
    let id = endpoint.ids().next().expect("a connection");
    assert_eq!(
        endpoint.window(id).expect("a live connection").ssthresh,
        7_000
    );
    assert_eq!(pair.data_offsets(1_000)[18..21], [18, 19, 4]);
}
