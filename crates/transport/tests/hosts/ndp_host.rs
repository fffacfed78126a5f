//! Tests of NDP between two hosts, and with two senders and one receiver.

use crate::ndp_parts::{header, is, once};
use crate::pair::{A, B, Fate, Pair};
use tailcut_transport::ndp::{Host, NdpConfig, NdpHeader, NdpKind};
use tailcut_transport::{
    Condition, Demotion, Event, Header, Message, PathPin, Replication, Segment, Transport,
};
use tailcut_units::{Duration, FlowId, HostId, Time};

const MSS: u64 = 1_460;
const WINDOW: u64 = 8;
/// Duration of a full packet at 10 Gb/s.
const INTERVAL: Duration = Duration::from_ps(1_230_400);

fn config() -> NdpConfig {
    NdpConfig {
        initial_window: WINDOW as u32,
        ..NdpConfig::default()
    }
}

fn host(id: u32, config: NdpConfig) -> Host {
    Host::new(HostId(id), config).expect("a valid configuration")
}

/// Returns two NDP hosts. The one-way delay is 5 us, so a round trip takes about as long as the window.
fn ndp(config: NdpConfig) -> Pair<Host> {
    Pair::new(host(0, config), host(1, config)).with_one_way(Duration::from_us(5))
}

/// Returns the times and headers of the packets of a kind that host `from` sent.
fn sent(pair: &Pair<Host>, from: usize, kind: NdpKind) -> Vec<(Time, NdpHeader)> {
    let all = pair.sent.iter().filter(|sent| sent.from == from);
    all.map(|sent| (sent.at, header(&sent.segment)))
        .filter(|(_, header)| header.kind == kind)
        .collect()
}

fn data_indices(pair: &Pair<Host>) -> Vec<u64> {
    let data = sent(pair, A, NdpKind::Data);
    data.iter().map(|(_, header)| header.index).collect()
}

#[test]
fn a_window_leaves_at_line_rate_without_a_handshake_and_any_packet_of_it_opens_the_flow() {
    let mut pair = ndp(config()).with_fault(once(&[0, 1, 2], Fate::Drop));
    pair.submit(0, 6 * MSS + 1);
    pair.run_until(Time::from_ns(12_000));
    let data = sent(&pair, A, NdpKind::Data);
    assert_eq!(data.len(), 7);
    for (i, (at, header)) in data.iter().enumerate() {
        assert_eq!(*at, Time::ZERO + INTERVAL * i as u64);
        assert!(header.first_window);
        assert_eq!((header.index, header.last), (i as u64, i == 6));
    }
    assert!(
        !sent(&pair, B, NdpKind::Ack).is_empty(),
        "opened by packet 3"
    );
    pair.run();
    assert!(pair.completed(0).is_some());
}

#[test]
fn a_flow_within_the_window_is_done_one_way_after_its_last_byte() {
    let mut pair = ndp(config());
    pair.submit(0, 3 * MSS);
    pair.run();
    let arrival = Time::ZERO + INTERVAL * 3 + Duration::from_us(5);
    assert_eq!(pair.completed(0), Some(arrival));
    let stats = pair.stats(0);
    assert_eq!((stats.payload_sent, stats.retransmissions), (3 * MSS, 0));
    assert_eq!(pair.hosts[A].open_flows() + pair.hosts[B].open_flows(), 0);
}

#[test]
fn after_the_window_every_packet_answers_a_pull_and_pulls_keep_the_rate_of_the_link() {
    let mut pair = ndp(config());
    pair.submit(0, 100 * MSS);
    pair.run();
    assert_eq!(data_indices(&pair), (0..100).collect::<Vec<_>>());
    let answers: Vec<_> = pair.sent.iter().filter(|sent| sent.from == B).collect();
    let mut asked_at = Vec::new();
    let mut count = 0;
    for answer in answers {
        let pull = header(&answer.segment).pull;
        assert!(pull == count || pull == count + 1, "one at a time");
        if pull > count {
            asked_at.push(answer.at);
            count = pull;
        }
    }
    assert!(asked_at.len() >= 92);
    assert!(
        asked_at
            .windows(2)
            .all(|pair| pair[1].since(pair[0]) >= INTERVAL),
        "pulls leave faster than packets can arrive"
    );
}

