//! Tests of drivers with a key. The attackers read packets, replay them, and forge packets.

use super::faults::{FOR_LONG, Faults, World};
use super::{address, credits, keyed, object};
use crate::driver::engine::Engine;
use crate::seal::{Cipher, Key};
use crate::udp::{Ancillary, Incoming};
use tailcut_units::{Duration, Time};

fn key(byte: u8) -> Key {
    Key::new(Cipher::ChaCha20Poly1305, [byte; 32])
}

fn world() -> World {
    let engines = [0, 1].map(|me| keyed(me, credits(), Some(key(1))));
    World::with(engines, Faults::NONE)
}

fn arrive(engine: &mut Engine, now: Time, datagram: &super::Datagram) {
    let ancillary = Ancillary {
        class: datagram.class,
        ..Ancillary::default()
    };
    let incoming = Incoming {
        from: datagram.from,
        ancillary,
        is_cut: false,
        bytes: &datagram.bytes,
    };
    engine.on_incoming(now, &incoming);
}

fn answers(engine: &mut Engine, now: Time) -> usize {
    let mut net = super::Memory::new(address(1));
    while engine.transmit(now, &mut net, 64) {}
    net.sent.len()
}

#[test]
fn nothing_of_an_object_can_be_read_on_its_way() {
    let mut world = world();
    let text = b"a secret that is not to be seen by anybody on the way".repeat(2_000);
    world.send(0, text.clone());
    world.run(FOR_LONG);
    assert!(world.received[1] == [text.clone()]);
    let seen = |part: &[u8]| {
        let mut all = world.log.iter().map(|datagram| &datagram.bytes);
        all.any(|bytes| bytes.windows(part.len()).any(|window| window == part))
    };
    assert!(!seen(&text[..16]));
}

#[test]
fn what_was_recorded_leads_to_nothing_when_it_is_played_again() {
    // The first object is pushed as a whole. The second is longer and needs pulls.
    for length in [5_000, 200_000] {
        let mut world = world();
        world.send(0, object(length, 1));
        world.run(FOR_LONG);
        assert_eq!(world.received[1].len(), 1);
        // The old packets arrive at a receiver that has restarted, and at a receiver that still has its state.
        let mut anew = keyed(1, credits(), Some(key(1)));
        let now = world.now;
        for datagram in world
            .log
            .iter()
            .filter(|datagram| datagram.from == address(0))
        {
            arrive(&mut anew, now, datagram);
            arrive(&mut world.drivers[1].engine, now, datagram);
            answers(&mut anew, now);
        }
        while let Some(at) = anew.next_timeout()
            && at < now + Duration::from_ms(60_000)
        {
            anew.on_timeout(at);
            answers(&mut anew, at);
        }
        assert!(super::news(&mut anew).is_empty(), "{length} bytes");
        assert!(super::news(&mut world.drivers[1].engine).is_empty());
        assert!(anew.incoming.is_empty(), "its memory is free");
    }
}

#[test]
fn those_with_another_key_or_none_get_no_answer() {
    for sender in [Some(key(2)), None] {
        let engines = [
            keyed(0, credits(), sender),
            keyed(1, credits(), Some(key(1))),
        ];
        let mut world = World::with(engines, Faults::NONE);
        world.send(0, object(50_000, 1));
        world.run(FOR_LONG);
        assert!(world.received[1].is_empty());
        assert_eq!(world.drivers[1].engine.counts().sent, 0);
        assert_eq!(world.failed.len(), 1);
    }
}

#[test]
fn a_changed_bit_is_as_good_as_a_loss() {
    let mut world = world();
    world.send(0, object(100_000, 1));
    // One bit is changed in each datagram of the offer and of the pushed symbols.
    world.step(0);
    let mut engine = keyed(1, credits(), Some(key(1)));
    for (number, datagram) in world.log.iter().enumerate() {
        let mut changed = datagram.clone();
        let at = (number * 131) % changed.bytes.len();
        changed.bytes[at] ^= 1 << (number % 8);
        arrive(&mut engine, world.now, &changed);
    }
    assert_eq!(answers(&mut engine, world.now), 0);
    assert!(engine.incoming.is_empty());
}

#[test]
fn a_last_word_that_is_lost_is_said_again() {
    for key in [None, Some(key(1))] {
        for length in [500, 200_000] {
            let engines = [0, 1].map(|me| keyed(me, credits(), key.clone()));
            let mut world = World::with(engines, Faults::NONE);
            world.lost_dones = 3;
            world.send(0, object(length, 1));
            // The transfer must end before the sender's timeouts end it.
            world.run(Time::ZERO + Duration::from_ms(2_000));
            assert_eq!(world.received[1].len(), 1);
            assert_eq!(world.sent[0].len(), 1, "{:?}", world.failed);
            assert_eq!(world.lost_dones, 0);
        }
    }
}
