//! Tests of RepFlow and RepSYN between two hosts. The tests check the segments on each connection.
//! The tests also check that one connection is used when the other is slow, lossy, dead or late.

use crate::pair;

use pair::{A, B, Fate, Pair, Passage};
use tailcut_transport::repnet::{Host, Mode, RepNetConfig};
use tailcut_transport::tcp::{TcpConfig, TcpFlags};
use tailcut_transport::{Event, FlowStats, Message, PathPin, Replication, Transport};
use tailcut_units::{Duration, FlowId, HostId, Time};

const ACK: TcpFlags = TcpFlags::ACK;
const SYN: TcpFlags = TcpFlags::SYN;
const RST: TcpFlags = TcpFlags::RST;
/// First port of the service. The second connection uses the next port.
const FIRST: u16 = 80;
const SECOND: u16 = 81;

fn tcp() -> TcpConfig {
    TcpConfig {
        min_rto: Duration::from_ms(10),
        initial_rto: Duration::from_ms(50),
        max_rto: Duration::from_ms(100),
        delayed_ack: None,
        max_syn_retries: 3,
        max_data_retries: 5,
        ..TcpConfig::default()
    }
}

fn repnet(mode: Mode) -> RepNetConfig {
    RepNetConfig {
        mode,
        ..RepNetConfig::default()
    }
}

fn host(id: u32, config: RepNetConfig) -> Host {
    Host::new(HostId(id), tcp(), config).expect("a valid configuration")
}

fn pair(mode: Mode, fault: impl FnMut(&Passage) -> Fate + 'static) -> Pair<Host> {
    Pair::new(host(0, repnet(mode)), host(1, repnet(mode))).with_fault(fault)
}

/// Returns the port of the service in a segment of either direction.
fn port(passage: &Passage) -> u16 {
    let tuple = passage.segment.tuple;
    if passage.from == A {
        tuple.dst_port
    } else {
        tuple.src_port
    }
}

/// Returns a fault that delays all segments of one connection of a flow by `by`.
fn slow(slow: u16, by: Duration) -> impl FnMut(&Passage) -> Fate {
    move |passage| {
        if port(passage) == slow {
            Fate::Late(by)
        } else {
            Fate::Deliver
        }
    }
}

