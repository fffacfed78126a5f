//! Tests of the retransmission timer (RFC 6298).

use crate::pair;

use pair::{A, B, Fate, lose_once, plain_config, tcp};
use tailcut_transport::Event;
use tailcut_transport::tcp::TcpConfig;
use tailcut_units::{Duration, Time};

#[test]
fn a_lone_lost_segment_is_sent_again_after_the_minimum_timeout() {
    let mut pair = tcp(&plain_config()).with_fault(lose_once(&[0]));
    pair.submit(0, 1_000);
    pair.run();
    let times = pair.sendings(0);
    assert_eq!(times.len(), 2);
    assert_eq!(times[1] - times[0], Duration::from_ms(200));
    assert_eq!(pair.stats(0).timeouts, 1);
    assert_eq!(pair.stats(0).retransmissions, 1);
}

#[test]
fn with_a_long_round_trip_the_timeout_is_three_of_them_after_the_first_sample() {
    // One sample R: RTO = R + 4 (R / 2) = 3 R (RFC 6298, 2.2).
    let mut pair = tcp(&plain_config())
        .with_one_way(Duration::from_ms(50))
        .with_fault(lose_once(&[0]));
    pair.submit(0, 1_000);
    pair.run();
    let round_trip = pair.one_way * 2 + pair.rates[A].serialisation(78) * 2;
    let times = pair.sendings(0);
    assert_eq!(times[1] - times[0], round_trip * 3);
}

#[test]
fn each_expiry_doubles_the_timeout_up_to_its_maximum() {
    let config = TcpConfig {
        max_rto: Duration::from_ms(1_500),
        max_data_retries: 5,
        ..plain_config()
    };
    let mut pair = tcp(&config).with_fault(|p| {
        if p.is_data() {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 1_000);
    pair.run();
    let times = pair.sendings(0);
    let gaps: Vec<u64> = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_ns() / 1_000_000)
        .collect();
    assert_eq!(gaps, [200, 400, 800, 1_500, 1_500]);
    assert!(
        matches!(pair.events.last(), Some((_, A, Event::Failed(_, stats))) if stats.timeouts == 6)
    );
}

#[test]
fn a_flow_that_failed_leaves_nothing_at_either_end() {
    let config = TcpConfig {
        max_data_retries: 2,
        ..plain_config()
    };
    let mut pair = tcp(&config).with_fault(|p| {
        if p.is_data() {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 1_000);
    pair.run();
    assert!(pair.hosts[A].endpoint().is_empty());
    assert!(pair.hosts[B].endpoint().is_empty());
}

#[test]
fn the_back_off_lasts_until_a_segment_sent_once_is_acknowledged() {
    // Segment 0 is lost twice, so its ACK gives no round-trip sample (Karn).
    // Segment 1 is lost too, and waits for the doubled timeout of 4 x 200 ms.
    // With a window of one segment, nothing else shows the loss.
    let config = TcpConfig {
        initial_window: tailcut_transport::tcp::InitialWindow::Segments(1),
        ..plain_config()
    };
    let mut pair = tcp(&config).with_fault(lose_once(&[0, 0, 1]));
    pair.submit(0, 2_000);
    pair.run();
    let (first, second) = (pair.sendings(0), pair.sendings(1_000));
    let ms = |gap: Duration| gap.as_ns() / 1_000_000;
    assert_eq!(ms(first[1] - first[0]), 200);
    assert_eq!(ms(first[2] - first[1]), 400);
    assert_eq!(ms(second[1] - second[0]), 800);
}

#[test]
fn every_ack_of_new_data_restarts_the_timer() {
    // The last segment is lost. The timer runs from the last ACK, not from the first transmission.
    let mut pair = tcp(&plain_config()).with_fault(lose_once(&[9]));
    pair.rates = [tailcut_units::Rate::from_mbps(10); 2];
    pair.submit(0, 10_000);
    pair.run();
    let last_ack = pair
        .sent
        .iter()
        .filter(|sent| sent.from == 1 && sent.header().ack == 9_000)
        .map(|sent| sent.at + pair.rates[A].serialisation(78) + pair.one_way)
        .next()
        .expect("nine segments were acknowledged");
    let again = *pair.sendings(9_000).last().expect("sent");
    assert_eq!(again - last_ack, Duration::from_ms(200));
}

#[test]
fn after_a_timeout_the_window_is_one_segment_and_all_is_sent_again_in_slow_start() {
    // All ten segments of the first window are lost.
    let mut pair = tcp(&plain_config()).with_fault(lose_once(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    pair.submit(0, 12_000);
    pair.run();
    let offsets = pair.data_offsets(1_000);
    assert_eq!(offsets[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    // `ssthresh` is five, so the window is 1, 2, 4, and then 5 in congestion avoidance.
    assert_eq!(offsets[10..], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(pair.stats(0).timeouts, 1);
    assert_eq!(pair.stats(0).retransmissions, 10);
    assert_eq!(pair.stats(0).payload_sent, 22_000);
}

#[test]
fn a_timeout_in_recovery_does_not_undo_the_halving() {
    // Every second segment of a window is lost. Recovery repairs one segment per round trip until the timer expires.
    // Only the first partial ACK restarts the timer. Before the expiry, duplicate ACKs have released another window.
    let lost: Vec<u64> = (60..86).step_by(2).collect();
    let mut pair = tcp(&plain_config())
        .with_one_way(Duration::from_ms(10))
        .with_fault(lose_once(&lost));
    pair.submit(0, 2_000_000);
    let threshold = |pair: &pair::Pair<tailcut_transport::tcp::Host>| {
        let endpoint = pair.hosts[A].endpoint();
        let id = endpoint.ids().next().expect("a connection");
        endpoint.window(id).expect("a live connection").ssthresh
    };
    while threshold(&pair) == u64::MAX {
        assert!(pair.step(), "a loss is noticed");
    }
    let halved = threshold(&pair);
    pair.run_until(Time::ZERO + Duration::from_ms(500));
    assert!(
        threshold(&pair) <= halved,
        "{} after {halved}",
        threshold(&pair)
    );
    pair.run();
    assert_eq!(pair.stats(0).timeouts, 1);
}
