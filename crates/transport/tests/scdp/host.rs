//! Tests of SCDP between two hosts.

use crate::pair::{A, B, Fate, Pair, Passage};
use crate::scdp_parts::{INTERVAL, T, WINDOW, config, header};
use tailcut_transport::scdp::{DecodeSpeed, Host, ModelCodec, ScdpConfig, ScdpHeader, ScdpKind};
use tailcut_transport::{
    Condition, Event, Header, Message, PathPin, Replication, Segment, Streams, Transport,
};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};

/// Returns the time to decode a block at the default rate, 1.3 Gb/s.
fn decode_time(symbols: u32) -> Duration {
    DecodeSpeed::paper().time(symbols, T as u32)
}

/// Returns two hosts with a one-way delay of 5 us.
/// `failure` contains the probabilities that decoding fails with 0, 1 and 2 symbols more than K.
fn scdp_failing(config: ScdpConfig, failure: [f64; 3]) -> Pair<Host<ModelCodec>> {
    let host = |id| {
        let codec = ModelCodec::new(failure, DecodeSpeed::paper(), u64::from(id));
        Host::new(HostId(id), config, codec).expect("a valid configuration")
    };
    Pair::new(host(0), host(1)).with_one_way(Duration::from_us(5))
}

fn scdp(config: ScdpConfig) -> Pair<Host<ModelCodec>> {
    scdp_failing(config, [0.0; 3])
}

fn is_symbol(passage: &Passage, block: u32, esi: u32) -> bool {
    let header = header(passage.segment);
    header.kind == ScdpKind::Symbol && (header.block, header.esi) == (block, esi)
}

/// Returns a fault that applies `fate` to each of `symbols` of block 0.
fn to_symbols(symbols: &[u32], fate: Fate) -> impl FnMut(&Passage) -> Fate + 'static {
    let symbols = symbols.to_vec();
    move |passage| {
        let hit = symbols.iter().any(|&esi| is_symbol(passage, 0, esi));
        if hit { fate } else { Fate::Deliver }
    }
}

/// Returns the times and segments of a kind that host `from` sent.
fn sent(pair: &Pair<Host<ModelCodec>>, from: usize, kind: ScdpKind) -> Vec<(Time, Segment)> {
    let all = pair.sent.iter().filter(|sent| sent.from == from);
    all.map(|sent| (sent.at, sent.segment))
        .filter(|(_, segment)| header(segment).kind == kind)
        .collect()
}

/// Returns the blocks and identifiers of the symbols that A sent, in order.
fn symbols(pair: &Pair<Host<ModelCodec>>) -> Vec<(u32, u32)> {
    let all = sent(pair, A, ScdpKind::Symbol);
    all.iter()
        .map(|(_, segment)| (header(segment).block, header(segment).esi))
        .collect()
}

fn decoded(pair: &Pair<Host<ModelCodec>>) -> u64 {
    pair.hosts[B].codec().decoded()
}

#[test]
fn without_loss_k_symbols_are_sent_for_k_less_w_pulls_and_nothing_is_decoded() {
    let mut pair = scdp(config());
    pair.submit(0, 50 * T - 7);
    pair.run();
    assert_eq!(
        symbols(&pair),
        (0..50).map(|esi| (0, esi)).collect::<Vec<_>>()
    );
    assert_eq!(pair.stats(0).payload_sent, 50 * T - 7, "no padding is sent");
    let pulls = sent(&pair, B, ScdpKind::Pull);
    assert_eq!(pulls.len(), 50 - WINDOW as usize);
    let fins: Vec<bool> = pulls.iter().map(|(_, pull)| header(pull).fin).collect();
    assert!(
        fins[..41].iter().all(|fin| !fin) && fins[41],
        "the last one"
    );
    assert!(
        pulls
            .windows(2)
            .all(|pair| pair[1].0.since(pair[0].0) >= INTERVAL),
        "pulls leave faster than symbols can arrive"
    );
    assert_eq!(decoded(&pair), 0);
    assert_eq!(sent(&pair, B, ScdpKind::Done).len(), 1);
    assert_eq!(
        pair.hosts[A].open_sessions() + pair.hosts[B].open_sessions(),
        0
    );
}

#[test]
fn a_short_flow_is_pushed_whole_and_done_one_way_after_its_last_byte() {
    let mut pair = scdp(config());
    pair.submit(0, 100);
    pair.run();
    let serialisation = Rate::from_gbps(10).serialisation(178);
    let arrival = Time::ZERO + serialisation + Duration::from_us(5);
    assert_eq!(pair.completed(0), Some(arrival));
    assert!(sent(&pair, B, ScdpKind::Pull).is_empty());
}

