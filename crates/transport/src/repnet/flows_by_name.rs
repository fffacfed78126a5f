//! What a server remembers of its flows by their names: those that live, and *tombstones* of those that
//! ended while a leg of theirs may still come. A leg that finds a tombstone is turned away; taken for a
//! new flow it would run the request twice.
//!
//! Both servers stand on it: the simulated one with its [`WaitingList`](super::WaitingList), where a
//! name is a client's address, and the one over real sockets with its [`FlowTable`](super::FlowTable).
//! They differ in when a tombstone goes and in what becomes of a leg that finds one.

use super::state::Leg;
use alloc::collections::{BTreeMap, VecDeque};
use tailcut_units::Time;

/// Names a flow's entry, also when its name is in use again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(u64);

/// The legs of a flow that have come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen(u8);

impl Seen {
    pub const fn first(leg: Leg) -> Self {
        Self(1 << leg as u8)
    }

    pub const fn has(self, leg: Leg) -> bool {
        self.0 & (1 << leg as u8) != 0
    }

    pub const fn with(self, leg: Leg) -> Self {
        Self(self.0 | (1 << leg as u8))
    }

    /// The leg that has not come.
    pub fn missing(self) -> Option<Leg> {
        Leg::ALL.into_iter().find(|leg| !self.has(*leg))
    }
}

/// A flow that lives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live<F> {
    pub ticket: Ticket,
    pub seen: Seen,
    /// When its first leg came.
    pub entered: Time,
    pub flow: F,
}

/// A flow that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tombstone {
    pub seen: Seen,
    pub entered: Time,
    /// The last of several with one name is the one that counts.
    until: Time,
}

/// Who has a name.
pub(super) enum Holder<'a, F> {
    Nobody,
    Live(&'a mut Live<F>),
    Ended(Tombstone),
}

/// See the module. `K` names a flow, `F` is what its owner keeps of it.
#[derive(Debug)]
pub(super) struct FlowsByName<K, F> {
    live: BTreeMap<K, Live<F>>,
    tombstones: BTreeMap<K, Tombstone>,
    /// When tombstones go, in the order in which they were put up; those that went before are
    /// among them.
    by_time: VecDeque<(Time, K)>,
    tickets: u64,
}

impl<K: Ord + Copy, F> FlowsByName<K, F> {
    pub const fn new() -> Self {
        Self {
            live: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            by_time: VecDeque::new(),
            tickets: 0,
        }
    }

    pub fn holder(&mut self, name: &K) -> Holder<'_, F> {
        match (self.live.get_mut(name), self.tombstones.get(name)) {
            (Some(live), _) => Holder::Live(live),
            (None, Some(stone)) => Holder::Ended(*stone),
            (None, None) => Holder::Nobody,
        }
    }

    pub fn live(&self, name: &K) -> Option<&Live<F>> {
        self.live.get(name)
    }

    pub fn live_mut(&mut self, name: &K, ticket: Ticket) -> Option<&mut Live<F>> {
        let live = self.live.get_mut(name)?;
        (live.ticket == ticket).then_some(live)
    }

    /// A new flow lives, whose first leg was `leg`.
    pub fn add(&mut self, now: Time, name: K, leg: Leg, flow: F) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.tombstones.remove(&name);
        let live = Live {
            ticket,
            seen: Seen::first(leg),
            entered: now,
            flow,
        };
        self.live.insert(name, live);
        ticket
    }

    /// A flow lives no longer.
    pub fn end(&mut self, name: &K, ticket: Ticket) -> Option<Live<F>> {
        self.live_mut(name, ticket)?;
        self.live.remove(name)
    }

    /// Puts a tombstone up until some time, never earlier than those before. One of the same name goes.
    pub fn bury(&mut self, name: K, seen: Seen, entered: Time, until: Time) {
        let stone = Tombstone {
            seen,
            entered,
            until,
        };
        self.tombstones.insert(name, stone);
        self.by_time.push_back((until, name));
        // A leg that comes again and again leaves its old times behind.
        if self.by_time.len() > 2 * self.tombstones.len() + 64 {
            let stones = &self.tombstones;
            let stands = |(at, name): &(Time, K)| stones.get(name).is_some_and(|s| s.until == *at);
            self.by_time.retain(stands);
        }
    }

    pub fn dig_up(&mut self, name: &K) {
        self.tombstones.remove(name);
    }

    /// Forgets a flow whose tombstone is too old at `now`, or one of more than `most`. To be called
    /// until `None`.
    pub fn pop_forgotten(&mut self, now: Time, most: usize) -> Option<(K, Seen)> {
        loop {
            let (at, name) = *self.by_time.front()?;
            if at > now && self.tombstones.len() <= most {
                return None;
            }
            self.by_time.pop_front();
            let stone = self.tombstones.get(&name);
            if let Some(seen) = stone.filter(|stone| stone.until == at).map(|s| s.seen) {
                self.tombstones.remove(&name);
                return Some((name, seen));
            }
        }
    }

    pub fn forget_all_tombstones(&mut self) {
        self.tombstones.clear();
        self.by_time.clear();
    }

    pub fn flows(&self) -> impl Iterator<Item = &F> {
        self.live.values().map(|live| &live.flow)
    }

    pub fn len(&self) -> usize {
        self.live.len()
    }

    pub fn tombstones(&self) -> usize {
        self.tombstones.len()
    }
}
