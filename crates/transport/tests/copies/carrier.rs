//! Tests of requests over TCP: classes of connections, and connections that change their class.

use crate::pair::{A, B, Fate, Pair, plain_config};
use tailcut_requests::{
    AnswerHeader, ByteRange, CopyId, Framed, HIGH, LOW, Order, Purpose, RequestHeader, RequestId,
    ServerEnd, SideChannel, TELLING_PART,
};
use tailcut_transport::copies::{Answer, Ask, Carried, Carrier, Carry, CopyChange, CopyEvent, End};
use tailcut_transport::tcp::TcpConfig;
use tailcut_units::{Duration, HostId, Time};

const ANSWER: u64 = 1_000_000;
/// In all these tests, the server has the request by this time.
const ASKED: Time = Time::from_ns(1_000_000);

/// Creates a client, A, and a server, B, 100 us apart at 10 Gb/s.
fn carriers() -> Pair<Carrier> {
    let carrier = |host| Carrier::new(HostId(host), plain_config()).expect("a carrier");
    Pair::new(carrier(0), carrier(1))
}

/// The client sends a request in `class`, and the server answers when the request has arrived.
/// Returns the connection at both ends.
fn ask(pair: &mut Pair<Carrier>, class: u8) -> [Carried; 2] {
    let asked = pair.act(A, |client, now| {
        let ask = Ask {
            number: 7,
            server: HostId(1),
            class,
            bytes: 100,
        };
        client.ask(now, ask).expect("a port")
    });
    pair.run_until(ASKED);
    let mut accepted = None;
    while let Some(CopyEvent { number, change }) = pair.hosts[B].poll_copy() {
        assert_eq!(number, 7);
        if let CopyChange::Accepted { handle, room } = change {
            assert_eq!(room, None, "this server reports no windows");
            accepted = Some(handle);
        }
    }
    let accepted = accepted.expect("a connection");
    let answer = Answer {
        client: HostId(0),
        class,
        bytes: ANSWER,
        of: ANSWER,
        is_last: true,
    };
    pair.act(B, |server, now| server.answer(now, accepted, answer));
    [asked, accepted]
}

/// Returns the largest number of bytes that the client's events report, and whether the answer has ended.
fn heard(client: &mut Carrier) -> (u64, bool) {
    let (mut bytes, mut ended) = (0, false);
    while let Some(event) = client.poll_copy() {
        match event.change {
            CopyChange::Delivered { total } => bytes = total,
            CopyChange::Whole => ended = true,
            _ => {}
        }
    }
    (bytes, ended)
}

/// Returns the reasons for which copy 7 has ended, as reported by a host.
fn ended(host: &mut Carrier) -> Vec<End> {
    let events = std::iter::from_fn(|| host.poll_copy());
    let ends = events.filter_map(|event| match event.change {
        CopyChange::Ended { end, .. } if event.number == 7 => Some(end),
        _ => None,
    });
    ends.collect()
}

#[test]
fn a_connection_that_changes_its_class_goes_on_and_loses_and_doubles_nothing() {
    for (from, to) in [(LOW, HIGH), (HIGH, LOW)] {
        for change_us in [0, 250, 500, 600, 900, 1_300] {
            let late = |class| match class {
                LOW => Fate::Late(Duration::from_us(150)),
                _ => Fate::Deliver,
            };
            // Low packets arrive later, so that high packets overtake them.
            let mut pair = carriers().with_fault(move |p| late(p.segment.priority));
            let [asked, accepted] = ask(&mut pair, from);
            pair.run_until(ASKED + Duration::from_us(change_us));
            let before = pair.sent.len();
            let asked = pair.act(A, |client, now| client.set_class(now, asked, to));
            let accepted = pair.act(B, |server, now| server.set_class(now, accepted, to));
            assert_eq!((asked.class, accepted.class), (to, to));
            pair.run_until(Time::from_ns(20_000_000));
            pair.act(A, |client, now| client.finish(now, asked));
            pair.run();
            assert_eq!(heard(&mut pair.hosts[A]), (ANSWER, true), "{change_us} us");
            let (earlier, later) = pair.sent.split_at(before);
            assert!(earlier.iter().all(|sent| sent.segment.priority == from));
            let data = |class| {
                let later = later
                    .iter()
                    .filter(move |sent| sent.segment.priority == class);
                later.filter(|sent| sent.segment.payload > 0).count()
            };
            assert_eq!(data(from), 0, "{change_us} us");
            assert!(data(to) > 0, "{change_us} us");
            assert_eq!(ended(&mut pair.hosts[B]), [End::Whole], "{change_us} us");
        }
    }
}

#[test]
fn a_reset_finds_a_connection_that_has_changed_its_class_at_one_end_only() {
    for end in [A, B] {
        let mut pair = carriers();
        let mut ends = ask(&mut pair, LOW);
        pair.run_until(ASKED + Duration::from_us(250));
        let moved = ends[end];
        ends[end] = pair.act(end, |host, now| host.set_class(now, moved, HIGH));
        pair.run_until(ASKED + Duration::from_us(500));
        let [asked, accepted] = ends;
        pair.act(A, |client, now| client.reset(now, asked));
        pair.run();
        assert_eq!(ended(&mut pair.hosts[B]), [End::Purged]);
        assert_eq!(pair.hosts[B].payload_sent(accepted), None);
    }
}

