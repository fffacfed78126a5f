//! Tests of golden vectors: the bytes of each kind of header, and bytes that the decoders refuse.

mod common;

use common::{bytes, lines, vectors};
use std::fmt::Debug;
use tailcut_requests::{
    AnswerHeader, ByteRange, CancelScope, CopyId, Order, Purpose, RequestHeader, RequestId,
};
use tailcut_transport::ndp::{NdpHeader, NdpKind};
use tailcut_transport::pfabric::{PFabricHeader, PFabricKind};
use tailcut_transport::scdp::{ScdpHeader, ScdpKind};
use tailcut_transport::{Condition, PathPin};
use tailcut_units::{FlowId, Time};
use tailcut_wire::rans::RansHeader;
use tailcut_wire::scdp::paper;
use tailcut_wire::{DecodeError, EncodeError, Packet, Prefix, ndp, pfabric, rans};

/// Compares the vectors of a protocol with the values that they encode, in both directions.
fn hold<T: PartialEq + Debug>(
    protocol: &str,
    values: &[(&str, T)],
    encode: impl Fn(&T, &mut [u8]) -> Result<usize, EncodeError>,
    decode: impl Fn(&[u8]) -> Result<(T, usize), DecodeError>,
) {
    let vectors = vectors(protocol);
    let names: Vec<&str> = vectors.iter().map(|(name, _)| name.as_str()).collect();
    let expected: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected, "{protocol}");
    for ((name, vector), (_, value)) in vectors.iter().zip(values) {
        let mut buffer = [0; 64];
        let length = encode(value, &mut buffer).expect("room for a header");
        assert_eq!(buffer[..length], vector[..], "{protocol} {name}");
        let (read, taken) = decode(vector).expect("a header");
        assert_eq!((&read, taken), (value, vector.len()), "{protocol} {name}");

        // A decoder ignores bytes after the header, and refuses a header with a missing byte.
        let mut longer = vector.clone();
        longer.extend([0xff; 3]);
        assert_eq!(decode(&longer), Ok((read, taken)), "{protocol} {name}");
        for cut in 0..vector.len() {
            let error = decode(&vector[..cut]).expect_err("a part of a header");
            let is_short = matches!(error, DecodeError::Short { found, .. } if found == cut);
            assert!(is_short, "{protocol} {name}, {cut} bytes: {error:?}");
            let error = encode(value, &mut buffer[..cut]).expect_err("a buffer that is too small");
            let (needed, found) = (vector.len(), cut);
            assert_eq!(error, EncodeError::Short { needed, found });
        }
    }
}

const DATA: Prefix = Prefix {
    flow: FlowId(0x0102_0304),
    payload: 1460,
    priority: 0,
    path: PathPin::to(3),
    rank: 0,
    trimmable: true,
    condition: Condition::Whole,
};

const ANSWER: Prefix = Prefix {
    payload: 0,
    path: PathPin::NONE,
    trimmable: false,
    ..DATA
};

#[test]
fn ndp_headers_have_these_bytes() {
    let header = NdpHeader {
        first_window: true,
        index: 7,
        sent: Time::from_ps(5_000_000_123),
        ..NdpHeader::default()
    };
    let answer = NdpHeader {
        kind: NdpKind::Ack,
        first_window: false,
        path: PathPin::to(3),
        cumulative: 5,
        pull: 12,
        ..header
    };
    let trimmed = |condition| Packet {
        prefix: Prefix { condition, ..DATA },
        header,
    };
    let prefix = ANSWER;
    let values = [
        (
            "data-first-window",
            Packet {
                prefix: Prefix {
                    priority: 1,
                    ..DATA
                },
                header,
            },
        ),
        (
            "data-last-pinned",
            Packet {
                prefix: Prefix {
                    flow: FlowId(9),
                    payload: 100,
                    path: PathPin::to(2),
                    ..DATA
                },
                header: NdpHeader {
                    last: true,
                    pinned: true,
                    index: 1 << 40,
                    sent: Time::from_ps(1),
                    ..NdpHeader::default()
                },
            },
        ),
        ("data-trimmed", trimmed(Condition::Trimmed)),
        ("data-returned", trimmed(Condition::Returned)),
        (
            "ack",
            Packet {
                prefix,
                header: answer,
            },
        ),
        (
            "nack",
            Packet {
                prefix,
                header: NdpHeader {
                    kind: NdpKind::Nack,
                    ..answer
                },
            },
        ),
        (
            "pull",
            Packet {
                prefix,
                header: NdpHeader {
                    kind: NdpKind::Pull,
                    cumulative: 6,
                    pull: 13,
                    ..NdpHeader::default()
                },
            },
        ),
    ];
    hold("ndp", &values, ndp::encode, ndp::decode);
}