#[test]
fn a_header_is_nacked_at_once_and_its_packet_is_resent_by_the_next_pull_before_new_data() {
    let mut pair = ndp(config()).with_fault(once(&[2], Fate::Trim));
    pair.submit(0, 20 * MSS);
    pair.run();
    let nacks = sent(&pair, B, NdpKind::Nack);
    assert_eq!(nacks.len(), 1);
    assert_eq!(nacks[0].1.index, 2);
    let trimmed_arrival = Time::ZERO + INTERVAL * 3 + Duration::from_us(5);
    assert!(nacks[0].0.since(trimmed_arrival) < INTERVAL);
    let order = data_indices(&pair);
    let again = order.iter().rposition(|&index| index == 2).expect("resent");
    // The pulls of packets 0 and 1 requested packets 8 and 9.
    assert_eq!(order[again - 2..=again], [8, 9, 2]);
    let stats = pair.stats(0);
    assert_eq!((stats.retransmissions, stats.timeouts), (1, 0));
}

#[test]
fn a_pull_that_overtakes_the_nack_of_its_packet_is_not_lost() {
    // The flow has no new data to send. The NACK is late, but the pull for the trimmed header arrives before it.
    let mut trim = once(&[3], Fate::Trim);
    let mut pair = ndp(config()).with_fault(move |passage| {
        if is(passage, NdpKind::Nack, 3) {
            return Fate::Late(Duration::from_us(50));
        }
        trim(passage)
    });
    pair.submit(0, 5 * MSS);
    pair.run();
    let stats = pair.stats(0);
    assert_eq!((stats.retransmissions, stats.timeouts), (1, 0));
    assert!(pair.completed(0).expect("complete") < Time::from_ns(100_000));
}

#[test]
fn pulls_that_are_lost_are_made_up_by_the_next_one() {
    let mut pair = ndp(config()).with_fault(|passage| {
        let lost = passage.from == B && (20_000..25_000).contains(&passage.now.as_ns());
        if lost { Fate::Drop } else { Fate::Deliver }
    });
    pair.submit(0, 60 * MSS);
    pair.run();
    let stats = pair.stats(0);
    assert_eq!((stats.retransmissions, stats.timeouts), (0, 0));
    assert_eq!(pair.hosts[A].open_flows(), 0);
    // The number of packets that leave together after the gap equals the number that was in flight before the gap.
    let data = sent(&pair, A, NdpKind::Data);
    let back_to_back = data
        .windows(5)
        .any(|burst| burst[4].0.since(burst[0].0) == INTERVAL * 4);
    assert!(back_to_back);
}

#[test]
fn a_whole_window_that_comes_back_is_started_again_without_a_timeout() {
    let every: Vec<u64> = (0..WINDOW).collect();
    let mut pair = ndp(config()).with_fault(once(&every, Fate::Return));
    pair.submit(0, 20 * MSS);
    pair.run();
    let stats = pair.stats(0);
    assert_eq!((stats.retransmissions, stats.timeouts), (WINDOW as u32, 0));
    assert!(pair.completed(0).is_some());
}

#[test]
fn a_header_that_comes_back_waits_for_a_pull_while_pulls_are_expected() {
    let mut pair = ndp(config()).with_fault(once(&[1], Fate::Return));
    pair.submit(0, 40 * MSS);
    pair.run();
    let order = data_indices(&pair);
    let again = order.iter().rposition(|&index| index == 1).expect("resent");
    let resent_at = sent(&pair, A, NdpKind::Data)[again].0;
    let first_pull = sent(&pair, B, NdpKind::Ack)[0].0 + Duration::from_us(5);
    assert!(
        resent_at > first_pull,
        "the packet left at {resent_at}, before the first pull at {first_pull}"
    );
    assert_eq!(pair.stats(0).timeouts, 0);
}

#[test]
fn a_lost_last_ack_costs_the_sender_a_timeout_and_the_application_nothing() {
    let mut lost = 0;
    let mut pair = ndp(config()).with_fault(move |passage| {
        if passage.from == B && lost < 2 {
            lost += 1;
            return Fate::Drop;
        }
        Fate::Deliver
    });
    pair.submit(0, 2 * MSS);
    pair.run();
    let completions = pair
        .events
        .iter()
        .filter(|(_, _, event)| *event == Event::Completed(FlowId(0)));
    assert_eq!(completions.count(), 1);
    let stats = pair.stats(0);
    assert_eq!((stats.retransmissions, stats.timeouts), (1, 1));
    let closed_at = pair.events.last().expect("closed").0;
    assert!(
        closed_at >= Time::ZERO + Duration::from_ms(20),
        "the initial RTO"
    );
}

