//! Arbitrary sequences of operations on two hosts, and invariants for all sequences.
//! To test another [`Transport`], implement [`Subject`] and add it to `transport_operations.rs`.
#![allow(dead_code, reason = "each test file uses its part of the harness")]

use crate::passing::{self, Passing, World as _};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tailcut_transport::{
    Condition, Ecn, Event, Header, Message, PathPin, Replication, Segment, Transport,
};
use tailcut_units::{FlowId, HostId, Time};

/// Design under test.
pub trait Subject: Transport {
    /// Creates a host. The host must never fail a flow because of too many retransmissions.
    fn fresh(host: HostId) -> Self;
    /// Checks invariants of the design, after every operation.
    fn assert_sane(&self);
    /// Checks that no state of flows remains. It is called when all flows have ended and no timer is left.
    fn assert_released(&self);
    /// Returns the part of the flow's data that an untrimmed segment contains.
    fn cargo(segment: &Segment) -> Cargo {
        match segment.header {
            Header::Tcp(header) => {
                Cargo::Bytes(header.offset..header.offset + u64::from(segment.payload))
            }
            _ => Cargo::Bytes(0..0),
        }
    }
    /// Returns whether the arrived data is enough for the whole flow.
    fn suffices(flow: &Flow) -> bool {
        flow.arrived.iter().all(|byte| *byte)
    }
}

/// Data of a segment.
pub enum Cargo {
    /// Range of bytes of the flow.
    Bytes(Range<u64>),
    /// Number of a block, and of a symbol in this block.
    Symbol(u32, u32),
}

/// Operation of a test. Indices are taken modulo the number of possible choices.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    Submit {
        from: u8,
        bytes: u32,
        replication: Replication,
    },
    Transmit {
        host: u8,
    },
    Deliver {
        which: u16,
    },
    DeliverOldest,
    Drop {
        which: u16,
    },
    Duplicate {
        which: u16,
    },
    Mark {
        which: u16,
    },
    /// A switch cuts off the payload.
    Trim {
        which: u16,
    },
    /// A switch cuts off the payload and returns the header.
    Return {
        which: u16,
    },
    Wait {
        microseconds: u16,
    },
    Timeout,
}

pub fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let replication = prop_oneof![
        3 => Just(Replication::AsConfigured),
        1 => Just(Replication::Off),
        1 => Just(Replication::RepFlow),
        1 => Just(Replication::RepSyn),
    ];
    let bytes = prop_oneof![
        1 => Just(0u32),
        2 => 1u32..3_000,
        4 => 3_000u32..90_000,
        2 => 90_000u32..300_000,
    ];
    let operation = prop_oneof![
        2 => (0u8..2, bytes, replication)
            .prop_map(|(from, bytes, replication)| Operation::Submit { from, bytes, replication }),
        40 => (0u8..2).prop_map(|host| Operation::Transmit { host }),
        10 => any::<u16>().prop_map(|which| Operation::Deliver { which }),
        30 => Just(Operation::DeliverOldest),
        4 => any::<u16>().prop_map(|which| Operation::Drop { which }),
        3 => any::<u16>().prop_map(|which| Operation::Duplicate { which }),
        4 => any::<u16>().prop_map(|which| Operation::Mark { which }),
        6 => any::<u16>().prop_map(|which| Operation::Trim { which }),
        2 => any::<u16>().prop_map(|which| Operation::Return { which }),
        10 => (0u16..500).prop_map(|microseconds| Operation::Wait { microseconds }),
        2 => Just(Operation::Timeout),
    ];
    proptest::collection::vec(operation, 1..500)
}

/// State of one flow in the test.
#[derive(Default)]
pub struct Flow {
    pub bytes: u64,
    from: usize,
    established: u32,
    completed: u32,
    ended: u32,
    failed: bool,
    /// Whether each payload byte has reached the receiver.
    pub arrived: Vec<bool>,
    /// Symbols that have arrived, by block.
    pub symbols: BTreeMap<u32, BTreeSet<u32>>,
}

struct World<T> {
    passing: Passing<T>,
    flows: BTreeMap<u32, Flow>,
}

impl<T: Subject> passing::World<T> for World<T> {
    fn passing(&self) -> &Passing<T> {
        &self.passing
    }