#[test]
fn scdp_headers_have_these_bytes() {
    let flow = FlowId(77);
    let prefix = Prefix {
        flow,
        payload: 1440,
        path: PathPin::NONE,
        ..DATA
    };
    let symbol = ScdpHeader {
        block: 3,
        esi: 0x00ab_cdef,
        ..ScdpHeader::default()
    };
    let control = |header| Packet {
        prefix: Prefix { flow, ..ANSWER },
        header,
    };
    let values = [
        (
            "symbol",
            Packet {
                prefix: Prefix {
                    priority: 2,
                    ..prefix
                },
                header: symbol,
            },
        ),
        (
            "symbol-trimmed",
            Packet {
                prefix: Prefix {
                    condition: Condition::Trimmed,
                    ..prefix
                },
                header: symbol,
            },
        ),
        (
            "symbol-syn",
            Packet {
                prefix: Prefix {
                    path: PathPin::to(4),
                    ..prefix
                },
                header: ScdpHeader {
                    syn: true,
                    pinned: true,
                    esi: 1,
                    count: 12,
                    blocks: 30,
                    length: 4_000_000,
                    symbol: 1440,
                    senders: 3,
                    share: 1,
                    ..ScdpHeader::default()
                },
            },
        ),
        (
            "pull",
            control(ScdpHeader {
                kind: ScdpKind::Pull,
                block: 3,
                pull: 40,
                count: 343,
                blocks: 3,
                ..ScdpHeader::default()
            }),
        ),
        (
            "pull-fin",
            control(ScdpHeader {
                kind: ScdpKind::Pull,
                fin: true,
                block: 29,
                pull: 88,
                count: 2800,
                blocks: 29,
                ..ScdpHeader::default()
            }),
        ),
        (
            "done",
            control(ScdpHeader {
                kind: ScdpKind::Done,
                blocks: 30,
                ..ScdpHeader::default()
            }),
        ),
    ];
    hold("scdp", &values, paper::encode, paper::decode);
}

#[test]
fn pfabric_headers_have_these_bytes() {
    let flow = FlowId(5);
    let packet = |kind, rank, payload, path, [index, packets, cumulative]: [u64; 3]| Packet {
        prefix: Prefix {
            flow,
            rank,
            payload,
            path,
            ..ANSWER
        },
        header: PFabricHeader {
            kind,
            index,
            packets,
            cumulative,
        },
    };
    let (any, one) = (PathPin::NONE, PathPin::to(1));
    let values = [
        (
            "data",
            packet(PFabricKind::Data, 123_456, 1460, any, [10, 95, 0]),
        ),
        ("ack", packet(PFabricKind::Ack, 0, 0, any, [10, 0, 9])),
        (
            "probe",
            packet(PFabricKind::Probe, 123_456, 0, one, [0, 95, 0]),
        ),
        (
            "probe-ack",
            packet(PFabricKind::ProbeAck, 0, 0, one, [0, 0, 9]),
        ),
    ];
    hold("pfabric", &values, pfabric::encode, pfabric::decode);
}

