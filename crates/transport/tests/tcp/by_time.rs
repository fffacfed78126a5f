//! Tests of loss recovery by time: RACK and TLP (RFC 8985), rate reduction (RFC 6937), and F-RTO (RFC 5682).
//! The tests also cover the undo by DSACK. Expected times are sums of round trips and timer periods.

use crate::pair::{Fate, Pair, lose_once, plain_config, tcp};
use tailcut_transport::tcp::{
    Congestion, Host, LossRecovery, Profile, SackBlock, TcpConfig, TcpFlags, TimerSet,
};
use tailcut_units::{Duration, Time};

/// Returns a configuration with the recovery of Linux, and with timers for a data centre.
fn config() -> TcpConfig {
    TcpConfig {
        sack: true,
        loss_recovery: LossRecovery::Rack,
        tail_loss_probe: true,
        rate_reduction: true,
        undo: true,
        frto: true,
        min_rto: Duration::from_ms(10),
        initial_rto: Duration::from_ms(10),
        clock_granularity: Duration::from_ms(10),
        ..plain_config()
    }
}

/// Returns two hosts with a round trip of 50 us. Each segment in `lost` from the first host is lost once.
fn pair(config: &TcpConfig, lost: &[u64]) -> Pair<Host> {
    tcp(config)
        .with_one_way(Duration::from_us(25))
        .with_fault(lose_once(lost))
}

fn completion(mut pair: Pair<Host>, bytes: u64) -> (Duration, u32, u32) {
    pair.submit(0, bytes);
    pair.run();
    let stats = pair.stats(0);
    let end = pair.completed(0).expect("the flow completes");
    (end - Time::ZERO, stats.retransmissions, stats.timeouts)
}

/// Returns the completion time of a flow of 20 KB without loss: the handshake, two windows, and little more.
fn undisturbed() -> Duration {
    completion(pair(&config(), &[]), 20_000).0
}

#[test]
fn a_lost_end_of_a_flow_costs_a_probe_and_no_timeout() {
    let (span, retransmissions, timeouts) = completion(pair(&config(), &[18, 19]), 20_000);
    // The probe repeats the last segment after two round trips and two ticks. Its SACK block shows the other loss.
    assert_eq!((retransmissions, timeouts), (2, 0));
    let late = span - undisturbed();
    assert!(
        late > Duration::from_ms(2) && late < Duration::from_us(2_400),
        "{late:?}"
    );
}

#[test]
fn a_lost_first_window_costs_a_probe_and_no_timeout() {
    let window: Vec<u64> = (0..10).collect();
    let (span, retransmissions, timeouts) = completion(pair(&config(), &window), 20_000);
    // The probe is new data.
    // The SACK block for the probe shows that all segments before the probe are lost, and the retransmissions follow.
    assert_eq!((retransmissions, timeouts), (10, 0));
    let late = span - undisturbed();
    assert!(
        late > Duration::from_ms(2) && late < Duration::from_us(2_500),
        "{late:?}"
    );
}

#[test]
fn a_lone_lost_segment_waits_for_the_least_timeout() {
    let (span, retransmissions, timeouts) = completion(pair(&config(), &[19]), 20_000);
    // Segment 18 and the segments before it are acknowledged, so one segment is in flight.
    // The segment's ACK may be delayed, so the probe waits for the retransmission timeout: a round trip and 10 ms.
    assert_eq!((retransmissions, timeouts), (1, 0));
    let late = span - undisturbed();
    let expected = Duration::from_us(10_050);
    assert!(late.as_us_f64() - expected.as_us_f64() < 300.0, "{late:?}");
    assert!(late > Duration::from_ms(10), "{late:?}");
}

#[test]
fn a_first_segment_that_is_lost_twice_costs_two_round_trips() {
    let (span, retransmissions, timeouts) = completion(pair(&config(), &[0, 0]), 20_000);
    assert_eq!((retransmissions, timeouts), (2, 0));
    let late = span - undisturbed();
    assert!(late < Duration::from_us(120), "{late:?}");
}

#[test]
fn a_lost_syn_costs_the_first_timeout_and_keeps_the_window() {
    let config = TcpConfig {
        congestion: Congestion::Cubic,
        mss: 1_000,
        ..TcpConfig::of(Profile::Linux, TimerSet::DataCentre)
    };
    let mut lost = false;
    let pair = tcp(&config)
        .with_one_way(Duration::from_us(25))
        .with_fault(move |passage| {
            if passage.has(TcpFlags::SYN) && !lost {
                lost = true;
                return Fate::Drop;
            }
            Fate::Deliver
        });
    let late = completion(pair, 20_000).0 - undisturbed();
    assert!(late < Duration::from_us(10_300), "{late:?}");
}

#[test]
fn a_lost_retransmission_costs_a_round_trip_while_other_segments_arrive() {
    let (span, retransmissions, timeouts) = completion(pair(&config(), &[2, 2]), 100_000);
    assert_eq!((retransmissions, timeouts), (2, 0));
    let whole = completion(pair(&config(), &[]), 100_000).0;
    let late = span - whole;
    assert!(late < Duration::from_us(500), "{late:?}");
    // RFC 6675 does not detect the loss of the retransmission, and waits for the timer.
    let old = TcpConfig {
        loss_recovery: LossRecovery::Rfc6675,
        ..config()
    };
    assert_eq!(completion(pair(&old, &[2, 2]), 100_000).2, 1);
}