/// Header of a request for the whole answer. The request has no content.
const WHOLE: RequestHeader = RequestHeader {
    copy: CopyId {
        request: RequestId(3),
        copy: 0,
    },
    purpose: Purpose::Ask,
    priority: HIGH,
    range: ByteRange {
        from: 0,
        to: ANSWER,
    },
    object: ANSWER,
    order: Order::Forwards,
    body: 0,
};

/// The server writes as much of its answer as it may. Returns the headers of the answer.
fn hand_over(pair: &mut Pair<Carrier>, copy: Carried, end: &mut ServerEnd) -> Vec<AnswerHeader> {
    let mut headers = Vec::new();
    while let Some(written) = end.write() {
        headers.extend(written.header);
        let answer = Answer {
            client: HostId(0),
            class: HIGH,
            bytes: written.bytes,
            of: end.stream_bytes(),
            is_last: written.is_last,
        };
        pair.act(B, |server, now| server.answer(now, copy, answer));
    }
    headers
}

/// A client sends a request, and its server answers. The server may also report windows.
/// Without reports, the parts of the answer have the same size. Returns the network and the headers of the answer.
fn answered(mut pair: Pair<Carrier>, tells: bool) -> (Pair<Carrier>, Vec<AnswerHeader>) {
    if tells {
        pair.act(B, |server, _| server.tell_windows());
    }
    pair.act(A, |client, now| {
        let ask = Ask {
            number: 7,
            server: HostId(1),
            class: HIGH,
            bytes: WHOLE.framed_bytes(),
        };
        let asked = client.ask(now, ask).expect("a port");
        client.finish(now, asked);
    });
    let mut messages = SideChannel::default();
    messages.write(WHOLE);
    let (mut serving, mut headers) = (None, Vec::new());
    while pair.step() {
        while let Some(CopyEvent { number, change }) = pair.hosts[B].poll_copy() {
            assert_eq!(number, 7);
            match (change, &mut serving) {
                (CopyChange::Accepted { handle, room }, _) => {
                    assert_eq!(room.is_some(), tells);
                    serving = Some((handle, ServerEnd::new(TELLING_PART, room)));
                }
                (CopyChange::Room(room), Some((_, end))) => end.set_send_space(room),
                (CopyChange::Delivered { total }, Some((_, end))) => {
                    end.on_arrived(total);
                    let Ok(message) = end.read(&mut messages);
                    if message.is_some() {
                        end.add(ANSWER);
                    }
                }
                _ => {}
            }
            if let Some((copy, end)) = &mut serving {
                headers.extend(hand_over(&mut pair, *copy, end));
            }
        }
    }
    (pair, headers)
}

#[test]
fn headers_of_an_answer_tell_the_window_of_its_sender_as_they_leave() {
    let (_, untold) = answered(carriers(), false);
    assert!(untold.iter().all(|header| header.window.is_none()));
    let (pair, told) = answered(carriers(), true);
    assert_eq!(told.len() as u64, ANSWER.div_ceil(TELLING_PART));
    let stream = ANSWER + told.iter().map(Framed::header_bytes).sum::<u64>();
    let sent = pair.sent.iter().filter(|sent| sent.from == B);
    let sent: u64 = sent.map(|sent| u64::from(sent.segment.payload)).sum();
    assert_eq!(sent, stream);
    // Slow start without a loss: the window begins as ten segments and grows by the acknowledged bytes.
    let windows: Vec<u64> = told.iter().filter_map(|header| header.window).collect();
    assert_eq!(windows.len(), told.len());
    assert_eq!(windows[..2], [10_000, 10_000]);
    assert!(windows.is_sorted() && windows.last() > Some(&100_000));
}

#[test]
fn an_answer_that_tells_windows_leaves_as_one_that_is_handed_over_at_once() {
    for lso_bytes in [0, 20_000, 64_000] {
        for every in [0, 150, 7] {
            let config = TcpConfig {
                lso_bytes,
                ..plain_config()
            };
            let pair = || {
                let carrier = |host| Carrier::new(HostId(host), config.clone()).expect("a carrier");
                let mut data = 0;
                Pair::new(carrier(0), carrier(1)).with_fault(move |passage| {
                    data += u64::from(passage.segment.payload > 0);
                    match every > 0 && passage.segment.payload > 0 && data % every == 0 {
                        true => Fate::Drop,
                        false => Fate::Deliver,
                    }
                })
            };
            let [at_once, as_it_leaves] = [false, true].map(|tells| {
                let (mut pair, _) = answered(pair(), tells);
                assert_eq!(ended(&mut pair.hosts[A]), [End::Whole]);
                let sent = pair.sent.iter();
                sent.map(|sent| (sent.at, sent.from, sent.segment))
                    .collect::<Vec<_>>()
            });
            assert!(at_once.len() as u64 > ANSWER / 1_000);
            assert!(at_once == as_it_leaves, "{lso_bytes} {every}");
        }
    }
}

#[test]
fn flows_that_are_no_requests_are_high_and_go_beside_them() {
    let mut pair = carriers();
    ask(&mut pair, LOW);
    pair.submit(3, 200_000);
    pair.run_until(Time::from_ns(20_000_000));
    assert!(pair.completed(3).is_some());
    assert_eq!(heard(&mut pair.hosts[A]), (ANSWER, true));
    for sent in &pair.sent {
        let is_flow = sent.segment.flow.0 == 3;
        assert_eq!(sent.segment.priority, if is_flow { HIGH } else { LOW });
    }
}