#[test]
fn any_symbol_of_the_window_opens_the_session_even_its_header() {
    for fate in [Fate::Drop, Fate::Trim] {
        let mut pair = scdp(config()).with_fault(to_symbols(&[0, 1, 2], fate));
        pair.submit(0, 40 * T);
        pair.run();
        assert!(pair.completed(0).is_some(), "{fate:?}");
    }
}

#[test]
fn a_header_costs_a_pull_and_two_more_symbols_and_never_a_retransmission() {
    let mut pair = scdp(config()).with_fault(to_symbols(&[3, 11], Fate::Trim));
    pair.submit(0, 50 * T);
    pair.run();
    let k = 50;
    assert_eq!(
        symbols(&pair),
        (0..k + 2 + 2).map(|esi| (0, esi)).collect::<Vec<_>>(),
        "source symbols, then repair symbols: one for each header and two for the code"
    );
    // Expected pulls (module `paper`): K minus the window, one for each header, and the overhead.
    let pulls = sent(&pair, B, ScdpKind::Pull).len();
    assert_eq!(pulls, (k - WINDOW + 2 + 2) as usize);
    assert_eq!(decoded(&pair), 1);
    assert_eq!(pair.stats(0).retransmissions, 4, "repair symbols");
}

#[test]
fn decoding_takes_its_time_before_the_flow_is_complete() {
    let mut pair = scdp(config()).with_fault(to_symbols(&[3], Fate::Trim));
    pair.submit(0, 50 * T);
    pair.run();
    let (last_at, last) = *sent(&pair, A, ScdpKind::Symbol).last().expect("symbols");
    assert_eq!(u64::from(last.payload), T);
    let last_arrival = last_at + INTERVAL + Duration::from_us(5);
    assert_eq!(pair.completed(0), Some(last_arrival + decode_time(50)));
}

#[test]
fn a_symbol_that_is_late_is_not_taken_for_lost() {
    let mut seen = false;
    let mut pair = scdp(config()).with_fault(move |passage| {
        if is_symbol(passage, 0, 49) && !seen {
            seen = true;
            return Fate::Late(Duration::from_us(100));
        }
        Fate::Deliver
    });
    pair.submit(0, 50 * T);
    pair.run();
    assert_eq!(decoded(&pair), 0);
    assert_eq!(symbols(&pair).len(), 50);
}

#[test]
fn a_symbol_that_comes_twice_counts_once() {
    let every: Vec<u32> = (0..30).collect();
    let twice = Fate::Duplicate(Duration::from_us(3));
    let mut pair = scdp(config()).with_fault(to_symbols(&every, twice));
    pair.submit(0, 30 * T);
    pair.run();
    let mut sent = symbols(&pair);
    sent.sort_unstable();
    sent.dedup();
    assert!(sent.len() >= 30, "at least 30 different symbols");
    assert_eq!(
        decoded(&pair),
        0,
        "30 arrivals of 15 different symbols are not enough"
    );
    let completed = |(_, _, event): &&(Time, usize, Event)| *event == Event::Completed(FlowId(0));
    assert_eq!(pair.events.iter().filter(completed).count(), 1);
}

#[test]
fn a_failed_decoding_pulls_one_symbol_and_is_tried_again() {
    let mut pair = scdp_failing(config(), [0.0, 0.0, 0.999]);
    pair.fault = Box::new(to_symbols(&[3], Fate::Trim));
    pair.submit(0, 50 * T);
    // With a failure probability of 0.999 decoding takes many attempts, so the test checks only the first few.
    let attempts = 5;
    pair.run_until(Time::ZERO + (decode_time(50) + Duration::from_us(15)) * attempts);
    let sent = symbols(&pair).len() as u64;
    assert!(
        (50 + 3 + attempts - 2..=50 + 3 + attempts).contains(&sent),
        "{sent}"
    );
    assert_eq!(pair.completed(0), None);
}