#[test]
fn reordering_within_a_quarter_of_the_round_trip_causes_no_retransmission() {
    let mut seen = 0;
    let reorders = tcp(&config())
        .with_one_way(Duration::from_us(25))
        .with_fault(move |passage| {
            if !passage.is_data() {
                return Fate::Deliver;
            }
            seen += 1;
            // One of ten segments is late, by less than a quarter of the round trip. Ten segments overtake it.
            if seen % 10 == 3 {
                Fate::Late(Duration::from_us(9))
            } else {
                Fate::Deliver
            }
        });
    let (_, retransmissions, timeouts) = completion(reorders, 200_000);
    // Until the sender detects the first reordering, three SACK reports show a loss.
    assert!(retransmissions <= 2, "{retransmissions}");
    assert_eq!(timeouts, 0);
}

#[test]
fn a_needless_recovery_is_undone_by_dsacks() {
    let fault = |late| {
        move |passage: &crate::pair::Passage| {
            if passage.is_data() && passage.header.offset == 2_000 && passage.now < late {
                Fate::Late(Duration::from_us(400))
            } else {
                Fate::Deliver
            }
        }
    };
    let run = |undo| {
        let mut pair = tcp(&TcpConfig {
            undo,
            frto: undo,
            ..config()
        })
        .with_one_way(Duration::from_us(100))
        .with_fault(fault(Time::ZERO + Duration::from_us(250)));
        pair.submit(0, 1_000_000);
        pair.run();
        (
            pair.completed(0).expect("complete"),
            pair.stats(0).retransmissions,
        )
    };
    let ((undone, sent), (cut, _)) = (run(true), run(false));
    assert_eq!(sent, 1);
    assert!(undone < cut, "{undone:?} {cut:?}");
}

#[test]
fn the_receiver_reports_a_segment_that_arrived_twice_first() {
    let mut pair = tcp(&config())
        .with_one_way(Duration::from_us(100))
        .with_fault(|passage| {
            if passage.is_data() && passage.header.offset == 3_000 {
                Fate::Duplicate(Duration::from_us(5))
            } else {
                Fate::Deliver
            }
        });
    pair.submit(0, 10_000);
    pair.run();
    let twice: Vec<_> = pair
        .sent
        .iter()
        .filter(|sent| sent.from == crate::pair::B)
        .filter_map(|sent| sent.header().sack[0].offsets(sent.header().ack))
        .filter(|(start, end)| start != end)
        .collect();
    // One ACK reports that the segment arrived twice. Later ACKs do not repeat this report.
    let header = pair.sent.iter().map(|sent| sent.header());
    let marked = header.filter(|header| header.sack[0] != SackBlock::default());
    assert_eq!(marked.count(), 1);
    assert!(twice.contains(&(3_000, 4_000)), "{twice:?}");
}

#[test]
fn a_spurious_timeout_is_undone_once_the_answers_arrive() {
    // The network delays all segments of one window by more than the timeout.
    let run = |undo| {
        let mut pair = tcp(&TcpConfig {
            undo,
            frto: undo,
            ..config()
        })
        .with_one_way(Duration::from_us(100))
        .with_fault(|passage| {
            let held = passage.is_data() && (20_000..60_000).contains(&passage.header.offset);
            if held && passage.now < Time::ZERO + Duration::from_ms(5) {
                Fate::Late(Duration::from_ms(15))
            } else {
                Fate::Deliver
            }
        });
        pair.submit(0, 2_000_000);
        pair.run();
        (pair.completed(0).expect("complete"), pair.stats(0))
    };
    let ((undone, stats), (slow, _)) = (run(true), run(false));
    assert!(stats.timeouts >= 1);
    assert!(undone < slow, "{undone:?} {slow:?}");
}

#[test]
fn a_reduction_sends_a_segment_for_each_that_arrives() {
    // Every second segment of a window of twenty is lost.
    let lost: Vec<u64> = (10..30).step_by(2).collect();
    let config = TcpConfig {
        initial_rto: Duration::from_ms(1_000),
        ..config()
    };
    let mut pair = tcp(&config)
        .with_slow_acks()
        .with_one_way(Duration::from_ms(10))
        .with_fault(lose_once(&lost));
    pair.submit(0, 100_000);
    pair.run();
    let stats = pair.stats(0);
    assert_eq!((stats.retransmissions, stats.timeouts), (10, 0));
    let first = pair.sendings(10_000)[1];
    let last = pair.sendings(28_000)[1];
    // The retransmissions follow the ACKs. The retransmissions do not leave as one burst of 10 us.
    assert!(last - first > Duration::from_us(50), "{:?}", last - first);
}

#[test]
fn a_mark_and_a_loss_of_one_window_reduce_it_once() {
    let config = TcpConfig {
        classic_ecn: true,
        congestion: Congestion::NewReno,
        ..config()
    };
    let mut marked = false;
    let mut lose = lose_once(&[4]);
    let mut pair = tcp(&config)
        .with_one_way(Duration::from_ms(1))
        .with_fault(move |passage| {
            if passage.is_data() && passage.header.offset == 1_000 && !marked {
                marked = true;
                return Fate::Mark;
            }
            lose(passage)
        });
    pair.submit(0, 200_000);
    pair.run();
    let reduced = pair.sent.iter().filter(|sent| {
        sent.header().flags.has(TcpFlags::CWR) && !sent.header().flags.has(TcpFlags::SYN)
    });
    assert_eq!(reduced.count(), 1);
}

#[test]
fn without_sack_blocks_the_recovery_is_that_of_newreno() {
    let without = TcpConfig {
        sack: false,
        ..config()
    };
    let plain = TcpConfig {
        loss_recovery: LossRecovery::Rfc6675,
        ..without.clone()
    };
    let lost = [3, 7, 18, 19];
    assert_eq!(
        completion(pair(&without, &lost), 20_000),
        completion(pair(&plain, &lost), 20_000)
    );
}
