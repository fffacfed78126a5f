//! Tests of delayed ACKs: RFC 1122, 4.2.3.2; RFC 5681, 4.2.

use crate::pair::{B, Fate, Pair, lose_once, plain_config, tcp};
use tailcut_transport::tcp::{DelayedAck, Host, TcpConfig};
use tailcut_units::{Duration, Time};

fn delayed(segments: u8) -> TcpConfig {
    let timeout = Duration::from_ms(40);
    TcpConfig {
        delayed_ack: Some(DelayedAck { segments, timeout }),
        ..plain_config()
    }
}

/// Returns the acknowledgment numbers that B sent after its SYN-ACK, in segments.
fn acks(pair: &Pair<Host>) -> Vec<u64> {
    let acks = pair.sent.iter().filter(|sent| sent.from == B).skip(1);
    acks.map(|sent| sent.header().ack / 1_000).collect()
}

#[test]
fn every_second_segment_is_acknowledged_and_the_last_with_the_fin() {
    let mut pair = tcp(&delayed(2));
    pair.submit(0, 9_000);
    pair.run();
    assert_eq!(acks(&pair), [2, 4, 6, 8, 9]);
}

#[test]
fn coalescing_can_hold_back_more() {
    let mut pair = tcp(&delayed(4));
    pair.submit(0, 9_000);
    pair.run();
    assert_eq!(acks(&pair), [4, 8, 9]);
}

#[test]
fn switched_off_every_segment_is_acknowledged() {
    let mut pair = tcp(&plain_config());
    pair.submit(0, 4_000);
    pair.run();
    assert_eq!(acks(&pair), [1, 2, 3, 4]);
}

#[test]
fn a_lone_segment_waits_for_the_delay_and_no_longer() {
    // The window has one segment, so no second segment causes an earlier ACK.
    let config = TcpConfig {
        initial_window: tailcut_transport::tcp::InitialWindow::Segments(1),
        ..delayed(2)
    };
    let mut pair = tcp(&config);
    pair.submit(0, 2_000);
    pair.run();
    let of_b: Vec<Time> = pair
        .sent
        .iter()
        .filter(|s| s.from == B)
        .map(|s| s.at)
        .collect();
    let data: Vec<Time> = pair
        .sent
        .iter()
        .filter(|s| s.segment.payload > 0)
        .map(|s| s.at)
        .collect();
    let arrival = data[0] + pair.one_way + pair.rates[0].serialisation(1_078);
    assert_eq!(of_b[1], arrival + Duration::from_ms(40));
}

#[test]
fn what_comes_out_of_order_is_acknowledged_at_once_and_so_is_what_fills_the_hole() {
    let mut pair = tcp(&TcpConfig {
        limited_transmit: false,
        ..delayed(2)
    })
    .with_fault(lose_once(&[2]));
    pair.submit(0, 10_000);
    pair.run();
    // Segment 2 is missing, and each of the segments 3 to 9 causes an ACK.
    // The retransmission of segment 2 fills the hole up to the FIN.
    assert_eq!(acks(&pair), [2, 2, 2, 2, 2, 2, 2, 2, 10]);
}

#[test]
fn a_duplicate_is_acknowledged_at_once() {
    let mut pair = tcp(&delayed(2)).with_fault(|passage| {
        if passage.is_data() && passage.header.offset == 0 {
            Fate::Duplicate(Duration::from_ms(1))
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 3_000);
    pair.run_until(Time::ZERO + Duration::from_ms(2));
    assert_eq!(acks(&pair), [2, 3, 3]);
}
