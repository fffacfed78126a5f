//! Tests of paths that drop large datagrams without an error message.

use super::faults::{FOR_LONG, Faults, World};
use super::{credits, keyed, object};
use crate::seal::{Cipher, Key};
use tailcut_transport::scdp::ScdpConfig;
use tailcut_units::Time;

/// Returns parameters with symbols that fill packets of 1,500 bytes over IPv4, even with a key.
fn config() -> ScdpConfig {
    ScdpConfig {
        symbol: 1_420,
        ..credits()
    }
}

fn world(key: Option<Key>, most: usize) -> World {
    let engines = [0, 1].map(|me| keyed(me, config(), key.clone()));
    let faults = Faults {
        most,
        ..Faults::NONE
    };
    World::with(engines, faults)
}

/// Returns the length in bytes of the longest datagram in the log, from index `at` to the end.
fn longest(world: &World, at: usize) -> usize {
    let lengths = world.log[at..].iter().map(|datagram| datagram.bytes.len());
    lengths.max().unwrap_or(0)
}

#[test]
fn an_object_starts_again_with_smaller_symbols_where_large_datagrams_vanish() {
    let key = Key::new(Cipher::default(), [3; 32]);
    for key in [None, Some(key)] {
        for (most, found) in [(1_440, 1_432), (1_400, 1_392), (1_210, 1_200)] {
            let mut world = world(key.clone(), most);
            let sent = object(400_000, 1);
            world.send(0, sent.clone());
            world.run(FOR_LONG);
            assert!(world.received[1] == [sent.clone()], "{most} bytes");
            assert_eq!(world.drivers[0].engine.counts().shrunk, 1);
            assert!(world.drivers[1].engine.incoming.is_empty());
            // The next object uses the size that the search has found.
            let from = world.log.len();
            world.send(0, sent.clone());
            world.run(FOR_LONG);
            assert_eq!(world.received[1].len(), 2);
            assert_eq!(world.drivers[0].engine.counts().shrunk, 1);
            assert_eq!(longest(&world, from), found);
        }
    }
}

#[test]
fn a_path_that_shrinks_on_the_way_is_found_too() {
    let mut world = world(None, 65_535);
    let sent = object(3_000_000, 1);
    world.send(0, sent.clone());
    world.run(Time::from_ns(400_000));
    assert!(world.received[1].is_empty());
    world.faults.most = 1_300;
    world.run(FOR_LONG);
    assert!(world.received[1] == [sent]);
    assert_eq!(world.drivers[0].engine.counts().shrunk, 1);
}

#[test]
fn losses_alone_shrink_no_symbol() {
    let mut world = world(None, 65_535);
    world.faults.lost = 300;
    let sent = object(1_500_000, 1);
    world.send(0, sent.clone());
    world.run(FOR_LONG);
    assert!(world.received[1] == [sent]);
    assert_eq!(world.drivers[0].engine.counts().shrunk, 0);
}
