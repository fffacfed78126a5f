//! Tests of version 2 of SCDP's header: golden vectors, encoding and decoding, and symbols after trimming.

mod common;

use common::vectors;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use tailcut_transport::Header;
use tailcut_transport::scdp::{CreditHeader, MAX_ESI, WANTS, Want};
use tailcut_wire::scdp::credit::{self, Check, Echo, Envelope, Message, Offer, Symbol};

const ENVELOPE: Envelope = Envelope {
    session: 0x0102_0304_0506_0708,
    share: 3,
};

fn pull() -> CreditHeader {
    let mut wants = [Want::NONE; WANTS];
    wants[0] = Want {
        ahead: 0,
        symbols: 12,
    };
    wants[1] = Want {
        ahead: 2,
        symbols: 101,
    };
    CreditHeader {
        probe: true,
        fin: false,
        granted: 500,
        next: 380,
        whole: 3,
        lost: 7,
        wants,
    }
}

const OFFER: Offer = Offer {
    length: 16_000_000,
    blocks: 112,
    symbol: 1_424,
    senders: 3,
    pushed: 10,
    slab: 5,
    stamp: 77,
    root: 0xa1a2_a3a4_a5a6_a7a8,
    token: None,
    padded: 0,
};

const ECHO: Echo = Echo {
    number: 7,
    seen: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 0x1234),
    buffer: 0x0080_0000,
    class: 0x2a,
    is_group: false,
    padded: 0,
};

const SYMBOL: Symbol = Symbol {
    number: 77,
    block: 9,
    esi: 0x00ab_cdef,
    class: 2,
    stamp: 0xdead_beef,
    trimmed: false,
};

fn messages() -> Vec<(&'static str, Message)> {
    vec![
        ("symbol", Message::Symbol(SYMBOL)),
        (
            "symbol-trimmed",
            Message::Symbol(Symbol {
                trimmed: true,
                ..SYMBOL
            }),
        ),
        ("pull", Message::Pull(pull())),
        (
            "pull-without-wants",
            Message::Pull(CreditHeader {
                fin: true,
                probe: false,
                wants: [Want::NONE; WANTS],
                ..pull()
            }),
        ),
        ("offer", Message::Offer(OFFER)),
        (
            "offer-with-token-and-padding",
            Message::Offer(Offer {
                token: Some([0x5a; 32]),
                padded: 88,
                ..OFFER
            }),
        ),
        ("retry", Message::Retry([0x5a; 32])),
        (
            "status",
            Message::Status {
                used: 500,
                stamp: 99,
                asks: true,
            },
        ),
        ("done", Message::Done { hash: 0xb1 }),
        ("close", Message::Close { reason: 4 }),
        (
            "probe",
            Message::Probe {
                size: 24,
                number: 6,
            },
        ),
        (
            "probe-ack",
            Message::ProbeAck {
                size: 24,
                number: 6,
            },
        ),
        ("proof", Message::Proof([0x3c; 32])),
        (
            "check",
            Message::Check(Check {
                size: 44,
                number: 7,
                class: 0x2a,
                is_full: true,
            }),
        ),
        ("echo", Message::Echo(ECHO)),
        (
            "echo-of-ipv6-padded",
            Message::Echo(Echo {
                seen: SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 0x1234),
                is_group: true,
                padded: 44,
                ..ECHO
            }),
        ),
    ]
}

fn written(message: &Message) -> Vec<u8> {
    let mut buffer = vec![0xaa; 10_000];
    let length = credit::encode(&ENVELOPE, message, &mut buffer).expect("room");
    buffer.truncate(length);
    buffer
}

#[test]
fn each_kind_has_the_bytes_of_its_vector() {
    let vectors = vectors("cast");
    let messages = messages();
    assert_eq!(vectors.len(), messages.len());
    for ((name, message), (vector_name, vector)) in messages.iter().zip(&vectors) {
        assert_eq!(name, vector_name);
        let bytes = written(message);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(bytes, *vector, "{name}: {hex}");
        assert_eq!(
            credit::decode(&bytes),
            Ok((ENVELOPE, *message, bytes.len()))
        );
        for cut in 0..bytes.len() {
            let read = credit::decode(&bytes[..cut]);
            let shorter = matches!(
                message,
                Message::Pull(_) | Message::Offer(_) | Message::Echo(_)
            );
            assert!(read.is_err() || shorter, "{name}, {cut} bytes: {read:?}");
        }
    }
}

