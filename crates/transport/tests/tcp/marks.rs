//! Tests of reactions to marks: how often and by how much a window shrinks (RFC 3168, 6.1.2; RFC 8257).

use crate::pair::{Fate, plain_config, tcp};
use crate::script::{MSS, Script, Sending};
use tailcut_transport::Ecn;
use tailcut_transport::tcp::{Congestion, TcpConfig, TcpFlags};

fn classic(sack: bool) -> TcpConfig {
    TcpConfig {
        classic_ecn: true,
        sack,
        ..plain_config()
    }
}

fn dctcp() -> TcpConfig {
    TcpConfig {
        congestion: Congestion::DCTCP,
        sack: true,
        ..plain_config()
    }
}

/// Returns a connection that has written 100 segments and has ten of them in flight.
fn in_flight(config: &TcpConfig) -> Script {
    let mut script = Script::open(config);
    script.write(100);
    assert_eq!(script.data().len(), 10);
    script.wait(100);
    script
}

#[test]
fn a_mark_halves_the_window_and_not_what_is_left_of_the_flight() {
    let mut script = in_flight(&classic(false));
    script.ack_with(4, None, true);
    assert_eq!((script.cwnd(), script.window().ssthresh), (5, 5 * MSS));
    let mut cubic = in_flight(&TcpConfig {
        congestion: Congestion::Cubic,
        ..classic(false)
    });
    cubic.ack_with(4, None, true);
    assert_eq!(cubic.cwnd(), 7);
}

#[test]
fn a_mark_and_a_loss_of_one_window_cut_once_with_classic_ecn() {
    for sack in [false, true] {
        let mut script = in_flight(&classic(sack));
        script.ack_with(2, None, true);
        assert_eq!(script.window().ssthresh, 5 * MSS);
        for end in 4..=8 {
            script.ack_with(2, Some((3, end)).filter(|_| sack), true);
        }
        assert_eq!(script.window().ssthresh, 5 * MSS, "SACK {sack}");
        assert!(script.data().contains(&2), "the loss is repaired");
    }
}

#[test]
fn a_loss_of_the_next_window_cuts_again() {
    let mut script = in_flight(&classic(true));
    script.ack_with(10, None, true);
    assert_eq!(script.data(), [10, 11, 12, 13, 14]);
    script.ack(11);
    script.data();
    for end in 13..=15 {
        script.ack_with(11, Some((12, end)), false);
    }
    assert!(script.window().ssthresh < 5 * MSS);
}

#[test]
fn a_mark_and_a_timeout_of_one_window_keep_the_threshold_of_the_mark() {
    let mut script = in_flight(&classic(false));
    script.ack_with(2, None, true);
    // The timeout is 300 ms.
    script.wait(310);
    assert_eq!((script.cwnd(), script.window().ssthresh), (1, 5 * MSS));
}

#[test]
fn each_timeout_after_progress_reduces_the_threshold() {
    let mut script = in_flight(&plain_config());
    let mut thresholds = vec![];
    for acked in 1..=2 {
        script.wait(2_000);
        thresholds.push(script.window().ssthresh);
        script.data();
        script.ack(acked);
        script.data();
    }
    assert_eq!(thresholds, [5 * MSS, 2 * MSS]);
}

#[test]
fn a_loss_is_announced_by_cwr_and_ends_the_echo_of_its_window() {
    let mut script = in_flight(&classic(true));
    for end in 2..=10 {
        script.ack_with(0, Some((1, end)), true);
    }
    let sent = script.sent();
    let is_again = |sent: &&Sending| sent.2 < 10;
    let again: Vec<_> = sent.iter().filter(is_again).collect();
    let new: Vec<_> = sent.iter().filter(|sent| !is_again(sent)).collect();
    assert!(!again.is_empty() && !new.is_empty());
    assert!(
        new[0].1.has(TcpFlags::CWR),
        "the first new data has CWR (RFC 3168, 6.1.2)"
    );
    assert!(again.iter().all(|sent| !sent.1.has(TcpFlags::CWR)));
}

#[test]
fn linux_makes_every_segment_of_dctcp_ecn_capable() {
    for control_ect in [false, true] {
        let config = TcpConfig {
            control_ect,
            ..dctcp()
        };
        // Marks on segments without data have no effect.
        let mut pair = tcp(&config).with_fault(|passage| match passage.segment.payload {
            0 => Fate::Mark,
            _ => Fate::Deliver,
        });
        pair.submit(0, 20_000);
        pair.run();
        assert!(pair.completed(0).is_some());
        let control = pair.sent.iter().filter(|sent| sent.segment.payload == 0);
        let capable = control
            .clone()
            .filter(|sent| sent.segment.ecn == Ecn::Capable);
        let expected = if control_ect { control.count() } else { 0 };
        assert_eq!(capable.count(), expected);
    }
}

#[test]
fn an_overtaken_ack_still_reports_what_arrived() {
    // The ACK of segment 3 overtakes two older ACKs. The SACK blocks of the older ACKs show the loss of segment 4.
    let mut script = in_flight(&TcpConfig {
        sack: true,
        ..plain_config()
    });
    script.ack(4);
    script.data();
    script.ack_with(2, Some((3, 4)), false);
    assert_eq!(script.window().ssthresh, u64::MAX, "old news");
    script.ack_with(3, Some((5, 8)), false);
    assert!(script.data().contains(&4));
    assert!(script.window().ssthresh < u64::MAX);
}