    fn passing_mut(&mut self) -> &mut Passing<T> {
        &mut self.passing
    }

    fn collect(&mut self, host: usize) {
        while let Some(event) = self.passing.hosts[host].poll_event() {
            let (Event::Established(id)
            | Event::Completed(id)
            | Event::Closed(id, _)
            | Event::Failed(id, _)) = event
            else {
                panic!("{event:?} of a flow between two hosts");
            };
            let flow = self.flows.get_mut(&id.0).expect("an event of a known flow");
            let at_sender = host == flow.from;
            assert_eq!(
                at_sender,
                !matches!(event, Event::Completed(_)),
                "{event:?} at host {host}"
            );
            match event {
                Event::Established(_) => flow.established += 1,
                Event::Completed(_) => {
                    flow.completed += 1;
                    assert!(
                        T::suffices(flow),
                        "the flow is complete, but data is missing"
                    );
                }
                Event::Closed(_, stats) => {
                    flow.ended += 1;
                    assert!(
                        stats.payload_sent >= flow.bytes,
                        "the sender has sent less than the flow has: {stats:?}"
                    );
                    assert_eq!(
                        flow.completed, 1,
                        "the flow closed before the receiver had all data"
                    );
                }
                Event::Failed(_, _) => {
                    flow.ended += 1;
                    flow.failed = true;
                }
                Event::Arrived(..)
                | Event::Block(..)
                | Event::Opened(..)
                | Event::Received(..)
                | Event::Late(_)
                | Event::Straggling(..)
                | Event::Copy(..) => {}
            }
            assert!(
                flow.established <= 1 && flow.completed <= 1 && flow.ended <= 1,
                "{event:?} twice"
            );
        }
    }
}

