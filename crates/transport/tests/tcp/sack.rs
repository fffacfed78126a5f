//! Tests of selective acknowledgment: RFC 2018 at the receiver, RFC 6675 at the sender.

use crate::pair::{A, B, Fate, Pair, lose_once, plain_config, tcp};
use tailcut_transport::tcp::{Congestion, Host, TcpConfig};
use tailcut_units::Duration;

fn pair(sack: bool, lost: &[u64]) -> Pair<Host> {
    tcp(&TcpConfig {
        sack,
        ..plain_config()
    })
    .with_slow_acks()
    .with_one_way(Duration::from_ms(10))
    .with_fault(lose_once(lost))
}

#[test]
fn the_receiver_reports_the_latest_block_first() {
    let mut pair = pair(true, &[2, 5, 8]);
    pair.submit(0, 10_000);
    pair.run();
    let trace = pair.trace(1_000);
    let reports: Vec<&String> = trace
        .iter()
        .filter(|line| line.contains("sack"))
        .take(5)
        .collect();
    assert_eq!(
        reports,
        [
            "B ack 2 sack 3..4",
            "B ack 2 sack 3..5",
            "B ack 2 sack 6..7 sack 3..5",
            "B ack 2 sack 6..8 sack 3..5",
            "B ack 2 sack 9..10+1 sack 6..8 sack 3..5",
        ]
    );
}

#[test]
fn without_loss_nothing_is_reported() {
    let mut pair = pair(true, &[]);
    pair.submit(0, 100_000);
    pair.run();
    assert!(pair.sent.iter().all(|sent| sent.header().sack[0].end == 0));
}

#[test]
fn several_losses_of_a_window_come_back_in_one_round_trip() {
    let lost = [20, 22, 24, 26];
    let spread = |sack| {
        let mut pair = pair(sack, &lost);
        pair.submit(0, 200_000);
        pair.run();
        let stats = pair.stats(0);
        assert_eq!(
            (stats.retransmissions, stats.timeouts),
            (4, 0),
            "sack {sack}"
        );
        let times = lost.map(|segment| pair.sendings(segment * 1_000)[1]);
        times[3] - times[1]
    };
    // When half a window has left the network, the other three retransmissions leave together.
    assert!(spread(true) < Duration::from_ms(1));
    // NewReno needs a round trip of 20 ms for each further loss.
    assert!(spread(false) > Duration::from_ms(40));
}

#[test]
fn only_what_was_lost_is_sent_again_even_after_a_timeout() {
    // The retransmission of segment 4 is lost too. No ACK can show this second loss, so the timer must expire.
    // The sender skips ranges that the peer has reported.
    // The third retransmission is the rescue (RFC 6675, NextSeg, rule 4).
    // The rescue repeats the last segment, which was still in flight.
    let mut pair = pair(true, &[4, 4]);
    pair.submit(0, 30_000);
    pair.run();
    let stats = pair.stats(0);
    assert_eq!(stats.timeouts, 1);
    assert_eq!(stats.retransmissions, 3);
    let again = pair.data_offsets(1_000).split_off(30);
    assert_eq!(again.last(), Some(&4));
}

#[test]
fn a_lost_tail_is_rescued_during_recovery() {
    // Segment 4 and the last segment are lost. No segment above the last is reported.
    // So only the rescue retransmission (NextSeg, rule 4) repairs the loss of the last segment without a timeout.
    let mut pair = pair(true, &[4, 9]);
    pair.submit(0, 10_000);
    pair.run();
    let stats = pair.stats(0);
    assert_eq!((stats.retransmissions, stats.timeouts), (2, 0));
}

#[test]
fn every_episode_of_loss_reduces_the_window_whatever_governs_it() {
    // The loss of segment 40 ends slow start.
    // The sender detects the losses of 87 to 89 only when new data has passed them.
    // The recovery ends with much more data in flight than the window at its end.
    // The next segment after the recovery, 93, is lost.
    for congestion in [Congestion::NewReno, Congestion::Cubic, Congestion::DCTCP] {
        let config = TcpConfig {
            sack: true,
            congestion: congestion.clone(),
            ..plain_config()
        };
        let mut pair = tcp(&config)
            .with_slow_acks()
            .with_one_way(Duration::from_ms(10))
            .with_fault(lose_once(&[40, 87, 88, 89, 93]));
        pair.submit(0, 400_000);
        let mut thresholds = vec![];
        while pair.step() {
            let endpoint = pair.hosts[A].endpoint();
            let window = endpoint.ids().next().and_then(|id| endpoint.window(id));
            thresholds.extend(window.map(|window| window.ssthresh));
            thresholds.dedup();
        }
        assert_eq!(thresholds.len(), 3, "{congestion:?}: {thresholds:?}");
        assert!(
            thresholds.is_sorted_by(|a, b| a > b),
            "{congestion:?}: {thresholds:?}"
        );
    }
}

#[test]
fn an_ack_that_advances_and_reports_is_a_duplicate_too() {
    // RFC 6675, section 2: segment 6 is lost, segment 4 arrives after all others, and B's ACKs in between are lost.
    // The ACK for segment 4 advances to 6. This ACK is the only ACK that reports segment 7 and later segments.
    let mut lose = lose_once(&[6]);
    let mut pair = pair(true, &[]).with_fault(move |passage| {
        let header = passage.header;
        match passage.from {
            A if passage.is_data() && header.offset == 4_000 => Fate::Late(Duration::from_us(100)),
            B if header.ack == 4_000 && header.sack[0].end > 0 => Fate::Drop,
            _ => lose(passage),
        }
    });
    pair.submit(0, 10_000);
    pair.run();
    let stats = pair.stats(0);
    assert_eq!((stats.retransmissions, stats.timeouts), (1, 0));
}