#[test]
fn blocks_are_decoded_while_later_ones_arrive_and_only_the_last_ones_time_is_added() {
    let blocks = ScdpConfig {
        block_symbols: 50,
        ..config()
    };
    // One symbol of every block is trimmed.
    let mut pair = scdp(blocks).with_fault(|passage| {
        let header = header(passage.segment);
        if header.kind == ScdpKind::Symbol && header.esi == 20 {
            Fate::Trim
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 50 * 10 * T);
    pair.run();
    assert_eq!(decoded(&pair), 10);
    assert_eq!(symbols(&pair).len(), 10 * 53);
    let last = sent(&pair, A, ScdpKind::Symbol).last().expect("symbols").0;
    let arrival = last + INTERVAL + Duration::from_us(5);
    assert_eq!(pair.completed(0), Some(arrival + decode_time(50)));
}

#[test]
fn more_blocks_than_the_code_numbers_are_no_limit() {
    let tiny = ScdpConfig {
        block_symbols: 2,
        ..config()
    };
    let mut pair = scdp(tiny);
    pair.submit(0, 1_000 * T);
    pair.run();
    assert_eq!(symbols(&pair).last(), Some(&(499, 1)));
    assert!(pair.completed(0).is_some());
}

#[test]
fn the_window_has_the_highest_class_then_bytes_sent_decide_and_fin_has_the_highest_again() {
    let mut pair = scdp(config());
    pair.submit(0, 100 * T);
    pair.run();
    let all = sent(&pair, A, ScdpKind::Symbol);
    let classes: Vec<u8> = all.iter().map(|(_, segment)| segment.priority).collect();
    assert!(classes[..8].iter().all(|class| *class == 0));
    // 8 symbols are 11,680 bytes, 69 are 100,740.
    assert!(
        classes[8..69].iter().all(|class| *class == 1),
        "{classes:?}"
    );
    assert!(classes[69..99].iter().all(|class| *class == 2));
    assert_eq!(classes[99], 0, "in answer to FIN");
}

/// Returns a host with two long flows, 1 and 2, and the short flow 0.
/// The host has pushed the windows of the long flows and has received pulls for 20 more symbols of each.
/// The short flow was submitted after the pulls for the long flows.
fn short_beside_two_long(in_order: bool) -> Host<ModelCodec> {
    let config = ScdpConfig {
        in_order,
        ..config()
    };
    let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1);
    let mut host = Host::new(HostId(0), config, codec).expect("a valid configuration");
    let submit = |host: &mut Host<ModelCodec>, flow, bytes| {
        let message = Message {
            flow: FlowId(flow),
            dst: HostId(1),
            bytes,
            path: PathPin::NONE,
            replication: Replication::AsConfigured,
        };
        host.submit(Time::ZERO, message);
    };
    submit(&mut host, 1, 1_000_000);
    submit(&mut host, 2, 1_000_000);
    let windows: Vec<Segment> = core::iter::from_fn(|| host.poll_transmit(Time::ZERO)).collect();
    assert_eq!(windows.len(), 2 * WINDOW as usize);
    for pushed in &windows[..2] {
        host.on_segment(Time::ZERO, pull_for(pushed, 20, false));
    }
    submit(&mut host, 0, 5 * T);
    host
}

/// Returns a pull for `pull` symbols of block 0. `symbol` is a symbol of the session.
fn pull_for(symbol: &Segment, pull: u32, fin: bool) -> Segment {
    Segment {
        tuple: symbol.tuple.reversed(),
        payload: 0,
        trimmable: false,
        condition: Condition::Whole,
        header: Header::Scdp(ScdpHeader {
            kind: ScdpKind::Pull,
            fin,
            pull,
            count: pull,
            ..ScdpHeader::default()
        }),
        ..*symbol
    }
}

fn next_flows(host: &mut Host<ModelCodec>, count: usize) -> Vec<u32> {
    let all = core::iter::from_fn(|| host.poll_transmit(Time::ZERO));
    all.take(count).map(|segment| segment.flow.0).collect()
}

#[test]
fn a_host_serves_its_own_classes_in_order_and_the_sessions_of_a_class_in_turn() {
    let mut host = short_beside_two_long(true);
    assert_eq!(next_flows(&mut host, 9), [0, 0, 0, 0, 0, 1, 2, 1, 2]);
    let mut host = short_beside_two_long(false);
    assert_eq!(next_flows(&mut host, 9), [1, 2, 0, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn a_pull_with_fin_lifts_a_session_that_waits_for_its_turn() {
    let mut host = short_beside_two_long(true);
    next_flows(&mut host, 5);
    let of_1 = host.poll_transmit(Time::ZERO).expect("the turn of flow 1");
    let of_2 = host.poll_transmit(Time::ZERO).expect("the turn of flow 2");
    assert_eq!((of_1.flow, of_2.flow), (FlowId(1), FlowId(2)));
    host.on_segment(Time::ZERO, pull_for(&of_2, 21, true));
    assert_eq!(next_flows(&mut host, 4), [2, 2, 2, 2]);
}

#[test]
fn every_pull_for_the_last_symbol_has_fin() {
    // The symbols that answer the pull with FIN are trimmed twice.
    let mut pair = scdp(config()).with_fault(to_symbols(&[29, 30, 31], Fate::Trim));
    pair.submit(0, 30 * T);
    pair.run();
    let pulls = sent(&pair, B, ScdpKind::Pull);
    let fins = pulls.iter().filter(|(_, pull)| header(pull).fin).count();
    assert!(fins >= 3, "{fins}");
    let answers = sent(&pair, A, ScdpKind::Symbol);
    assert!(
        answers[29..]
            .iter()
            .any(|(_, segment)| segment.priority == 0)
    );
    assert!(pair.completed(0).is_some());
}

#[test]
fn a_window_lost_without_a_trace_costs_the_sender_a_timeout() {
    let window: Vec<u32> = (0..WINDOW).collect();
    let mut pair = scdp(config()).with_fault(to_symbols(&window, Fate::Drop));
    pair.submit(0, 20 * T);
    pair.run();
    let timeouts = pair.stats(0).timeouts;
    assert!((1..=2).contains(&timeouts), "{timeouts}");
    let all = sent(&pair, A, ScdpKind::Symbol);
    assert!(header(&all[8].1).syn, "the symbol still opens the session");
    assert!(pair.completed(0).is_some());
}

#[test]
fn a_short_flow_lost_without_a_trace_is_sent_again_in_fresh_symbols() {
    let mut pair = scdp(config()).with_fault(to_symbols(&[0, 1], Fate::Drop));
    pair.submit(0, 2 * T);
    pair.run();
    assert!(pair.completed(0).is_some());
    assert!(symbols(&pair)[2..].iter().all(|(_, esi)| *esi >= 2));
}

#[test]
fn pulls_lost_without_a_trace_cost_the_receiver_a_timeout() {
    let mut pair = scdp(config()).with_fault(|passage| {
        let lost = passage.from == B && passage.now.as_ns() < 100_000;
        if lost { Fate::Drop } else { Fate::Deliver }
    });
    pair.submit(0, 40 * T);
    pair.run();
    let completed = pair.completed(0).expect("complete");
    let rto = Duration::from_ms(20);
    assert!(completed.since(Time::ZERO) > rto, "after a timeout");
    assert!(completed.since(Time::ZERO) < rto * 3 + decode_time(100));
}

#[test]
fn one_lost_pull_is_made_up_by_the_next_one() {
    let mut lost = 0;
    let mut pair = scdp(config()).with_fault(move |passage| {
        if header(passage.segment).kind == ScdpKind::Pull {
            lost += 1;
            if lost == 5 {
                return Fate::Drop;
            }
        }
        Fate::Deliver
    });
    pair.submit(0, 50 * T);
    pair.run();
    assert_eq!(pair.stats(0).timeouts, 0);
    assert_eq!(symbols(&pair).len(), 50);
}

#[test]
fn a_lost_last_word_is_repeated_for_a_sender_that_asks() {
    let mut lost = false;
    let mut pair = scdp(config()).with_fault(move |passage| {
        if header(passage.segment).kind == ScdpKind::Done && !lost {
            lost = true;
            return Fate::Drop;
        }
        Fate::Deliver
    });
    pair.submit(0, 3 * T);
    pair.run();
    assert_eq!(sent(&pair, B, ScdpKind::Done).len(), 2);
    assert_eq!(pair.stats(0).timeouts, 1);
    assert_eq!(pair.hosts[A].open_sessions(), 0);
    let completed = |(_, _, event): &&(Time, usize, Event)| *event == Event::Completed(FlowId(0));
    assert_eq!(pair.events.iter().filter(completed).count(), 1);
}

#[test]
fn either_end_gives_up_on_a_peer_that_has_vanished() {
    let few = ScdpConfig {
        max_timeouts: 3,
        ..config()
    };
    let mut pair = scdp(few).with_fault(|passage| {
        if passage.now.as_ns() < 20_000 {
            Fate::Deliver
        } else {
            Fate::Drop
        }
    });
    pair.submit(0, 100 * T);
    pair.run();
    let (_, _, end) = pair.events.last().expect("the end");
    assert!(matches!(end, Event::Failed(FlowId(0), _)), "{end:?}");
    assert_eq!(
        pair.hosts[A].open_sessions() + pair.hosts[B].open_sessions(),
        0
    );
}

#[test]
fn what_belongs_to_no_session_or_lies_beyond_its_end_is_counted_and_dropped() {
    let mut pair = scdp(config());
    pair.submit(0, 5 * T);
    pair.run_until(Time::from_ns(5_000));
    let window = sent(&pair, A, ScdpKind::Symbol);
    let (_, first) = window[0];
    assert!(header(&first).syn);
    let altered = |change: fn(&mut ScdpHeader)| {
        let mut header = header(&first);
        change(&mut header);
        Segment {
            header: Header::Scdp(header),
            ..first
        }
    };
    let now = Time::from_ns(10_000);
    let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1);
    let mut receiver = Host::new(HostId(1), config(), codec).expect("a valid configuration");
    receiver.on_segment(now, altered(|header| header.syn = false));
    assert_eq!(receiver.ignored(), 1, "it opens nothing");
    assert_eq!(
        (receiver.open_sessions(), receiver.poll_transmit(now)),
        (0, None)
    );

    receiver.on_segment(now, first);
    assert_eq!((receiver.ignored(), receiver.open_sessions()), (1, 1));
    receiver.on_segment(now, altered(|header| header.block = 1));
    assert_eq!(receiver.ignored(), 2, "the object has one block");
}

#[test]
fn a_message_that_becomes_ready_bit_by_bit_is_sent_as_far_as_it_is_ready() {
    let mut pair = scdp(config());
    let message = Message {
        flow: FlowId(0),
        dst: HostId(1),
        bytes: 200 * T,
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    };
    pair.act(A, |host, now| {
        host.report_arrivals();
        host.open(now, message, 0, false);
    });
    pair.run_until(Time::from_ns(1_000_000));
    assert_eq!(symbols(&pair), [], "nothing is ready");
    pair.act(A, |host, now| host.extend(now, FlowId(0), 100 * T));
    pair.run_until(Time::from_ns(2_000_000));
    let first = symbols(&pair).len();
    assert!((90..=100).contains(&first), "{first}");
    assert_eq!(pair.completed(0), None);
    pair.act(A, |host, now| host.extend(now, FlowId(0), 200 * T));
    pair.run();
    assert_eq!(symbols(&pair).len(), 200);
    assert!(pair.completed(0).is_some());
}

#[test]
fn a_message_that_is_refused_ends_at_its_sender_too() {
    let mut pair = scdp(config());
    let message = Message {
        flow: FlowId(0),
        dst: HostId(1),
        bytes: 1_000 * T,
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    };
    pair.act(B, |host, _| host.report_arrivals());
    pair.act(A, |host, now| {
        host.report_arrivals();
        host.open(now, message, 1_000 * T, false);
    });
    pair.run_until(Time::from_ns(500_000));
    pair.act(B, |host, now| host.refuse(now, FlowId(0)));
    let refused = pair.now;
    pair.run();
    let ended = pair.events.iter().find_map(|(at, host, event)| {
        (*host == A && matches!(event, Event::Closed(FlowId(0), _))).then_some(*at)
    });
    assert!(
        ended.is_some_and(|at| at < refused + Duration::from_us(50)),
        "{ended:?} {:?}",
        pair.events
    );
}

#[test]
fn of_a_message_whose_blocks_are_uneven_all_blocks_are_sent_that_are_ready() {
    let blocks = ScdpConfig {
        block_symbols: 3,
        ..config()
    };
    // 10 symbols in four blocks: two blocks have three, and two have two.
    let whole_blocks_within = [0, 0, 0, 3, 3, 3, 6, 6, 8, 8, 10];
    let message = Message {
        flow: FlowId(0),
        dst: HostId(1),
        bytes: 10 * T,
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    };
    for (ready, whole) in (0..).zip(whole_blocks_within) {
        let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1);
        let mut host = Host::new(HostId(0), blocks, codec).expect("a valid configuration");
        host.report_arrivals();
        host.open(Time::ZERO, message, ready * T, false);
        let pushed = core::iter::from_fn(|| host.poll_transmit(Time::ZERO)).count();
        assert_eq!(
            pushed,
            whole.min(WINDOW as usize),
            "{ready} symbols are ready"
        );
    }
}