impl<T: Subject> World<T> {
    fn new() -> Self {
        Self {
            passing: Passing {
                now: Time::ZERO,
                hosts: vec![T::fresh(HostId(0)), T::fresh(HostId(1))],
                on_the_way: Vec::new(),
            },
            flows: BTreeMap::new(),
        }
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Submit {
                from,
                bytes,
                replication,
            } => {
                self.submit(usize::from(from), u64::from(bytes), replication);
            }
            Operation::Transmit { host } => {
                self.transmit(usize::from(host));
            }
            Operation::Deliver { which } => self.at(which, Self::deliver),
            Operation::DeliverOldest => self.at(0, Self::deliver),
            Operation::Drop { which } => self.lose(which),
            Operation::Duplicate { which } => self.duplicate(which),
            Operation::Mark { which } => self.at(which, |world, at| {
                let ecn = &mut world.passing.on_the_way[at].2.ecn;
                if *ecn == Ecn::Capable {
                    *ecn = Ecn::Marked;
                }
            }),
            Operation::Trim { which } => self.at(which, |world, at| {
                let segment = &mut world.passing.on_the_way[at].2;
                if segment.trimmable && segment.condition == Condition::Whole {
                    segment.condition = Condition::Trimmed;
                }
            }),
            Operation::Return { which } => self.at(which, |world, at| {
                let (_, to, segment) = &mut world.passing.on_the_way[at];
                if segment.trimmable && segment.condition != Condition::Returned {
                    segment.condition = Condition::Returned;
                    *to = 1 - *to;
                }
            }),
            Operation::Wait { microseconds } => self.wait(u32::from(microseconds)),
            Operation::Timeout => self.time_out(),
        }
        self.check();
    }

    fn submit(&mut self, from: usize, bytes: u64, replication: Replication) {
        let flow = self.flows.len() as u32;
        let arrived = vec![false; bytes as usize];
        self.flows.insert(
            flow,
            Flow {
                bytes,
                from,
                arrived,
                ..Flow::default()
            },
        );
        let message = Message {
            flow: FlowId(flow),
            dst: HostId(1 - from as u32),
            bytes,
            path: PathPin::NONE,
            replication,
        };
        self.passing.hosts[from].submit(self.passing.now, message);
    }

    fn transmit(&mut self, host: usize) -> bool {
        let may = self.passing.hosts[host].has_transmit();
        let Some(segment) = self.passing.hosts[host].poll_transmit(self.passing.now) else {
            return false;
        };
        assert!(
            may,
            "has_transmit is false, but poll_transmit returned {segment:?}"
        );
        assert_eq!(
            segment.tuple.src.0 as usize, host,
            "a segment with the address of another host"
        );
        self.passing
            .on_the_way
            .push((self.passing.now, 1 - host, segment));
        true
    }

    fn deliver(&mut self, at: usize) {
        let (_, to, segment) = self.passing.on_the_way.remove(at);
        self.note_arrival(to, &segment);
        self.passing.hosts[to].on_segment(self.passing.now, segment);
        self.collect(to);
    }

    fn note_arrival(&mut self, to: usize, segment: &Segment) {
        let flow = self
            .flows
            .get_mut(&segment.flow.0)
            .expect("a segment of a known flow");
        if flow.from == to || segment.condition != Condition::Whole {
            return;
        }
        match T::cargo(segment) {
            Cargo::Bytes(bytes) if bytes.is_empty() => {}
            Cargo::Bytes(bytes) => {
                flow.arrived[bytes.start as usize..bytes.end as usize].fill(true);
            }
            Cargo::Symbol(block, esi) => {
                flow.symbols.entry(block).or_default().insert(esi);
            }
        }
    }

    fn check(&mut self) {
        for host in [0, 1] {
            self.collect(host);
            self.passing.hosts[host].assert_sane();
            let next = self.passing.hosts[host].next_timeout();
            if next.is_none_or(|at| at > self.passing.now) {
                let before = self.passing.hosts[host].has_transmit();
                self.passing.hosts[host].on_timeout(self.passing.now);
                assert_eq!(
                    before,
                    self.passing.hosts[host].has_transmit(),
                    "an early call of on_timeout had an effect"
                );
                assert_eq!(next, self.passing.hosts[host].next_timeout());
            }
        }
    }

    /// Runs without loss and in order, after the operations. Every flow must complete.
    fn finish(&mut self) {
        for step in 0.. {
            assert!(step < 200_000, "the flows do not end");
            let mut moved = false;
            for host in [0, 1] {
                moved |= self.transmit(host);
            }
            if !self.passing.on_the_way.is_empty() {
                self.deliver(0);
                moved = true;
            }
            let goes_on = self.let_time_pass(moved);
            self.check();
            if !goes_on {
                break;
            }
        }
        for (id, flow) in &self.flows {
            assert!(!flow.failed, "flow {id} failed");
            assert_eq!(
                flow.completed, 1,
                "flow {id} of {} bytes did not complete",
                flow.bytes
            );
            assert_eq!(flow.established, 1, "flow {id}");
            assert_eq!(flow.ended, 1, "flow {id} did not end at its sender");
        }
        for host in &self.passing.hosts {
            host.assert_released();
        }
    }
}

/// Runs `operations` and then lets all flows complete.
pub fn check<T: Subject>(operations: Vec<Operation>) {
    let mut world = World::<T>::new();
    for operation in operations {
        world.apply(operation);
    }
    world.finish();
}

/// Defines a newtype around a transport, so that a test can add its own checks.
macro_rules! subject {
    ($name:ident, $inner:ty) => {
        struct $name($inner);

        impl tailcut_transport::Transport for $name {
            fn submit(&mut self, now: tailcut_units::Time, message: tailcut_transport::Message) {
                self.0.submit(now, message);
            }
            fn on_segment(
                &mut self,
                now: tailcut_units::Time,
                segment: tailcut_transport::Segment,
            ) {
                self.0.on_segment(now, segment);
            }
            fn on_timeout(&mut self, now: tailcut_units::Time) {
                self.0.on_timeout(now);
            }
            fn poll_transmit(
                &mut self,
                now: tailcut_units::Time,
            ) -> Option<tailcut_transport::Segment> {
                self.0.poll_transmit(now)
            }
            fn has_transmit(&self) -> bool {
                self.0.has_transmit()
            }
            fn poll_event(&mut self) -> Option<tailcut_transport::Event> {
                self.0.poll_event()
            }
            fn next_timeout(&self) -> Option<tailcut_units::Time> {
                self.0.next_timeout()
            }
            fn unfinished(&self) -> Vec<(tailcut_units::FlowId, tailcut_transport::FlowStats)> {
                self.0.unfinished()
            }
        }
    };
}
pub(crate) use subject;
