//! Tests of the bytes that a server passes on: parts with headers.
//! The parts do not depend on the times at which bytes become ready.

use proptest::prelude::*;
use tailcut_requests::{
    ANSWER_BYTES, ASK_BYTES, AnswerHeader, ByteRange, CopyId, Framed, HIGH, LOW, Order, Purpose,
    REQUEST_BYTES, RequestHeader, RequestId, SendSpace, ServerEnd, SideChannel, TELLING_PART,
    Written,
};

const HEADER: u64 = ANSWER_BYTES as u64;

fn ask(object: u64) -> RequestHeader {
    RequestHeader {
        copy: CopyId {
            request: RequestId(9),
            copy: 1,
        },
        purpose: Purpose::Ask,
        priority: LOW,
        range: ByteRange {
            from: 0,
            to: object,
        },
        object,
        order: Order::Backwards,
        body: 100,
    }
}

/// Creates a server's endpoint with a request for an object, in parts of `part` bytes.
fn asked(object: u64, part: u64, room: Option<SendSpace>) -> ServerEnd {
    let mut end = ServerEnd::new(part, room);
    tell(&mut end, ask(object));
    end
}

/// Delivers the client's next message.
fn tell(end: &mut ServerEnd, header: RequestHeader) {
    let mut messages = SideChannel::default();
    messages.write(header);
    end.on_message_arrived(messages.next_message());
    assert_eq!(end.read(&mut messages), Ok(Some(header)));
}

fn written(end: &mut ServerEnd) -> Vec<Written> {
    std::iter::from_fn(|| end.write()).collect()
}

fn headers(written: &[Written]) -> Vec<AnswerHeader> {
    let headers = written.iter().filter_map(|written| written.header);
    headers.collect()
}

#[test]
fn a_message_is_its_header_and_only_an_ask_brings_a_request() {
    let ask = ask(1_000);
    assert_eq!(ask.framed_bytes(), ASK_BYTES as u64 + 100);
    let more = RequestHeader {
        purpose: Purpose::More,
        body: 0,
        ..ask
    };
    assert_eq!(more.framed_bytes(), REQUEST_BYTES as u64);
}

#[test]
fn an_answer_is_parts_of_one_length_and_the_last_one_has_what_is_left() {
    let mut end = asked(25_000, 10_000, None);
    end.add(25_000);
    let all = written(&mut end);
    let parts: Vec<(u64, u64, bool)> = headers(&all)
        .iter()
        .map(|header| (header.offset, header.bytes, header.is_last))
        .collect();
    let expected = [
        (0, 10_000, false),
        (10_000, 10_000, false),
        (20_000, 5_000, true),
    ];
    assert_eq!(parts, expected);
    let bytes: u64 = all.iter().map(|written| written.bytes).sum();
    assert_eq!(bytes, 25_000 + 3 * HEADER);
    assert_eq!(bytes, end.stream_bytes());
    assert!(
        all.iter()
            .map(|written| written.is_last)
            .eq([false, false, true])
    );
    let first = headers(&all)[0];
    assert_eq!((first.copy, first.priority), (ask(0).copy, LOW));
    assert_eq!((first.of, first.window), (25_000, None));
}

#[test]
fn headers_have_the_class_that_the_copy_has_when_they_are_written() {
    let mut end = asked(20_000, 10_000, None);
    end.add(10_000);
    assert_eq!(headers(&written(&mut end))[0].priority, LOW);
    tell(
        &mut end,
        RequestHeader {
            purpose: Purpose::Reprioritise,
            priority: HIGH,
            body: 0,
            ..ask(20_000)
        },
    );
    end.add(10_000);
    assert_eq!(headers(&written(&mut end))[0].priority, HIGH);
    assert_eq!(end.priority(), HIGH);
}

#[test]
fn an_answer_that_tells_windows_waits_for_room_and_tells_the_latest() {
    let room = |bytes, window| SendSpace { bytes, window };
    let mut end = asked(100_000, 50_000, Some(room(2_000, 14_600)));
    end.add(100_000);
    let first = written(&mut end);
    assert_eq!(first.len(), 1, "one part uses up the send space");
    assert_eq!(headers(&first)[0].bytes, TELLING_PART);
    assert_eq!(headers(&first)[0].window, Some(14_600));
    end.set_send_space(room(0, 20_000));
    assert_eq!(written(&mut end), []);
    end.set_send_space(room(TELLING_PART + HEADER + 1, 29_200));
    let windows: Vec<Option<u64>> = headers(&written(&mut end))
        .iter()
        .map(|header| header.window)
        .collect();
    assert_eq!(windows, [Some(29_200), Some(29_200)]);
}

#[test]
fn before_it_is_asked_an_end_hands_nothing_over() {
    let mut end = ServerEnd::new(1_000, None);
    end.add(5_000);
    assert_eq!((end.write(), end.ask()), (None, None));
    assert_eq!((end.stream_bytes(), end.object_bytes(7)), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_do_not_hang_on_when_bytes_become_ready(
        object in 1u64..200_000,
        part in 1u64..50_000,
        ready in prop::collection::vec(0u64..40_000, 0..10),
    ) {
        let part = part.max(object / 500);
        let mut at_once = asked(object, part, None);
        at_once.add(object);
        let at_once = written(&mut at_once);
        let mut end = asked(object, part, None);
        let mut bit_by_bit = Vec::new();
        for bytes in ready.into_iter().chain([object]) {
            end.add(bytes);
            bit_by_bit.extend(written(&mut end));
        }
        prop_assert_eq!(headers(&bit_by_bit), headers(&at_once));
        let sum = |all: &[Written]| all.iter().map(|written| written.bytes).sum::<u64>();
        prop_assert_eq!(sum(&bit_by_bit), end.stream_bytes());
        prop_assert_eq!(sum(&at_once), end.stream_bytes());
        prop_assert!(bit_by_bit.last().is_some_and(|last| last.is_last));
        prop_assert_eq!(bit_by_bit.iter().filter(|written| written.is_last).count(), 1);
    }

    #[test]
    fn bytes_of_headers_are_no_bytes_of_the_object(
        object in 1u64..200_000,
        part in 100u64..50_000,
        again in 0u64..10_000,
    ) {
        let mut end = asked(object, part, None);
        end.add(object);
        let (mut sent, mut payload) = (0, 0);
        for written in written(&mut end) {
            let header = written.header.map_or(0, |header| header.header_bytes());
            // The stream is cut within the header, and within the body.
            prop_assert_eq!(end.object_bytes(sent + header / 2), payload);
            sent += written.bytes;
            payload += written.bytes - header;
            prop_assert_eq!(end.object_bytes(sent - 1), payload - 1);
            prop_assert_eq!(end.object_bytes(sent), payload);
        }
        prop_assert_eq!(payload, object);
        prop_assert_eq!(end.object_bytes(sent + again), object + again, "sent again");
    }

    #[test]
    fn an_ask_for_anything_ends_no_server(object: u64, part: u64, sent: u64, ready: u64) {
        let mut end = asked(object, part, None);
        end.add(ready);
        end.add(ready);
        for _ in 0..3 {
            end.write();
        }
        prop_assert!(end.stream_bytes() >= object);
        end.object_bytes(sent);
    }
}