#[test]
fn what_trimming_leaves_of_a_symbol_says_which_it_was_and_damage_shows() {
    let mut bytes = written(&Message::Symbol(SYMBOL));
    assert_eq!(bytes.len(), 32, "every switch keeps this number of bytes");
    bytes[1] |= 1;
    let trimmed = Symbol {
        trimmed: true,
        ..SYMBOL
    };
    let read = credit::decode(&bytes);
    assert_eq!(read, Ok((ENVELOPE, Message::Symbol(trimmed), 32)));
    for at in 2..32 {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(credit::decode(&damaged).is_err(), "byte {at}");
    }
}

#[test]
fn the_transport_is_told_what_it_said() {
    for (name, message) in messages() {
        let Some(header) = message.header(ENVELOPE.share) else {
            continue;
        };
        let again = Message::of(&header, 2).expect("a message of this version");
        assert_eq!(
            again.header(ENVELOPE.share).map(shared),
            Some(shared(header)),
            "{name}"
        );
    }
}

/// Returns the header unchanged.
fn shared(header: Header) -> Header {
    header
}

#[test]
fn no_retry_is_longer_than_the_offer_that_it_answers() {
    const { assert!(credit::RETRY_BYTES < credit::OFFER_BYTES) };
}

#[test]
fn no_echo_is_longer_than_the_check_that_it_answers() {
    const { assert!(credit::ECHO_BYTES <= credit::LEAST_CHECK as usize) };
    let short = Message::Check(Check {
        size: credit::LEAST_CHECK - 1,
        ..Check::default()
    });
    assert!(credit::encode(&ENVELOPE, &short, &mut [0; 100]).is_err());
    let mut bytes = written(&Message::Check(Check {
        size: credit::LEAST_CHECK,
        ..Check::default()
    }));
    bytes.truncate(39);
    bytes[13] = 39;
    assert!(credit::decode(&bytes).is_err(), "39 bytes");
}

fn message() -> impl Strategy<Value = Message> {
    let want = (0u16..u16::MAX, any::<u16>());
    let symbol = (
        any::<u32>(),
        any::<u32>(),
        0..MAX_ESI,
        any::<u8>(),
        any::<u32>(),
        any::<bool>(),
    );
    let counts = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
    prop_oneof![
        symbol.prop_map(|(number, block, esi, class, stamp, trimmed)| {
            Message::Symbol(Symbol {
                number,
                block,
                esi,
                class,
                stamp,
                trimmed,
            })
        }),
        (
            counts,
            any::<bool>(),
            any::<bool>(),
            prop::collection::vec(want, 0..=WANTS)
        )
            .prop_map(|((granted, next, whole, lost), probe, fin, told)| {
                let mut wants = [Want::NONE; WANTS];
                for (want, (ahead, symbols)) in wants.iter_mut().zip(told) {
                    *want = Want { ahead, symbols };
                }
                Message::Pull(CreditHeader {
                    probe,
                    fin,
                    granted,
                    next,
                    whole,
                    lost,
                    wants,
                })
            }),
        (
            any::<u64>(),
            any::<u32>(),
            any::<u16>(),
            prop::option::of(any::<[u8; 32]>()),
            81u16..1_500
        )
            .prop_map(|(length, blocks, symbol, token, padded)| {
                Message::Offer(Offer {
                    length,
                    blocks,
                    symbol,
                    token,
                    padded,
                    ..OFFER
                })
            }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(message in message()) {
        let bytes = written(&message);
        prop_assert_eq!(credit::decode(&bytes), Ok((ENVELOPE, message, bytes.len())));
    }

    #[test]
    fn bytes_that_are_read_are_the_only_ones_for_what_they_say(
        first in 0x20u8..0x2d,
        bytes in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let mut bytes = bytes;
        if let Some(byte) = bytes.first_mut() {
            *byte = first;
        }
        if let Ok((envelope, message, length)) = credit::decode(&bytes) {
            let mut again = vec![0; 70_000];
            let written = credit::encode(&envelope, &message, &mut again).expect("room");
            prop_assert_eq!(&again[..written], &bytes[..length]);
        }
    }
}
