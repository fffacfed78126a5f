//! Tests of streams of RANS messages that arrive in pieces of any size.

#[path = "common/headers.rs"]
#[expect(dead_code, reason = "headers of RANS are enough")]
mod headers;

use proptest::prelude::*;
use std::fmt::Debug;
use tailcut_requests::{AnswerHeader, Framed, Headers, Read, Reader, RequestHeader, SideChannel};
use tailcut_wire::DecodeError;
use tailcut_wire::rans::{MAX_BYTES, RansHeader, Unread, encode};

/// Returns the bytes of a header.
fn written(header: impl Into<RansHeader>) -> Vec<u8> {
    let mut bytes = vec![0; MAX_BYTES];
    let length = encode(&header.into(), &mut bytes).expect("room for a header");
    bytes.truncate(length);
    bytes
}

/// Returns all results that a reader can return with the bytes that have arrived.
fn read_all<S>(reader: &mut Reader<S::Header>, headers: &mut S) -> Vec<Read<S::Header>>
where
    S: Headers<Error: Debug>,
{
    let read = || reader.read(headers).expect("what was written");
    std::iter::from_fn(read).collect()
}

/// Delivers a stream in pieces. `sizes` contains the sizes of the pieces. After the last size, the sizes repeat.
/// Returns the results of the reader that decodes the bytes.
/// A second reader, which gets its headers through a side channel, must return the same results.
fn in_pieces<H>(messages: &[H], sizes: &[usize]) -> Vec<Read<H>>
where
    H: Framed + Into<RansHeader> + TryFrom<RansHeader, Error = DecodeError> + PartialEq + Debug,
{
    let (mut bytes, mut bodies, mut beside) = (Vec::new(), Vec::new(), SideChannel::default());
    for message in messages {
        bytes.extend(written(*message));
        let body = (0..message.body_bytes()).map(|at| (at % 251) as u8);
        bodies.extend(body.clone());
        bytes.extend(body);
        beside.write(*message);
    }
    assert_eq!(beside.written(), bytes.len() as u64);
    let mut unread = Unread::default();
    let (mut of_bytes, mut of_lengths) = (Reader::default(), Reader::default());
    let (mut all, mut read_bodies, mut rest) = (Vec::new(), Vec::new(), &bytes[..]);
    let mut sizes = sizes.iter().cycle();
    while let (Some(size), false) = (sizes.next(), rest.is_empty()) {
        let (piece, later) = rest.split_at((*size).min(rest.len()));
        rest = later;
        unread.push(piece);
        of_bytes.arrived_more(piece.len() as u64);
        of_lengths.arrived((bytes.len() - rest.len()) as u64);
        let read = read_all(&mut of_bytes, &mut unread);
        assert_eq!(read, read_all(&mut of_lengths, &mut beside));
        all.extend(read);
        read_bodies.extend(unread.take_body());
    }
    assert_eq!(read_bodies, bodies);
    all
}

/// Combines consecutive results that are pieces of the same body.
fn joined<H: Copy>(read: &[Read<H>]) -> Vec<(Option<H>, u64)> {
    let mut all: Vec<(Option<H>, u64)> = Vec::new();
    for read in read {
        match (read, all.last_mut()) {
            (Read::Header(header), _) => all.push((Some(*header), 0)),
            (Read::Body(bytes), Some((_, body))) => *body += bytes,
            (Read::Body(bytes), None) => all.push((None, *bytes)),
        }
    }
    all
}

/// Returns the results that a reader must return for `messages`.
fn expected<H: Framed>(messages: &[H]) -> Vec<(Option<H>, u64)> {
    let of = |message: &H| (Some(*message), message.body_bytes());
    messages.iter().map(of).collect()
}

fn requests() -> impl Strategy<Value = Vec<RequestHeader>> {
    let request = headers::rans().prop_filter_map("an answer", |header| {
        let mut header = RequestHeader::try_from(header).ok()?;
        header.body %= 300;
        Some(header)
    });
    prop::collection::vec(request, 1..8)
}

fn answers() -> impl Strategy<Value = Vec<AnswerHeader>> {
    let answer = headers::rans().prop_filter_map("a request", |header| {
        let mut header = AnswerHeader::try_from(header).ok()?;
        header.bytes %= 500;
        Some(header)
    });
    prop::collection::vec(answer, 1..8)
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1..120usize, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_of_requests_says_the_same_in_whatever_pieces_it_comes(
        messages in requests(),
        sizes in sizes(),
    ) {
        for sizes in [&sizes[..], &[1], &[usize::MAX]] {
            let read = in_pieces(&messages, sizes);
            prop_assert_eq!(joined(&read), expected(&messages));
        }
    }

    #[test]
    fn a_stream_of_answers_says_the_same_in_whatever_pieces_it_comes(
        messages in answers(),
        sizes in sizes(),
    ) {
        for sizes in [&sizes[..], &[1], &[usize::MAX]] {
            let read = in_pieces(&messages, sizes);
            prop_assert_eq!(joined(&read), expected(&messages));
        }
    }

    #[test]
    fn a_message_is_whole_with_the_last_byte_that_it_announces(messages in requests()) {
        let (mut unread, mut reader) = (Unread::<RequestHeader>::default(), Reader::default());
        for message in &messages {
            let mut bytes = written(*message);
            bytes.resize(bytes.len() + message.body as usize, 7);
            let (last, before) = bytes.split_last().expect("a header");
            for byte in before {
                unread.push(&[*byte]);
                reader.arrived_more(1);
                prop_assert_eq!(reader.read_whole(&mut unread), Ok(None));
            }
            unread.push(&[*last]);
            reader.arrived_more(1);
            prop_assert_eq!(reader.read_whole(&mut unread), Ok(Some(*message)));
            prop_assert_eq!(unread.take_body().len() as u64, message.body);
        }
    }

    #[test]
    fn bytes_that_are_no_stream_are_refused_and_end_no_reader(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        is_ours: bool,
    ) {
        let mut bytes = bytes;
        if is_ours && let [magic, version, length, kind, ..] = &mut bytes[..] {
            (*magic, *version, *kind) = (0xe4, 1, *kind % 6);
            *length = if *kind == 0 || *kind == 4 { 44 } else { 36 };
        }
        let (mut unread, mut reader) = (Unread::<AnswerHeader>::default(), Reader::default());
        unread.push(&bytes);
        reader.arrived(bytes.len() as u64);
        while let Ok(Some(_)) = reader.read(&mut unread) {}
    }
}

#[test]
fn a_message_of_the_other_end_is_refused() {
    let ask = RequestHeader {
        copy: Default::default(),
        purpose: tailcut_requests::Purpose::More,
        priority: 0,
        range: Default::default(),
        object: 0,
        order: Default::default(),
        body: 0,
    };
    let (mut unread, mut reader) = (Unread::<AnswerHeader>::default(), Reader::default());
    unread.push(&written(ask));
    reader.arrived(36);
    let (name, found) = ("kind", 1);
    assert_eq!(
        reader.read(&mut unread),
        Err(DecodeError::Field { name, found })
    );
}
