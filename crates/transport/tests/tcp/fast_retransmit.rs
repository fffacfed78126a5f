//! Tests of fast retransmit and NewReno's fast recovery (RFC 5681, 3.2; RFC 6582).
//! The expected sequences were computed by hand.
//! Segments have 1,000 B with an ACK each, the initial window is 10 segments, and the round trip is 20 ms.

use crate::pair;

use pair::{Fate, Pair, lose_once, plain_config, tcp};
use tailcut_transport::tcp::{Host, TcpConfig};
use tailcut_units::{Duration, Time};

fn pair(config: &TcpConfig, lost: &[u64]) -> Pair<Host> {
    tcp(config)
        .with_slow_acks()
        .with_one_way(Duration::from_ms(10))
        .with_fault(lose_once(lost))
}

fn without_limited_transmit() -> TcpConfig {
    TcpConfig {
        limited_transmit: false,
        ..plain_config()
    }
}

#[test]
fn the_third_duplicate_ack_brings_back_one_lost_segment() {
    let mut pair = pair(&without_limited_transmit(), &[4]);
    pair.submit(0, 30_000);
    pair.run();
    // The ACKs of segments 0 to 3 open the window to 14, so segments 10 to 17 leave.
    // Segments 5 to 7 cause three duplicate ACKs.
    // The duplicate ACKs set ssthresh = 14 / 2 = 7 and cwnd = 7 + 3 = 10, and segment 4 is sent again.
    // The duplicate ACKs of segments 8 to 17 increase the window to 20.
    // 14 segments are in flight, so the last six duplicate ACKs release segments 18 to 23.
    // The full ACK (18) reduces the window to min(7, 6 + 1) = 7.
    // After the full ACK, segment 24 leaves, and congestion avoidance continues.
    assert_eq!(
        pair.data_offsets(1_000),
        [
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 4, 18, 19, 20, 21, 22,
            23, 24, 25, 26, 27, 28, 29
        ]
    );
    let stats = pair.stats(0);
    assert_eq!((stats.retransmissions, stats.timeouts), (1, 0));
}

#[test]
fn recovery_halves_the_window() {
    let mut pair = pair(&without_limited_transmit(), &[4]);
    pair.submit(0, 1_000_000);
    // The run covers three round trips: the SYN, the first window, and segments 10 to 17 with the retransmission of 4.
    pair.run_until(Time::ZERO + Duration::from_ms(70));
    let endpoint = pair.hosts[pair::A].endpoint();
    let id = endpoint.ids().next().expect("a connection");
    let window = endpoint.window(id).expect("a live connection");
    assert_eq!(window.ssthresh, 7_000);
    assert_eq!(window.cwnd, 7_000);
}

#[test]
fn a_partial_ack_brings_back_the_next_loss_without_a_timeout() {
    let mut pair = pair(&without_limited_transmit(), &[4, 7]);
    pair.submit(0, 30_000);
    pair.run();
    let offsets = pair.data_offsets(1_000);
    let again = |segment| offsets.iter().filter(|offset| **offset == segment).count();
    assert_eq!((again(4), again(7)), (2, 2));
    let stats = pair.stats(0);
    assert_eq!((stats.retransmissions, stats.timeouts), (2, 0));
    // The partial ACK (7) arrives one round trip after the retransmission of 4.
    let times = |segment: u64| {
        let of = |sent: &&pair::Sent| {
            sent.segment.payload > 0 && sent.header().offset == segment * 1_000
        };
        pair.sent
            .iter()
            .filter(of)
            .map(|sent| sent.at)
            .next_back()
            .expect("sent")
    };
    let gap = times(7) - times(4);
    assert!(
        gap > Duration::from_ms(20) && gap < Duration::from_ms(21),
        "{gap}"
    );
}

#[test]
fn two_duplicate_acks_from_reordering_resend_nothing() {
    // Two other segments overtake segment 4.
    let mut pair = tcp(&without_limited_transmit()).with_fault(|passage| {
        if passage.is_data() && passage.header.offset == 4_000 {
            Fate::Late(Duration::from_ns(2_000))
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 30_000);
    pair.run();
    assert_eq!(pair.stats(0).retransmissions, 0);
}

#[test]
fn a_higher_threshold_tolerates_more_reordering() {
    let reorder = |passage: &pair::Passage| {
        if passage.is_data() && passage.header.offset == 4_000 {
            Fate::Late(Duration::from_ns(4_500))
        } else {
            Fate::Deliver
        }
    };
    for (threshold, tolerates) in [(3, false), (8, true)] {
        let config = TcpConfig {
            duplicate_ack_threshold: threshold,
            ..without_limited_transmit()
        };
        let mut pair = tcp(&config).with_fault(reorder);
        pair.submit(0, 30_000);
        pair.run();
        let resent = pair.stats(0).retransmissions;
        assert_eq!(
            resent == 0,
            tolerates,
            "{resent} segments sent again with the threshold {threshold}"
        );
    }
}

#[test]
fn duplicate_acks_of_what_a_timeout_resent_start_no_second_recovery() {
    // Every ACK of the first window is lost.
    // The sender times out and sends all ten segments again, and the receiver answers with ten ACKs of the same number.
    let mut acks = 0;
    let mut pair = tcp(&without_limited_transmit()).with_fault(move |passage| {
        let ack = passage.from == pair::B && passage.header.ack > 0;
        acks += u32::from(ack);
        if ack && acks <= 10 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 40_000);
    pair.run();
    let stats = pair.stats(0);
    assert_eq!((stats.timeouts, stats.retransmissions), (1, 1));
}