#[test]
fn a_receiver_that_never_answers_is_given_up() {
    let config = NdpConfig {
        max_timeouts: 3,
        ..config()
    };
    let mut pair = ndp(config).with_fault(|_| Fate::Drop);
    pair.submit(0, 5 * MSS);
    pair.run();
    let (at, _, event) = pair.events.last().expect("the end");
    assert!(matches!(event, Event::Failed(FlowId(0), _)), "{event:?}");
    // The timeouts are 20, 40, 80 and 160 ms.
    assert!(at.since(Time::ZERO) >= Duration::from_ms(300));
    assert_eq!(pair.hosts[A].open_flows(), 0);
}

#[test]
fn old_packets_of_a_finished_flow_do_not_open_it_again() {
    let mut pair = ndp(config());
    pair.submit(0, 2 * MSS);
    pair.run();
    let old = pair.sent[0].segment;
    assert!(header(&old).first_window);
    let late = pair.now + Duration::from_ms(1);
    pair.hosts[B].on_segment(late, old);
    assert_eq!(pair.hosts[B].open_flows(), 0);
    assert_eq!(pair.hosts[B].poll_event(), None);
    let answer = pair.hosts[B].poll_transmit(late).expect("an ACK");
    assert_eq!(header(&answer).cumulative, 2, "of everything");
}

#[test]
fn addresses_are_free_again_after_the_time_wait() {
    let mut pair = ndp(config());
    for flow in 0..50 {
        pair.submit(flow, MSS);
    }
    pair.run();
    assert_eq!(pair.hosts[B].remembered_flows(), 50);
    pair.run_until(pair.now + Duration::from_ms(400));
    pair.submit(50, MSS);
    pair.run();
    assert_eq!(pair.hosts[A].remembered_flows(), 1);
    assert_eq!(pair.hosts[B].remembered_flows(), 1);
}

/// Returns the packets of a window from host `id` to host 9.
fn window_from(id: u32, packets: u64) -> Vec<Segment> {
    let mut sender = host(id, config());
    sender.submit(
        Time::ZERO,
        Message {
            flow: FlowId(id),
            dst: HostId(9),
            bytes: packets * MSS,
            path: PathPin::NONE,
            replication: Replication::AsConfigured,
        },
    );
    core::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).collect()
}

#[test]
fn what_belongs_to_no_flow_or_lies_beyond_its_end_is_counted_and_dropped() {
    let window = window_from(1, 3);
    let altered = |change: fn(&mut NdpHeader)| {
        let mut header = header(&window[2]);
        change(&mut header);
        Segment {
            header: Header::Ndp(header),
            ..window[2]
        }
    };
    let mut receiver = host(9, config());
    let now = Time::from_ns(1_000);
    let stray = altered(|header| header.first_window = false);
    receiver.on_segment(now, stray);
    assert_eq!(receiver.ignored(), 1, "of no flow");
    receiver.on_segment(now, altered(|header| header.kind = NdpKind::Ack));
    assert_eq!(receiver.ignored(), 2, "answers nothing");
    assert_eq!(receiver.poll_transmit(now), None);

    receiver.on_segment(now, window[2]);
    assert!(receiver.poll_transmit(now).is_some(), "an ACK");
    receiver.on_segment(now, altered(|header| header.index = 3));
    assert_eq!(receiver.ignored(), 3, "the flow has three packets");
    receiver.on_segment(now, window[0]);
    assert_eq!(receiver.ignored(), 3);
}

