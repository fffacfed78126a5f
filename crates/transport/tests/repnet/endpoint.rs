//! Tests of flows in both directions.
//! A server sends first, answers, aborts or exceeds the archive, while connections of the flow open and fail.

use crate::pair;

use pair::{A, B, Fate, Pair, Passage};
use std::collections::VecDeque;
use tailcut_transport::repnet::{
    Delivery, Diverged, Endpoint, Mode, RepNetConfig, Role, SocketEvent, SocketId, State,
};
use tailcut_transport::tcp::{TcpConfig, TcpFlags};
use tailcut_transport::{Event, FlowStats, Message, Segment, Transport};
use tailcut_units::{Duration, FlowId, HostId, Time};

const PORT: u16 = 80;
const SECOND: u16 = 81;

/// Time at which a server answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answers {
    AtOnce,
    AfterTheRequest,
}

/// Application on each side. The client sends its message, and a server answers with `reply` bytes.
struct Talker {
    endpoint: Endpoint,
    reply: u64,
    answers: Answers,
    /// Whether a server ends its stream after the reply.
    finishes: bool,
    sockets: Vec<SocketId>,
    /// Total number of delivered bytes after each delivery.
    totals: Vec<u64>,
    ends: Vec<u64>,
    states: Vec<State>,
    events: VecDeque<Event>,
}

impl Talker {
    fn new(host: u32, reply: u64, answers: Answers, waiting_list_timeout: Duration) -> Self {
        let tcp = TcpConfig {
            min_rto: Duration::from_ms(10),
            initial_rto: Duration::from_ms(50),
            max_rto: Duration::from_ms(100),
            max_data_retries: 5,
            delayed_ack: None,
            ..TcpConfig::default()
        };
        let config = RepNetConfig {
            archive_limit: 30_000,
            waiting_list_timeout,
            ..RepNetConfig::default()
        };
        let mut endpoint = Endpoint::new(HostId(host), PORT, tcp, config).expect("valid");
        endpoint.report_delivered(true);
        Self {
            endpoint,
            reply,
            answers,
            finishes: true,
            sockets: Vec::new(),
            totals: Vec::new(),
            ends: Vec::new(),
            states: Vec::new(),
            events: VecDeque::new(),
        }
    }

    fn answer(&mut self, now: Time, id: SocketId) {
        self.endpoint.write(now, id, self.reply);
        if self.finishes {
            self.endpoint.finish(now, id);
        }
    }

    fn relay(&mut self, now: Time) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                SocketEvent::Accepted { id, .. } => {
                    self.sockets.push(id);
                    if self.answers == Answers::AtOnce {
                        self.answer(now, id);
                    }
                }
                SocketEvent::Established { id } => {
                    let flow = self.endpoint.flow(id).expect("a live flow");
                    self.events.push_back(Event::Established(flow));
                }
                SocketEvent::Delivered { total, .. } => self.totals.push(total),
                SocketEvent::PeerFinished { id, total } => {
                    self.ends.push(total);
                    let server = self.endpoint.role(id) == Some(Role::Server);
                    if server && self.answers == Answers::AfterTheRequest {
                        self.answer(now, id);
                    }
                }
                SocketEvent::Closed { summary, .. } => {
                    let event = Event::Closed(summary.flow, summary.stats);
                    self.events.push_back(event);
                }
                SocketEvent::Failed { summary, .. } => {
                    let event = Event::Failed(summary.flow, summary.stats);
                    self.events.push_back(event);
                }
            }
        }
        if let Some(state) = self.sockets.first().and_then(|id| self.endpoint.state(*id))
            && self.states.last() != Some(&state)
        {
            self.states.push(state);
        }
    }
}

impl Transport for Talker {
    fn submit(&mut self, now: Time, message: Message) {
        let mode = Some(Mode::RepFlow);
        let id = self
            .endpoint
            .connect(now, message.dst, message.flow, message.path, mode)
            .expect("a free port");
        self.sockets.push(id);
        self.endpoint.write(now, id, message.bytes);
        self.endpoint.finish(now, id);
        self.relay(now);
    }
    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.endpoint.on_segment(now, &segment);
        self.relay(now);
    }
    fn on_timeout(&mut self, now: Time) {
        self.endpoint.on_timeout(now);
        self.relay(now);
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.endpoint.poll_transmit(now)
    }
    fn has_transmit(&self) -> bool {
        self.endpoint.has_transmit()
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
    fn next_timeout(&self) -> Option<Time> {
        self.endpoint.next_timeout()
    }
    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let open = self.endpoint.unfinished();
        open.map(|summary| (summary.flow, summary.stats)).collect()
    }
}

