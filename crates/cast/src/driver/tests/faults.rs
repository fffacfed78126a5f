//! Tests with two drivers. The network loses, duplicates, delays and reorders datagrams.

use super::{Memory, address, config, credits, engine, keyed, object};
use crate::codec::Codes;
use crate::driver::clock::Clock;
use crate::driver::engine::{Engine, News};
use crate::driver::outcome::Failure;
use crate::driver::outgoing::{Payload, Task};
use crate::driver::run::Driver;
use crate::seal::{Cipher, Key};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tailcut_transport::Condition;
use tailcut_transport::scdp::ScdpConfig;
use tailcut_units::{Duration, FlowId, Time, mix64};
use tailcut_wire::scdp::credit;
use tailcut_wire::set_condition;

/// Clock whose time a test sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set(pub(super) Time);

impl Clock for Set {
    fn now(&mut self) -> Time {
        self.0
    }
}

/// Faults of the network. A probability of `n` means n of 1,000 datagrams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faults {
    pub(super) seed: u64,
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) late: u64,
    /// Probability that a datagram is cut to the length of a trimmed symbol.
    pub(super) trimmed: u64,
    /// Size of the largest datagram that the network carries, in bytes.
    pub(super) most: usize,
}

impl Faults {
    pub(super) const NONE: Self = Self {
        seed: 0,
        lost: 0,
        doubled: 0,
        late: 0,
        trimmed: 0,
        most: 65_535,
    };
}

/// Two drivers and the network between them.
pub(super) struct World {
    pub(super) drivers: [Driver<Memory, Set>; 2],
    pub(super) faults: Faults,
    pub(super) now: Time,
    /// All datagrams that were sent since the start.
    pub(super) log: Vec<super::Datagram>,
    on_the_way: BTreeMap<(Time, u64), super::Datagram>,
    count: u64,
    codes: Codes,
    pub(super) received: [Vec<Vec<u8>>; 2],
    pub(super) sent: [Vec<FlowId>; 2],
    pub(super) failed: Vec<Failure>,
    /// Number of completion messages that the network will still lose.
    pub(super) lost_dones: u32,
}

const DELAY: Duration = Duration::from_us(50);

impl World {
    pub(super) fn new(config: ScdpConfig, faults: Faults) -> Self {
        Self::with([engine(0, config), engine(1, config)], faults)
    }

    pub(super) fn with(engines: [Engine; 2], faults: Faults) -> Self {
        let driver = |(me, engine): (u32, Engine)| Driver {
            engine,
            net: Memory::new(address(me)),
            clock: Set(Time::ZERO),
            pace: crate::driver::pace::Pace::new(None, 1_500),
        };
        Self {
            drivers: { engines }.map(|engine| driver((engine.incoming_sessions.me().0, engine))),
            faults,
            now: Time::ZERO,
            log: Vec::new(),
            on_the_way: BTreeMap::new(),
            count: 0,
            codes: Codes::new(16),
            received: Default::default(),
            sent: Default::default(),
            failed: Vec::new(),
            lost_dones: 0,
        }
    }

    fn draw(&mut self) -> u64 {
        self.count += 1;
        mix64(self.faults.seed ^ mix64(self.count)) % 1_000
    }

    /// Moves the sent datagrams of a driver into the network.
    fn carry(&mut self, at: usize) {
        while let Some(mut datagram) = self.drivers[at].net.sent.pop_front() {
            self.log.push(datagram.clone());
            if datagram.bytes.len() > self.faults.most {
                continue;
            }
            // The first byte of a completion message of version 2 is 0x25.
            if datagram.bytes[0] == 0x25 && self.lost_dones > 0 {
                self.lost_dones -= 1;
                continue;
            }
            if self.draw() < self.faults.trimmed && datagram.bytes.len() > 500 {
                // The first byte is 0xe1 for packets of version 1, and 0x20 for symbols of version 2.
                let kept = match datagram.bytes[0] {
                    0xe1 => set_condition(&mut datagram.bytes, Condition::Trimmed).expect("v1"),
                    0x20 => credit::SYMBOL_BYTES,
                    _ => datagram.bytes.len(),
                };
                datagram.bytes.truncate(kept);
            }
            let draw = self.draw();
            let faults = self.faults;
            let copies = match draw {
                draw if draw < faults.lost => 0,
                draw if draw < faults.lost + faults.doubled => 2,
                _ => 1,
            };
            for _ in 0..copies {
                let late = match self.draw() < faults.late {
                    true => DELAY * (self.draw() % 20),
                    false => Duration::ZERO,
                };
                let arrives = self.now + DELAY + late;
                self.on_the_way
                    .insert((arrives, self.count), datagram.clone());
            }
        }
    }

    /// Delivers the datagrams that have arrived at a driver. Then moves its new datagrams into the network.
    pub(super) fn step(&mut self, at: usize) {
        self.drivers[at].clock = Set(self.now);
        while self.drivers[at].turn().expect("memory") {}
        while let Some(job) = self.drivers[at].engine.poll_job() {
            let decoded = job.run(&self.codes);
            self.drivers[at].engine.on_decoded(self.now, &decoded);
        }
        // Decoded blocks may cause further datagrams. So the driver runs until it has nothing more to do.
        while self.drivers[at].turn().expect("memory") {}
        for news in super::news(&mut self.drivers[at].engine) {
            match news {
                News::Received { bytes, .. } => self.received[at].push(bytes),
                News::Sent(flow, ..) => self.sent[at].push(flow),
                News::Failed(_, failure) => self.failed.push(failure),
            }
        }
        self.carry(at);
    }