/// Returns a fault that loses all segments of one connection of a flow.
fn dead(dead: u16) -> impl FnMut(&Passage) -> Fate {
    move |passage| {
        if port(passage) == dead {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    }
}

fn submit(pair: &mut Pair<Host>, bytes: u64, replication: Replication, path: PathPin) {
    let message = Message {
        flow: FlowId(0),
        dst: HostId(1),
        bytes,
        path,
        replication,
    };
    pair.hosts[A].submit(pair.now, message);
}

/// Runs flow 0 of `bytes` to its end, and checks that it completed.
fn run(pair: &mut Pair<Host>, bytes: u64) -> FlowStats {
    pair.submit(0, bytes);
    pair.run();
    ended(pair)
}

/// Checks that each event of flow 0 was reported once, at the right host, and that no state of the flow remains.
fn ended(pair: &Pair<Host>) -> FlowStats {
    let count = |wanted: fn(&Event) -> bool, at: usize| {
        let found = |(_, host, event): &&(Time, usize, Event)| *host == at && wanted(event);
        pair.events.iter().filter(found).count()
    };
    assert_eq!(count(|e| matches!(e, Event::Established(_)), A), 1);
    assert_eq!(count(|e| matches!(e, Event::Completed(_)), B), 1);
    assert_eq!(count(|e| matches!(e, Event::Closed(..)), A), 1);
    assert_eq!(pair.events.len(), 3, "{:?}", pair.events);
    for host in &pair.hosts {
        assert!(host.endpoint().is_empty());
        assert!(host.endpoint().tcp().is_empty());
    }
    pair.stats(0)
}

/// Returns the completion time of flow 0 of `bytes` over one plain connection without faults.
fn alone(bytes: u64) -> Option<Time> {
    let mut pair = pair(Mode::RepFlow, |_| Fate::Deliver);
    submit(&mut pair, bytes, Replication::Off, PathPin::NONE);
    pair.run();
    assert_eq!(ended(&pair).copies, 1);
    pair.completed(0)
}

/// Returns the number of payload bytes that host A sent to `port`.
fn payload_to(pair: &Pair<Host>, port: u16) -> u64 {
    let sent = pair.sent.iter().map(|sent| sent.segment);
    sent.filter(|segment| segment.tuple.src == HostId(0) && segment.tuple.dst_port == port)
        .map(|segment| u64::from(segment.payload))
        .sum()
}

/// Returns the number of segments with `flags` that host `from` sent over the connection at `port`.
fn flagged(pair: &Pair<Host>, from: usize, port: u16, flags: TcpFlags) -> usize {
    let of = |sent: &&pair::Sent| {
        let tuple = sent.segment.tuple;
        let at = if from == A {
            tuple.dst_port
        } else {
            tuple.src_port
        };
        sent.from == from && at == port && sent.header().flags.has(flags)
    };
    pair.sent.iter().filter(of).count()
}

#[test]
fn both_connections_of_a_flow_differ_in_the_destination_port_only() {
    let mut pair = pair(Mode::RepFlow, |_| Fate::Deliver);
    run(&mut pair, 20_000);
    let syns = pair
        .sent
        .iter()
        .filter(|s| s.from == A && s.header().flags == SYN);
    let tuples: Vec<_> = syns.map(|sent| sent.segment.tuple).collect();
    let [first, second] = tuples[..] else {
        panic!("two SYNs, not {tuples:?}");
    };
    assert_eq!((first.dst_port, second.dst_port), (FIRST, SECOND));
    let mut same = second;
    same.dst_port = FIRST;
    assert_eq!(first, same);
}

#[test]
fn repflow_sends_everything_twice_and_completes_once() {
    let mut pair = pair(Mode::RepFlow, |_| Fate::Deliver);
    let stats = run(&mut pair, 20_000);
    assert_eq!(payload_to(&pair, FIRST), 20_000);
    assert_eq!(payload_to(&pair, SECOND), 20_000);
    assert_eq!((stats.copies, stats.payload_sent), (2, 40_000));
    assert_eq!((stats.retransmissions, stats.timeouts), (0, 0));
}

#[test]
fn the_first_complete_copy_counts_and_the_other_runs_to_its_end() {
    for late in [FIRST, SECOND] {
        let mut pair = pair(Mode::RepFlow, slow(late, Duration::from_us(30)));
        run(&mut pair, 90_000);
        assert_eq!(payload_to(&pair, late), 90_000);
        let completed = pair.completed(0).expect("a copy");
        let last = pair.sent.iter().rfind(|sent| sent.segment.payload > 0);
        let last = last.expect("payload");
        assert_eq!(last.segment.tuple.dst_port, late);
        let plain = alone(90_000).expect("a copy");
        // The two copies share a NIC, so a copy is slightly slower than a single flow.
        assert!(completed >= plain && completed < plain + Duration::from_us(80));
    }
}

#[test]
fn repsyn_sends_over_the_connection_that_answers_first_and_resets_the_other_at_once() {
    for (late, early) in [(FIRST, SECOND), (SECOND, FIRST)] {
        for slow_way in [A, B] {
            let mut pair = pair(Mode::RepSyn, move |passage: &Passage| {
                if port(passage) == late && passage.from == slow_way {
                    Fate::Late(Duration::from_us(400))
                } else {
                    Fate::Deliver
                }
            });
            let stats = run(&mut pair, 20_000);
            assert_eq!(payload_to(&pair, early), 20_000);
            assert_eq!(payload_to(&pair, late), 0);
            assert_eq!((stats.copies, stats.payload_sent), (2, 20_000));
            let reset = pair.sent.iter().find(|sent| sent.header().flags == RST);
            let reset = reset.expect("a reset");
            assert_eq!(reset.segment.tuple.dst_port, late);
            let established = pair.events[0];
            assert_eq!(established.2, Event::Established(FlowId(0)));
            assert_eq!(reset.at, established.0, "the reset does not wait");
        }
    }
}

#[test]
fn repsyn_costs_a_flow_no_time_where_both_paths_are_alike() {
    let mut pair = pair(Mode::RepSyn, |_| Fate::Deliver);
    run(&mut pair, 20_000);
    let repsyn = pair.completed(0).expect("a copy");
    let plain = alone(20_000).expect("a copy");
    // A reset of 78 bytes leaves before the data, so the flow takes slightly longer.
    assert!(repsyn >= plain && repsyn < plain + Duration::from_us(1));
}

#[test]
fn loss_on_one_path_is_masked_by_the_other() {
    for mode in [Mode::RepFlow, Mode::RepSyn] {
        for broken in [FIRST, SECOND] {
            let mut pair = pair(mode, dead(broken));
            let stats = run(&mut pair, 20_000);
            let completed = pair.completed(0).expect("a copy");
            let plain = alone(20_000).expect("a copy");
            assert!(
                completed < plain + Duration::from_us(1),
                "{mode:?} {broken}"
            );
            assert_eq!((stats.copies, stats.payload_sent), (2, 20_000));
        }
    }
}

#[test]
fn a_connection_that_breaks_in_the_middle_is_not_noticed() {
    for broken in [FIRST, SECOND] {
        let mut pair = pair(Mode::RepFlow, move |passage: &Passage| {
            if port(passage) == broken && passage.header.offset > 0 {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        });
        let stats = run(&mut pair, 20_000);
        let completed = pair.completed(0).expect("a copy");
        let plain = alone(20_000).expect("a copy");
        assert!(completed < plain + Duration::from_us(20));
        // The other connection retransmits until it fails. Its load is a cost of the flow.
        assert_eq!(stats.timeouts, 6);
    }
}

#[test]
fn a_flow_fails_once_when_both_connections_have() {
    for mode in [Mode::RepFlow, Mode::RepSyn] {
        let mut pair = pair(mode, |_| Fate::Drop);
        pair.submit(0, 20_000);
        pair.run();
        let [(_, A, Event::Failed(FlowId(0), stats))] = pair.events[..] else {
            panic!("one failure, not {:?}", pair.events);
        };
        assert_eq!((stats.copies, stats.payload_sent), (2, 0));
        assert_eq!(flagged(&pair, A, FIRST, SYN), 4);
        assert_eq!(flagged(&pair, A, SECOND, SYN), 4);
        assert!(pair.hosts[A].endpoint().is_empty());
    }
}

#[test]
fn flows_of_the_limit_and_above_take_one_connection() {
    let copies = |bytes| {
        let mut pair = pair(Mode::RepFlow, |_| Fate::Deliver);
        run(&mut pair, bytes).copies
    };
    assert_eq!(copies(99_999), 2);
    assert_eq!(copies(100_000), 1);
    assert_eq!(copies(2_000_000), 1);
}

#[test]
fn a_message_may_choose_for_itself() {
    for (bytes, replication, copies, payload) in [
        (20_000, Replication::Off, 1, 20_000),
        (20_000, Replication::RepFlow, 2, 40_000),
        (20_000, Replication::RepSyn, 2, 20_000),
        (200_000, Replication::RepFlow, 2, 400_000),
        (200_000, Replication::RepSyn, 2, 200_000),
        (200_000, Replication::AsConfigured, 1, 200_000),
    ] {
        let mut pair = pair(Mode::RepFlow, |_| Fate::Deliver);
        submit(&mut pair, bytes, replication, PathPin::NONE);
        pair.run();
        let stats = ended(&pair);
        assert_eq!((stats.copies, stats.payload_sent), (copies, payload));
    }
}

#[test]
fn a_flow_without_bytes_is_a_probe_of_the_handshake() {
    for mode in [Mode::RepFlow, Mode::RepSyn] {
        let mut pair = pair(mode, |_| Fate::Deliver);
        assert_eq!(run(&mut pair, 0).payload_sent, 0);
    }
}

#[test]
fn both_connections_of_a_pinned_flow_keep_its_path() {
    let mut pair = pair(Mode::RepFlow, |_| Fate::Deliver);
    let path = PathPin::to(2);
    submit(&mut pair, 20_000, Replication::RepFlow, path);
    pair.run();
    ended(&pair);
    assert!(pair.sent.iter().all(|sent| sent.segment.path == path));
}

/// Fate of a segment: the client receives the second SYN-ACK while the first connection is busy.
/// The client's answer reaches the server after the first connection has closed.
fn second_handshake_ends_late(passage: &Passage) -> Fate {
    if port(passage) == SECOND && passage.from == A && !passage.has(SYN) {
        Fate::Late(Duration::from_us(500))
    } else {
        Fate::Deliver
    }
}

#[test]
fn a_flow_that_ends_before_its_second_connection_is_accepted_is_not_run_again() {
    let mut pair = pair(Mode::RepFlow, second_handshake_ends_late);
    let stats = run(&mut pair, 20_000);
    assert_eq!(
        (stats.copies, stats.payload_sent),
        (2, 40_000),
        "the load of the second connection is a cost of the flow"
    );
    let server = pair.hosts[B].endpoint();
    assert_eq!((server.late(), server.tombstones()), (0, 0));
}

#[test]
fn a_flow_that_ends_before_its_second_connection_is_opened_is_not_run_again() {
    let mut pair = pair(Mode::RepFlow, slow(SECOND, Duration::from_ms(3)));
    let stats = run(&mut pair, 20_000);
    assert_eq!((stats.copies, stats.payload_sent), (2, 40_000));
    let closed = pair.events.last().expect("the end").0;
    assert!(
        closed > Time::ZERO + Duration::from_ms(6),
        "the flow closes after the end of the slower connection"
    );
}

#[test]
fn a_handshake_that_ends_after_the_flow_and_its_timeout_is_turned_away() {
    let mut pair = Pair::new(
        host(0, waiting(Duration::from_ms(1_000))),
        host(1, waiting(Duration::from_us(400))),
    )
    .with_fault(second_handshake_ends_late);
    let stats = run(&mut pair, 1_000);
    assert_eq!(stats.copies, 2);
    let server = pair.hosts[B].endpoint();
    assert_eq!((server.late(), server.tombstones()), (1, 0));
}

/// Returns whether a segment is lost. Before 200 ms, the first connection loses all data except its first segment.
fn stalled_until_200_ms(passage: &Passage) -> bool {
    port(passage) == FIRST
        && passage.header.offset > 0
        && passage.now < Time::ZERO + Duration::from_ms(200)
}

/// Returns whether a segment is lost. Only the first SYN of the second connection is lost.
fn lose_second_syn(passage: &Passage) -> bool {
    port(passage) == SECOND && passage.has(SYN) && passage.now < Time::ZERO + Duration::from_ms(10)
}

fn stalled_with_a_lost_syn(passage: &Passage) -> Fate {
    if stalled_until_200_ms(passage) || lose_second_syn(passage) {
        Fate::Drop
    } else {
        Fate::Deliver
    }
}

#[test]
fn a_second_syn_that_comes_back_in_time_still_helps() {
    let mut pair = pair(Mode::RepFlow, stalled_with_a_lost_syn);
    run(&mut pair, 20_000);
    let completed = pair.completed(0).expect("a copy");
    assert!(completed > Time::ZERO + Duration::from_ms(50));
    assert!(completed < Time::ZERO + Duration::from_ms(51));
    assert_eq!(pair.hosts[B].endpoint().late(), 0);
}

fn waiting(timeout: Duration) -> RepNetConfig {
    RepNetConfig {
        waiting_list_timeout: timeout,
        ..RepNetConfig::default()
    }
}

#[test]
fn a_second_syn_that_comes_back_after_the_waiting_lists_timeout_is_turned_away() {
    let client = host(0, waiting(Duration::from_ms(1_000)));
    let server = host(1, waiting(Duration::from_ms(20)));
    let mut pair = Pair::new(client, server).with_fault(stalled_with_a_lost_syn);
    let stats = run(&mut pair, 20_000);
    assert_eq!(stats.copies, 2);
    assert_eq!(pair.hosts[B].endpoint().late(), 1);
    let completed = pair.completed(0).expect("a copy");
    assert!(
        completed > Time::ZERO + Duration::from_ms(200),
        "the first connection continued"
    );
}

#[test]
fn a_handshake_that_outlasts_every_memory_of_its_flow_is_not_a_new_flow() {
    for another_flow_comes in [false, true] {
        // The SYN of the second connection arrives.
        // For 20 ms no later segment of the client arrives on the second connection.
        let mut pair = Pair::new(
            host(0, waiting(Duration::from_ms(1_000))),
            host(1, waiting(Duration::from_ms(1))),
        )
        .with_fault(|passage: &Passage| {
            let early = passage.now < Time::ZERO + Duration::from_ms(20);
            let of_flow_0 = passage.segment.flow == FlowId(0);
            if early
                && of_flow_0
                && port(passage) == SECOND
                && passage.from == A
                && !passage.has(SYN)
            {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        });
        pair.submit(0, 20_000);
        pair.run_until(Time::ZERO + Duration::from_ms(5));
        if another_flow_comes {
            pair.submit(1, 20_000);
        }
        pair.run();
        let completions = pair
            .events
            .iter()
            .filter(|e| e.2 == Event::Completed(FlowId(0)));
        assert_eq!(completions.count(), 1);
        assert_eq!(pair.hosts[B].endpoint().late(), 1);
        assert_eq!(pair.stats(0).copies, 2);
    }
}

#[test]
fn a_client_stops_trying_when_the_server_no_longer_waits() {
    let timeout = Duration::from_ms(20);
    let mut pair = Pair::new(host(0, waiting(timeout)), host(1, waiting(timeout)))
        .with_fault(stalled_with_a_lost_syn);
    run(&mut pair, 20_000);
    assert_eq!(flagged(&pair, A, SECOND, SYN), 1);
    assert_eq!(flagged(&pair, A, SECOND, RST), 1);
    assert_eq!(pair.hosts[B].endpoint().late(), 0);
}

#[test]
fn a_plain_flow_may_last_longer_than_the_waiting_list() {
    let timeout = Duration::from_us(100);
    let mut pair = Pair::new(host(0, waiting(timeout)), host(1, waiting(timeout)));
    assert_eq!(run(&mut pair, 5_000_000).copies, 1);
}

#[test]
fn repsyn_leaves_a_tombstone_that_needs_no_timer() {
    let mut pair = pair(Mode::RepSyn, |_| Fate::Deliver);
    run(&mut pair, 20_000);
    let server = pair.hosts[B].endpoint();
    assert_eq!((server.tombstones(), server.next_timeout()), (1, None));
}

#[test]
fn many_flows_at_once_keep_apart() {
    let mut pair = pair(Mode::RepFlow, |_| Fate::Deliver);
    for flow in 0..50 {
        pair.submit(flow, 1_000 * u64::from(flow));
    }
    pair.run();
    for flow in 0..50 {
        assert!(pair.completed(flow).is_some());
        assert_eq!(pair.stats(flow).payload_sent, 2_000 * u64::from(flow));
    }
    let completions = pair.events.iter().filter(|(_, host, _)| *host == B).count();
    assert_eq!(completions, 50);
}

#[test]
fn a_lost_acknowledgment_of_a_handshake_holds_nothing_up() {
    let mut pair = pair(Mode::RepFlow, |passage: &Passage| {
        let first = passage.from == A && passage.header.flags == ACK;
        if first && port(passage) == FIRST && passage.segment.payload == 0 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    assert_eq!(run(&mut pair, 20_000).copies, 2);
}

#[test]
fn parameters_out_of_range_are_named() {
    let config = waiting(Duration::ZERO);
    let error = Host::new(HostId(0), tcp(), config).expect_err("no time to wait");
    assert_eq!(error.key, "waiting_list_timeout");
}