fn port(passage: &Passage) -> u16 {
    let tuple = passage.segment.tuple;
    if passage.from == A {
        tuple.dst_port
    } else {
        tuple.src_port
    }
}

fn conversation(
    reply: u64,
    answers: Answers,
    fault: impl FnMut(&Passage) -> Fate + 'static,
) -> Pair<Talker> {
    let timeout = Duration::from_ms(1_000);
    let client = Talker::new(0, 0, answers, timeout);
    Pair::new(client, Talker::new(1, reply, answers, timeout)).with_fault(fault)
}

/// Checks that each side received the whole stream of the other side, once and in order.
/// No state of the flow may remain.
fn assert_exchanged(pair: &Pair<Talker>, request: u64, reply: u64) {
    for (host, bytes) in [(A, reply), (B, request)] {
        let talker = &pair.hosts[host];
        let in_order = talker.totals.is_sorted_by(|a, b| a < b);
        assert!(in_order, "host {host}: {:?}", talker.totals);
        assert_eq!(talker.totals.last().copied().unwrap_or(0), bytes);
        assert_eq!(talker.ends, [bytes], "host {host}");
        assert!(talker.endpoint.is_empty() && talker.endpoint.tcp().is_empty());
    }
    let closed = |(_, _, event): &&(Time, usize, Event)| matches!(event, Event::Closed(..));
    assert_eq!(pair.events.iter().filter(closed).count(), 2);
    assert_eq!(pair.events.len(), 3, "{:?}", pair.events);
}

#[test]
fn a_request_and_its_answer_pass_over_both_connections() {
    let mut pair = conversation(15_000, Answers::AfterTheRequest, |_| Fate::Deliver);
    pair.submit(0, 5_000);
    pair.run();
    assert_exchanged(&pair, 5_000, 15_000);
    assert_eq!(pair.hosts[B].states, [State::OneConn, State::DupConn]);
}

#[test]
fn streams_are_merged_whichever_connection_is_ahead() {
    for seed in 0..40u64 {
        let mut draw = seed;
        let mut pair = conversation(60_000, Answers::AtOnce, move |_| {
            draw = tailcut_units::mix64(draw);
            match draw % 20 {
                0 => Fate::Drop,
                1..=6 => Fate::Late(Duration::from_us(draw % 1_000)),
                _ => Fate::Deliver,
            }
        });
        pair.submit(0, 40_000);
        pair.run();
        assert_exchanged(&pair, 40_000, 60_000);
    }
}

/// Fate of a segment: the first connection fails, and the second connection opens later.
fn first_dies_second_is_slow(passage: &Passage) -> Fate {
    let first = port(passage) == PORT;
    if first && passage.now > Time::ZERO + Duration::from_us(320) {
        Fate::Drop
    } else if !first && passage.has(TcpFlags::SYN) {
        Fate::Late(Duration::from_us(500))
    } else {
        Fate::Deliver
    }
}

#[test]
fn what_a_server_wrote_before_the_second_connection_is_replayed_on_it() {
    // Each direction sends more than the first window of the first connection. The ACKs of this connection are lost.
    let mut pair = conversation(29_200, Answers::AtOnce, first_dies_second_is_slow);
    pair.submit(0, 20_000);
    pair.run();
    assert_exchanged(&pair, 20_000, 29_200);
    let over_second = |sent: &&pair::Sent| sent.from == B && sent.segment.tuple.src_port == SECOND;
    let payload: u32 = pair
        .sent
        .iter()
        .filter(over_second)
        .map(|s| s.segment.payload)
        .sum();
    assert_eq!(
        payload, 29_200,
        "all bytes from byte 0 to the end of the stream"
    );
    let first_half = pair.hosts[A].totals[0];
    assert!(
        first_half < 29_200,
        "the first connection has delivered the beginning"
    );
}