    /// Runs until the network is empty and no timer is due before `until`.
    pub(super) fn run(&mut self, until: Time) {
        loop {
            for at in [0, 1] {
                self.step(at);
            }
            let arrival = self.on_the_way.keys().next().map(|(at, _)| *at);
            let timeouts = self
                .drivers
                .iter()
                .filter_map(|driver| driver.engine.next_timeout());
            let Some(next) = arrival.into_iter().chain(timeouts).min() else {
                return;
            };
            if next > until {
                return;
            }
            // The time must always advance. Otherwise the loop would not end.
            self.now = next.max(self.now + Duration::from_ps(1));
            while let Some(first) = self.on_the_way.first_entry()
                && first.key().0 <= self.now
            {
                let datagram = first.remove();
                let to = usize::from(datagram.to == address(1));
                self.drivers[to].net.arrived.push_back(datagram);
            }
        }
    }

    pub(super) fn send(&mut self, from: usize, bytes: Vec<u8>) -> FlowId {
        let to = address(1 - from as u32);
        let sent = self.drivers[from]
            .engine
            .send(self.now, Task::one(to, Payload::new(bytes)));
        sent.expect("few peers")
    }
}

pub(super) const FOR_LONG: Time = Time::from_ns(600_000_000_000);

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Despite all faults of the network, every object arrives complete and exactly once.
    #[test]
    fn objects_arrive_once_and_whole(
        mode in 0..3,
        seed: u64,
        (lost, doubled, late, trimmed) in (0u64..330, 0u64..100, 0u64..300, 0u64..200),
        lengths in proptest::collection::vec(0usize..300_000, 1..4),
    ) {
        let key = Key::new(Cipher::Aes128Gcm, [7; 32]);
        let engines = [0, 1].map(|me| match mode {
            0 => engine(me, config()),
            1 => engine(me, credits()),
            _ => keyed(me, credits(), Some(key.clone())),
        });
        let mut world = World::with(engines, Faults { seed, lost, doubled, late, trimmed, ..Faults::NONE });
        for (number, &length) in lengths.iter().enumerate() {
            world.send(number % 2, object(length, number as u64));
        }
        world.run(FOR_LONG);
        prop_assert_eq!(&world.failed, &[]);
        for at in [0, 1] {
            let numbers = 0..lengths.len();
            let theirs = numbers.filter(|number| number % 2 != at);
            let mut expected: Vec<Vec<u8>> =
                theirs.map(|number| object(lengths[number], number as u64)).collect();
            expected.sort();
            world.received[at].sort();
            prop_assert!(world.received[at] == expected);
        }
    }
}

#[test]
fn lost_symbols_are_made_good_by_decoding() {
    for config in [config(), credits()] {
        let mut world = World::new(
            config,
            Faults {
                seed: 3,
                lost: 50,
                ..Faults::NONE
            },
        );
        let sent = object(1_000_000, 1);
        world.send(0, sent.clone());
        world.run(FOR_LONG);
        assert!(world.received[1] == [sent]);
        assert!(world.drivers[1].engine.counts().decodings > 0);
    }
}

#[test]
fn an_object_without_bytes_arrives_whatever_is_lost() {
    for seed in 0..20 {
        for config in [config(), credits()] {
            let faults = Faults {
                seed,
                lost: 300,
                ..Faults::NONE
            };
            let mut world = World::new(config, faults);
            world.send(0, Vec::new());
            world.run(FOR_LONG);
            assert!(world.received[1] == [Vec::<u8>::new()], "seed {seed}");
        }
    }
}

#[test]
fn what_the_socket_has_no_room_for_waits() {
    let mut world = World::new(config(), Faults::NONE);
    world.drivers[0].net.room = Some(0);
    world.drivers[0].net.segments = 1;
    let sent = object(50_000, 1);
    world.send(0, sent.clone());
    world.step(0);
    assert!(world.drivers[0].engine.is_blocked() && world.on_the_way.is_empty());
    // The socket accepts two messages at first. Later it accepts all messages.
    world.drivers[0].net.room = Some(2);
    world.step(0);
    assert!(world.drivers[0].engine.is_blocked());
    assert_eq!(world.on_the_way.len(), 2);
    world.drivers[0].net.room = None;
    world.run(FOR_LONG);
    assert!(world.received[1] == [sent]);
    assert_eq!(
        world.drivers[0].engine.counts().sent,
        world.drivers[0].engine.counts().messages
    );
}

#[test]
fn equal_datagrams_leave_together() {
    let mut world = World::new(config(), Faults::NONE);
    world.send(0, object(12_000, 1));
    world.step(0);
    let counts = world.drivers[0].engine.counts();
    assert_eq!((counts.sent, counts.messages), (12, 1));
}

#[test]
fn what_is_cancelled_is_sent_no_more() {
    let mut world = World::new(config(), Faults::NONE);
    world.drivers[0].net.room = Some(0);
    let flow = world.send(0, object(50_000, 1));
    world.step(0);
    assert!(world.drivers[0].engine.cancel(world.now, flow).is_some());
    assert!(world.drivers[0].engine.cancel(world.now, flow).is_none());
    world.drivers[0].net.room = None;
    world.run(FOR_LONG);
    assert_eq!(world.drivers[0].engine.counts().sent, 0);
    assert!(world.received[1].is_empty());
}