#[test]
fn rans_messages_have_these_bytes() {
    let request = RequestId(1000);
    let range = ByteRange {
        from: 0,
        to: 1_000_000,
    };
    let ask = RequestHeader {
        copy: CopyId { request, copy: 0 },
        purpose: Purpose::Ask,
        priority: 0,
        range,
        object: 1_000_000,
        order: Order::Forwards,
        body: 0,
    };
    let duplicate = RequestHeader {
        copy: CopyId { request, copy: 1 },
        priority: 1,
        ..ask
    };
    let cancel = |scope| RequestHeader {
        purpose: Purpose::Cancel(scope),
        ..duplicate
    };
    let answer = AnswerHeader {
        copy: CopyId { request, copy: 0 },
        priority: 0,
        offset: 65_536,
        bytes: 16_384,
        of: 1_000_000,
        is_last: false,
        window: None,
    };
    let order = Order::Backwards;
    let values = [
        (
            "ask",
            RansHeader::Request(RequestHeader { body: 300, ..ask }),
        ),
        (
            "ask-backwards",
            RansHeader::Request(RequestHeader { order, ..duplicate }),
        ),
        (
            "more",
            RansHeader::Request(RequestHeader {
                copy: CopyId { request, copy: 2 },
                purpose: Purpose::More,
                range: ByteRange {
                    from: 500_000,
                    to: 600_000,
                },
                order,
                ..duplicate
            }),
        ),
        (
            "cancel-queued",
            RansHeader::Request(cancel(CancelScope::Queued)),
        ),
        (
            "cancel-running",
            RansHeader::Request(cancel(CancelScope::Running)),
        ),
        (
            "reprioritise",
            RansHeader::Request(RequestHeader {
                purpose: Purpose::Reprioritise,
                priority: 1,
                ..ask
            }),
        ),
        ("answer", RansHeader::Answer(answer)),
        (
            "answer-last-window",
            RansHeader::Answer(AnswerHeader {
                copy: CopyId { request, copy: 1 },
                priority: 1,
                offset: 983_616,
                is_last: true,
                window: Some(29_200),
                ..answer
            }),
        ),
    ];
    hold("rans", &values, rans::encode, rans::decode);
}

#[test]
fn only_an_ask_says_how_long_a_request_is() {
    let cancel = RequestHeader {
        copy: CopyId::default(),
        purpose: Purpose::Cancel(CancelScope::Running),
        priority: 0,
        range: ByteRange::default(),
        object: 0,
        order: Order::Forwards,
        body: 1,
    };
    let error = rans::encode(&RansHeader::Request(cancel), &mut [0; 64]).expect_err("refused");
    let kind = "more, cancel or reprioritise";
    assert_eq!(error, EncodeError::NotCarried { kind });
}

#[test]
fn what_is_refused_is_told_with_what_was_found() {
    let refused = lines("refused.txt");
    assert!(refused.len() > 20);
    for (protocol, line) in refused {
        let (hex, expected) = line.split_once("=> ").expect("an error");
        let bytes = bytes(hex);
        let error = match protocol.as_str() {
            "ndp" => ndp::decode(&bytes).expect_err(expected),
            "scdp" => paper::decode(&bytes).expect_err(expected),
            "pfabric" => pfabric::decode(&bytes).expect_err(expected),
            "rans" => rans::decode(&bytes).expect_err(expected),
            _ => panic!("no protocol: {protocol}"),
        };
        assert_eq!(error.to_string(), expected, "{protocol}: {hex}");
    }
}

#[test]
fn what_a_kind_does_not_carry_is_not_dropped_in_silence() {
    let symbol = |header| Packet {
        prefix: DATA,
        header,
    };
    let mut buffer = [0; 64];
    let mut refuse = |header| paper::encode(&symbol(header), &mut buffer).expect_err("refused");
    let kind = "symbol";
    let length = 1;
    let without_syn = ScdpHeader {
        length,
        ..ScdpHeader::default()
    };
    assert_eq!(refuse(without_syn), EncodeError::NotCarried { kind });
    let kind = "pull";
    let of_a_symbol = ScdpHeader {
        kind: ScdpKind::Pull,
        esi: 1,
        ..ScdpHeader::default()
    };
    assert_eq!(refuse(of_a_symbol), EncodeError::NotCarried { kind });
    let too_large = ScdpHeader {
        esi: 1 << 24,
        ..ScdpHeader::default()
    };
    let (name, found) = ("esi", 1 << 24);
    assert_eq!(refuse(too_large), EncodeError::Field { name, found });
}