#[test]
fn a_server_that_says_too_much_before_the_second_connection_settles_on_the_first() {
    let mut pair = conversation(30_001, Answers::AtOnce, |passage: &Passage| {
        if port(passage) == SECOND {
            Fate::Late(Duration::from_us(100))
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 90_000);
    pair.run();
    assert_exchanged(&pair, 90_000, 30_001);
    assert_eq!(pair.hosts[B].endpoint.late(), 1);
    assert_eq!(pair.hosts[B].states, [State::Chosen], "in its first words");
}

#[test]
fn a_server_that_keeps_to_the_archives_limit_waits_for_the_second_connection() {
    let mut pair = conversation(30_000, Answers::AtOnce, |passage: &Passage| {
        if port(passage) == SECOND {
            Fate::Late(Duration::from_us(100))
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 90_000);
    pair.run();
    assert_exchanged(&pair, 90_000, 30_000);
    assert_eq!(pair.hosts[B].endpoint.late(), 0);
    assert_eq!(pair.hosts[B].states, [State::OneConn, State::DupConn]);
}

#[test]
fn a_server_whose_first_connection_died_goes_on_over_the_second() {
    let mut pair = conversation(14_600, Answers::AtOnce, |passage: &Passage| {
        let opening = passage.now < Time::ZERO + Duration::from_us(320);
        if port(passage) == PORT && !opening {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 50_000);
    pair.run();
    assert_exchanged(&pair, 50_000, 14_600);
}

#[test]
fn a_tombstone_meets_a_second_connection_that_opens_after_the_flow() {
    for (waits, turned_away) in [(1_000, 0), (2, 1)] {
        let server = Talker::new(1, 7_000, Answers::AfterTheRequest, Duration::from_ms(waits));
        let client = Talker::new(0, 0, Answers::AfterTheRequest, Duration::from_ms(1_000));
        let mut pair = Pair::new(client, server).with_fault(|passage: &Passage| {
            if port(passage) == SECOND && passage.has(TcpFlags::SYN) && passage.from == A {
                Fate::Late(Duration::from_ms(5))
            } else {
                Fate::Deliver
            }
        });
        pair.submit(0, 20_000);
        pair.run_until(Time::ZERO + Duration::from_ms(4));
        assert_eq!(pair.hosts[B].endpoint.tombstones(), 1);
        pair.run();
        assert_exchanged(&pair, 20_000, 7_000);
        let server = &pair.hosts[B];
        assert_eq!(server.endpoint.late(), turned_away);
        assert_eq!(
            server.endpoint.tombstones(),
            0,
            "the tombstone is no longer needed"
        );
        assert_eq!(server.sockets.len(), 1, "one flow came");
    }
}

#[test]
fn an_abort_ends_the_flow_at_both_ends() {
    for from in [A, B] {
        let mut pair = conversation(0, Answers::AtOnce, |_| Fate::Deliver);
        pair.hosts[B].finishes = false;
        pair.submit(0, 2_000_000);
        pair.run_until(Time::ZERO + Duration::from_ms(1));
        let id = pair.hosts[from].sockets[0];
        assert_eq!(pair.hosts[from].endpoint.state(id), Some(State::DupConn));
        pair.hosts[from].endpoint.abort(pair.now, id);
        pair.run();
        for host in [A, B] {
            let endpoint = &pair.hosts[host].endpoint;
            assert!(endpoint.is_empty() && endpoint.tcp().is_empty());
            assert_eq!(endpoint.next_timeout(), None);
        }
        let failed = pair
            .events
            .iter()
            .filter(|e| matches!(e.2, Event::Failed(..)));
        assert!(
            failed.count() <= 1,
            "only the end that did not abort reports a failure"
        );
    }
}

#[test]
fn a_name_that_has_ended_names_nothing() {
    let mut pair = conversation(0, Answers::AfterTheRequest, |_| Fate::Deliver);
    pair.submit(0, 1_000);
    pair.run();
    let id = pair.hosts[A].sockets[0];
    let now = pair.now;
    let endpoint = &mut pair.hosts[A].endpoint;
    endpoint.write(now, id, 1);
    endpoint.finish(now, id);
    endpoint.abort(now, id);
    assert_eq!((endpoint.state(id), endpoint.flow(id)), (None, None));
    assert!(!endpoint.has_transmit());
    assert_eq!(endpoint.poll_event(), None);
}

#[test]
fn the_last_port_has_none_after_it() {
    let tcp = TcpConfig::default();
    let error = Endpoint::new(HostId(0), u16::MAX, tcp, RepNetConfig::default());
    assert_eq!(error.expect_err("no port 65536").key, "port");
}

#[test]
fn only_bytes_beyond_what_was_delivered_are_delivered() {
    let mut delivery = Delivery::default();
    assert_eq!(delivery.advance(10), Ok(Some(10)));
    assert_eq!(delivery.advance(7), Ok(None));
    assert_eq!(delivery.advance(12), Ok(Some(12)));
    assert_eq!(delivery.finish(12), Ok(true));
    assert_eq!(delivery.advance(12), Ok(None));
    assert_eq!(delivery.finish(12), Ok(false));
}

#[test]
fn streams_of_different_lengths_are_an_error_and_not_silence() {
    let mut delivery = Delivery::default();
    assert_eq!(delivery.finish(10), Ok(true));
    assert_eq!(delivery.advance(11), Err(Diverged));
    assert_eq!(delivery.finish(11), Err(Diverged));
    assert_eq!(delivery.finish(9), Err(Diverged));
    let mut delivery = Delivery::default();
    assert_eq!(delivery.advance(10), Ok(Some(10)));
    assert_eq!(delivery.finish(9), Err(Diverged));
}