#[test]
fn flows_take_turns_in_the_pull_queue_whoever_came_first() {
    let mut receiver = host(9, config());
    let now = Time::from_ns(1_000);
    for segment in window_from(1, 100).into_iter().chain(window_from(2, 100)) {
        receiver.on_segment(now, segment);
    }
    while receiver.poll_transmit(now).is_some() {}
    let mut turns = Vec::new();
    for _ in 0..10 {
        let at = receiver.next_timeout().expect("pulls wait");
        receiver.on_timeout(at);
        let pull = receiver.poll_transmit(at).expect("a pull");
        assert_eq!(header(&pull).kind, NdpKind::Pull);
        turns.push(pull.tuple.dst.0);
    }
    assert_eq!(turns, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn once_the_end_is_known_no_more_pulls_wait_than_packets_are_missing() {
    let mut receiver = host(9, config());
    let now = Time::from_ns(1_000);
    let mut packets = window_from(1, 8);
    let missing = packets.remove(3);
    for segment in packets {
        receiver.on_segment(now, segment);
    }
    let mut pulls = 0;
    while let Some(at) = receiver.next_timeout() {
        receiver.on_timeout(at);
        while let Some(segment) = receiver.poll_transmit(at) {
            pulls += u32::from(header(&segment).kind == NdpKind::Pull);
        }
    }
    assert_eq!(pulls, 1);
    receiver.on_segment(now + Duration::from_us(50), missing);
    assert_eq!(receiver.poll_event(), Some(Event::Completed(FlowId(1))));
    assert_eq!(receiver.next_timeout(), None, "nothing is pulled any more");
}

#[test]
fn packets_take_all_paths_in_turn_and_a_pinned_flow_its_own() {
    let many = NdpConfig {
        paths: 4,
        ..config()
    };
    let mut pair = ndp(many);
    pair.submit(0, 8 * MSS);
    pair.run();
    let data: Vec<_> = pair.sent.iter().filter(|sent| sent.from == A).collect();
    for round in data[..8].chunks(4) {
        let mut paths: Vec<_> = round.iter().map(|sent| sent.segment.path.index()).collect();
        paths.sort_unstable();
        assert_eq!(paths, [Some(0), Some(1), Some(2), Some(3)]);
    }
    let mut pair = ndp(many);
    pair.hosts[A].submit(
        pair.now,
        Message {
            flow: FlowId(0),
            dst: HostId(1),
            bytes: 30 * MSS,
            path: PathPin::to(2),
            replication: Replication::AsConfigured,
        },
    );
    pair.run();
    assert!(
        pair.sent
            .iter()
            .all(|sent| sent.segment.path == PathPin::to(2))
    );
}

/// Returns a configuration of NDP+ with class boundaries at 10,000 and 20,000 bytes.
fn plus() -> NdpConfig {
    NdpConfig {
        demotion: Demotion::at(&[10_000, 20_000]).expect("ascending"),
        ..config()
    }
}

#[test]
fn ndp_plus_goes_down_in_class_by_the_bytes_it_has_sent_those_sent_again_too_if_so_wished() {
    for resends_count in [true, false] {
        let plus = NdpConfig {
            resends_count,
            ..plus()
        };
        let mut pair = ndp(plus).with_fault(once(&[0], Fate::Trim));
        pair.submit(0, 20 * MSS);
        pair.run();
        let data = pair.sent.iter().filter(|sent| sent.from == A);
        let (mut counted, mut again) = (0, 0);
        for (place, sent) in data.enumerate() {
            // 7 packets are 10,220 bytes, 14 are 20,440.
            let class = (counted / 7).min(2) as u8;
            assert_eq!(sent.segment.priority, class, "packet {place}");
            let is_again = header(&sent.segment).index < place as u64 - again;
            again += u64::from(is_again);
            counted += u64::from(resends_count || !is_again);
        }
        assert_eq!(again, 1, "one was trimmed");
        let control = pair.sent.iter().filter(|sent| sent.from == B);
        for sent in control {
            assert!(!sent.segment.trimmable && sent.segment.condition == Condition::Whole);
        }
    }
}

#[test]
fn a_host_serves_its_own_classes_in_order_and_the_flows_of_a_class_in_turn() {
    for (in_order, expected) in [
        (true, [0, 0, 0, 0, 0, 1, 2, 1, 2]),
        (false, [1, 2, 0, 1, 2, 0, 1, 2, 0]),
    ] {
        let mut sender = host(0, NdpConfig { in_order, ..plus() });
        let submit = |sender: &mut Host, flow, packets| {
            let message = Message {
                flow: FlowId(flow),
                dst: HostId(9),
                bytes: packets * MSS,
                path: PathPin::NONE,
                replication: Replication::AsConfigured,
            };
            sender.submit(Time::ZERO, message);
        };
        submit(&mut sender, 1, 100);
        submit(&mut sender, 2, 100);
        let windows: Vec<Segment> =
            core::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).collect();
        for pushed in &windows[..2] {
            let pull = NdpHeader {
                kind: NdpKind::Pull,
                pull: 20,
                ..NdpHeader::default()
            };
            let pull = Segment {
                tuple: pushed.tuple.reversed(),
                payload: 0,
                trimmable: false,
                header: Header::Ndp(pull),
                ..*pushed
            };
            sender.on_segment(Time::ZERO, pull);
        }
        submit(&mut sender, 0, 5);
        let all = core::iter::from_fn(|| sender.poll_transmit(Time::ZERO));
        let flows: Vec<u32> = all.take(9).map(|segment| segment.flow.0).collect();
        assert_eq!(flows, expected, "in order: {in_order}");
    }
}

#[test]
fn a_pull_is_charged_what_its_packet_took() {
    // The windows of two senders arrive, followed by the last packet of the first sender, which is short.
    let mut receiver = host(9, config());
    let now = Time::from_ns(1_000);
    let mut windows = window_from(1, 9);
    let short = Segment {
        payload: 460,
        header: Header::Ndp(NdpHeader {
            index: 8,
            last: true,
            first_window: false,
            ..header(&windows[0])
        }),
        ..windows[0]
    };
    windows.extend(window_from(2, 100));
    for segment in windows {
        receiver.on_segment(now, segment);
    }
    let next = |receiver: &mut Host| {
        let at = receiver.next_timeout().expect("pulls wait");
        receiver.on_timeout(at);
        at
    };
    let first = next(&mut receiver);
    let second = next(&mut receiver);
    assert_eq!(second, first + INTERVAL);
    receiver.on_segment(second, short);
    // The next pull leaves at its planned time.
    // The following pull leaves earlier, by the time of 1,000 B at 0.8 ns per byte.
    let third = next(&mut receiver);
    assert_eq!(third, second + INTERVAL);
    let fourth = next(&mut receiver);
    assert_eq!(fourth, third + INTERVAL - Duration::from_ns(800));
    assert_eq!(next(&mut receiver), fourth + INTERVAL);
}

#[test]
fn a_flow_that_moves_has_no_timeout_however_long_it_lasts() {
    let mut pair = ndp(config());
    pair.submit(0, 20_000 * MSS);
    pair.run();
    assert!(pair.completed(0) > Some(Time::ZERO + config().initial_rto));
    assert_eq!(
        (pair.stats(0).timeouts, pair.stats(0).retransmissions),
        (0, 0)
    );
}

/// Returns the paths that a sender excludes after the given numbers of ACKs and NACKs over each of four paths.
fn left_out(answers: [(usize, usize); 4]) -> Vec<u16> {
    let four = NdpConfig {
        paths: 4,
        initial_window: 600,
        ..config()
    };
    let mut sender = host(0, four);
    let message = Message {
        flow: FlowId(0),
        dst: HostId(1),
        bytes: 10_000 * MSS,
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    };
    sender.submit(Time::ZERO, message);
    let answer = |sent: &Segment, answer| Segment {
        tuple: sent.tuple.reversed(),
        payload: 0,
        trimmable: false,
        header: Header::Ndp(NdpHeader {
            path: sent.path,
            index: header(sent).index,
            ..answer
        }),
        ..*sent
    };
    let window: Vec<Segment> = core::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).collect();
    for (path, (acks, nacks)) in (0..).zip(answers) {
        let over = window.iter().filter(|sent| sent.path == PathPin::to(path));
        for (number, sent) in over.take(acks + nacks).enumerate() {
            let kind = match number < acks {
                true => NdpKind::Ack,
                false => NdpKind::Nack,
            };
            let header = NdpHeader {
                kind,
                ..NdpHeader::default()
            };
            sender.on_segment(Time::ZERO, answer(sent, header));
        }
    }
    let pulls = NdpHeader {
        kind: NdpKind::Pull,
        pull: 40,
        ..NdpHeader::default()
    };
    sender.on_segment(Time::ZERO, answer(&window[0], pulls));
    let next: Vec<Segment> = core::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).collect();
    assert_eq!(next.len(), 40);
    let is_taken = |path| next.iter().any(|sent| sent.path == PathPin::to(path));
    (0..4).filter(|&path| !is_taken(path)).collect()
}

#[test]
fn a_path_is_left_out_that_loses_over_three_tenths_and_over_five_quarters_of_the_mean() {
    // Losses count relative to arrivals. All paths are judged after 400 answers.
    let clean = [(90, 0); 3];
    let lossy = [(70, 40); 3];
    let judged = |first, [b, c, d]: [(usize, usize); 3]| left_out([first, b, c, d]);
    assert_eq!(
        judged((100, 30), clean),
        [],
        "the path loses three tenths, which is not above the limit"
    );
    assert_eq!(judged((99, 31), clean), [0]);
    assert_eq!(
        judged((40, 30), lossy),
        [],
        "the path has 3 losses for 4 ACKs, and the mean is 3 for 5"
    );
    assert_eq!(judged((39, 31), lossy), [0]);
}
