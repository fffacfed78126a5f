//! Tests of checks. A check shows whether an endpoint answers.
//! A check to a multicast group shows which endpoints receive from the group.

use super::{Datagram, Memory, address, credits, keyed};
use crate::driver::check_codec::{CheckCodec, GroupListeners};
use crate::driver::engine::Engine;
use crate::seal::{Cipher, Key};
use crate::udp::{Ancillary, Incoming, TrafficClass};
use std::net::SocketAddr;
use tailcut_units::{Duration, Time};
use tailcut_wire::scdp::credit::Check;

fn key(byte: u8) -> Key {
    Key::new(Cipher::Aes128Gcm, [byte; 32])
}

fn group() -> SocketAddr {
    SocketAddr::from(([239, 1, 2, 3], 7_000))
}

/// Returns the datagrams that an engine sends after it has received `bytes`.
fn answers(engine: &mut Engine, now: Time, to: SocketAddr, bytes: &[u8]) -> Vec<Datagram> {
    let ancillary = Ancillary {
        class: TrafficClass(0x29),
        to: Some(to.ip()),
        ..Ancillary::default()
    };
    let incoming = Incoming {
        from: address(0),
        ancillary,
        is_cut: false,
        bytes,
    };
    engine.on_incoming(now, &incoming);
    let mut net = Memory::new(address(1));
    while engine.transmit(now, &mut net, 64) {}
    net.sent.into()
}

#[test]
fn a_check_is_answered_with_what_it_arrived_as_and_by_no_longer_packet() {
    let now = Time::from_ns(1);
    for key in [None, Some(key(1))] {
        let mut engine = keyed(1, credits(), key.clone());
        let mut codec = CheckCodec::new(key.as_ref()).expect("random bytes");
        for (size, is_full) in [(0, false), (0, true), (1_472, false), (1_472, true)] {
            let check = Check {
                size,
                number: size + 7,
                class: 0x2a,
                is_full,
            };
            let asked = codec.write(&check).expect("a check");
            assert!(asked.len() >= usize::from(size.max(codec.least())));
            let sent = answers(&mut engine, now, address(1), &asked);
            let [answer] = &sent[..] else {
                panic!("one answer: {sent:?}");
            };
            assert!(answer.bytes.len() <= asked.len());
            assert_eq!(answer.bytes.len() == asked.len(), is_full || size == 0);
            assert_eq!((answer.to, answer.class), (address(0), TrafficClass(0x2a)));
            assert_eq!(answer.leaves, Some(address(1).ip()));
            let echo = codec.read(&answer.bytes).expect("an echo");
            assert_eq!((echo.number, echo.seen), (size + 7, address(0)));
            assert_eq!((echo.class, echo.is_group), (0x29, false));
            let mut other = CheckCodec::new(key.as_ref()).expect("random bytes");
            assert!(other.read(&answer.bytes).is_none(), "of another session");
            assert!(other.write(&Check::default()).is_some());
        }
        assert!(engine.incoming_sessions.sessions.is_empty() && engine.next_timeout().is_none());
    }
}

#[test]
fn under_a_key_only_those_who_have_it_get_an_answer() {
    let now = Time::from_ns(1);
    let check = Check::default();
    for (there, here) in [
        (Some(key(1)), None),
        (Some(key(1)), Some(key(2))),
        (None, Some(key(1))),
    ] {
        let mut engine = keyed(1, credits(), there);
        let mut codec = CheckCodec::new(here.as_ref()).expect("random bytes");
        let asked = codec.write(&check).expect("a check");
        assert!(answers(&mut engine, now, address(1), &asked).is_empty());
    }
    // The engine ignores an echo whose bytes were changed on the path.
    let mut engine = keyed(1, credits(), Some(key(1)));
    let mut codec = CheckCodec::new(Some(&key(1))).expect("random bytes");
    let asked = codec.write(&check).expect("a check");
    let mut answer = answers(&mut engine, now, address(1), &asked).remove(0);
    for at in 12..answer.bytes.len() {
        answer.bytes[at] ^= 1;
        assert!(codec.read(&answer.bytes).is_none(), "byte {at}");
        answer.bytes[at] ^= 1;
    }
    assert!(codec.read(&answer.bytes).is_some());
}

#[test]
fn few_checks_that_came_by_a_group_are_answered() {
    let mut engine = keyed(1, credits(), None);
    let mut codec = CheckCodec::new(None).expect("random bytes");
    let asked = codec.write(&Check::default()).expect("a check");
    let mut given = 0;
    for step in 0..20_000u64 {
        let now = Time::ZERO + Duration::from_us(100) * step;
        given += answers(&mut engine, now, group(), &asked).len();
    }
    // The limit GROUP_ANSWERS is 100 per second, so 200 in 2 s. One BURST of 100 answers may be added.
    assert!((200..=300).contains(&given), "{given} in 2 s");
}

#[test]
fn a_group_is_asked_and_those_who_hear_it_are_noted() {
    let now = Time::from_ns(1);
    for key in [None, Some(key(1))] {
        let [mut asks, mut hears] = [0, 1].map(|me| keyed(me, credits(), key.clone()));
        let listeners = GroupListeners::default();
        asks.check_group(group(), listeners.clone());
        let mut net = Memory::new(address(0));
        while asks.transmit(now, &mut net, 64) {}
        let asked = net.sent.pop_front().expect("a check");
        assert_eq!(asked.to, group());
        for (to, is_noted) in [(address(1), false), (group(), true)] {
            let answer = answers(&mut hears, now, to, &asked.bytes).remove(0);
            let incoming = Incoming {
                from: address(1),
                ancillary: Ancillary::default(),
                is_cut: false,
                bytes: &answer.bytes,
            };
            asks.on_incoming(now, &incoming);
            assert_eq!(listeners.has(address(1)), is_noted, "by {to}");
        }
        listeners.forget(address(1));
        assert!(!listeners.has(address(1)));
    }
}
