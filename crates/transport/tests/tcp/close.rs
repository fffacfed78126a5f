//! Tests of the close of connections: lost FINs, lost last ACKs, resets, and the removal of all state.

use crate::pair::{A, B, Fate, Pair, plain_config, tcp};
use tailcut_transport::Event;
use tailcut_transport::tcp::{Host, TcpFlags};
use tailcut_units::{Duration, FlowId, Time};

/// Returns a pair whose network loses the first FIN that `host` sends.
fn without_first_fin_of(host: usize) -> Pair<Host> {
    let mut first = true;
    tcp(&plain_config()).with_fault(move |passage| {
        let fin = passage.from == host && passage.has(TcpFlags::FIN);
        if fin && core::mem::take(&mut first) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    })
}

fn events_of(pair: &Pair<Host>, host: usize) -> Vec<Event> {
    pair.events
        .iter()
        .filter(|(_, at, _)| *at == host)
        .map(|(_, _, event)| *event)
        .collect()
}

#[test]
fn the_fin_rides_on_the_last_data_segment() {
    let mut pair = tcp(&plain_config());
    pair.submit(0, 2_500);
    pair.run();
    let fins: Vec<String> = pair
        .trace(1_000)
        .into_iter()
        .filter(|l| l.contains("FIN"))
        .collect();
    assert_eq!(fins, ["A FIN 2..2+500 ack 0", "B FIN ack 2+501"]);
}

#[test]
fn a_lost_fin_is_sent_again_with_its_data() {
    let mut pair = without_first_fin_of(A);
    pair.submit(0, 2_000);
    pair.run();
    assert!(pair.completed(0).expect("complete") > Time::ZERO + Duration::from_ms(200));
    assert_eq!(pair.stats(0).retransmissions, 1);
    assert_eq!(events_of(&pair, B), [Event::Completed(FlowId(0))]);
}

#[test]
fn a_lost_fin_of_the_receiver_delays_only_the_close() {
    let mut pair = without_first_fin_of(B);
    pair.submit(0, 2_000);
    pair.run();
    assert!(pair.completed(0).expect("complete") < Time::ZERO + Duration::from_ms(1));
    assert!(matches!(
        events_of(&pair, A)[..],
        [Event::Established(_), Event::Closed(..)]
    ));
    assert!(pair.hosts[A].endpoint().is_empty() && pair.hosts[B].endpoint().is_empty());
}

#[test]
fn a_closed_connection_acknowledges_a_fin_that_comes_again() {
    // The last ACK is lost. The peer sends its FIN again, and this FIN is acknowledged.
    let mut first = true;
    let mut pair = tcp(&plain_config()).with_fault(move |passage| {
        let last = passage.from == A && passage.header.ack == 1 && !passage.has(TcpFlags::RST);
        if last && core::mem::take(&mut first) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 2_000);
    pair.run();
    let trace = pair.trace(1_000);
    assert_eq!(
        trace[trace.len() - 3..],
        ["A ack 0+1", "B FIN ack 2+1", "A ack 0+1"]
    );
    assert!(pair.hosts[B].endpoint().is_empty());
}

#[test]
fn nothing_is_left_two_timeouts_after_the_close() {
    let mut pair = tcp(&plain_config());
    for flow in 0..50 {
        pair.submit(flow, 10_000);
    }
    pair.run_until(Time::ZERO + Duration::from_ms(10));
    assert!((0..50).all(|flow| pair.completed(flow).is_some()));
    assert_eq!(
        pair.hosts[A].endpoint().len(),
        50,
        "kept for old duplicates"
    );
    pair.run_until(Time::ZERO + Duration::from_ms(410));
    assert!(pair.hosts[A].endpoint().is_empty() && pair.hosts[B].endpoint().is_empty());
}

#[test]
fn a_peer_that_forgot_the_connection_resets_it() {
    let mut pair = tcp(&plain_config());
    pair.submit(0, 1_000_000);
    pair.run_until(Time::ZERO + Duration::from_us(500));
    pair.hosts[B] = Host::new(tailcut_units::HostId(1), plain_config()).expect("valid");
    pair.run();
    assert!(matches!(
        events_of(&pair, A)[..],
        [Event::Established(_), Event::Failed(..)]
    ));
    assert!(
        pair.sent
            .iter()
            .any(|s| s.from == B && s.header().flags.has(TcpFlags::RST))
    );
    assert!(pair.hosts[A].endpoint().is_empty());
}
