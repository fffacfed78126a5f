//! Tests of quick ACKs. The receiver acknowledges data without delay, as measured with Linux 6.18.

use crate::pair::{plain_config, tcp};
use crate::script::Script;
use tailcut_transport::Ecn;
use tailcut_transport::tcp::{DelayedAck, InitialWindow, TcpConfig};
use tailcut_units::Duration;

fn config(quick_acks: u8) -> TcpConfig {
    let config = plain_config();
    TcpConfig {
        delayed_ack: Some(DelayedAck::below(config.min_rto)),
        quick_acks,
        ..config
    }
}

/// Sends `segments` single segments, 1 ms apart, starting with segment `first`.
/// Returns the number of segments that are acknowledged immediately.
fn at_once(script: &mut Script, first: u64, segments: u64) -> usize {
    let mut count = 0;
    for nth in first..first + segments {
        script.wait(1);
        count += usize::from(script.receive(nth, Ecn::NotCapable));
    }
    count
}

#[test]
fn the_first_sixteen_segments_are_acknowledged_at_once_and_then_every_second_one() {
    let mut script = Script::open(&config(16));
    assert_eq!(at_once(&mut script, 0, 16), 16);
    assert_eq!(at_once(&mut script, 16, 20), 10);
}

#[test]
fn without_them_the_first_segment_waits() {
    let mut script = Script::open(&config(0));
    assert!(!script.receive(0, Ecn::NotCapable));
    assert_eq!(script.timer(), Duration::from_ms(40));
}

#[test]
fn a_gap_above_the_retransmission_timeout_brings_them_back() {
    let mut script = Script::open(&config(16));
    assert_eq!(at_once(&mut script, 0, 16), 16);
    // The timeout is 300 ms after a first round trip of 100 ms.
    script.wait(290);
    assert!(!script.receive(16, Ecn::NotCapable));
    script.wait(310);
    script.sent();
    assert_eq!(at_once(&mut script, 17, 16), 16);
}

#[test]
fn an_end_that_answers_delays_its_acks_until_one_is_late() {
    let mut script = Script::open(&config(16));
    assert!(script.receive(0, Ecn::NotCapable));
    script.write(1);
    assert_eq!(script.data(), [0]);
    script.ack(1);
    // The endpoint waits for an answer that could contain the ACK.
    // No answer comes, so the ACK leaves late, without data.
    assert!(!script.receive(1, Ecn::NotCapable));
    assert_eq!(script.timer(), Duration::from_ms(40));
    script.sent();
    assert!(script.receive(2, Ecn::NotCapable));
}

#[test]
fn an_end_that_only_sends_first_does_not_answer() {
    let mut script = Script::open(&config(16));
    script.write(1);
    assert_eq!(script.data(), [0]);
    script.ack(1);
    assert!(script.receive(0, Ecn::NotCapable));
}

#[test]
fn a_duplicate_brings_them_back() {
    let mut script = Script::open(&config(16));
    at_once(&mut script, 0, 16);
    script.receive(3, Ecn::NotCapable);
    assert_eq!(at_once(&mut script, 16, 16), 16);
}

#[test]
fn a_first_mark_of_classic_ecn_gets_two() {
    let mut script = Script::open(&TcpConfig {
        classic_ecn: true,
        ..config(16)
    });
    at_once(&mut script, 0, 16);
    assert!(script.receive(16, Ecn::Marked));
    assert!(script.receive(17, Ecn::Capable));
    assert!(!script.receive(18, Ecn::Capable));
}

#[test]
fn a_flow_of_one_segment_at_a_time_saves_its_delays() {
    let time = |quick_acks| {
        let mut pair = tcp(&TcpConfig {
            initial_window: InitialWindow::Segments(1),
            ..config(quick_acks)
        });
        pair.submit(0, 10_000);
        pair.run();
        pair.completed(0).expect("it ends")
    };
    assert!(time(0).since(time(16)) >= Duration::from_ms(40));
}
