//! Flows of a server by name: live flows, and *tombstones* of flows that ended while one of their legs may
//! still arrive. A leg that finds a tombstone is rejected. If it counted as a new flow, the request would run
//! twice.
//!
//! Two servers use it: the simulated server with its [`WaitingList`](super::WaitingList), where a name is a
//! client's address, and the server over real sockets with its [`FlowTable`](super::FlowTable). They differ
//! in the lifetime of a tombstone, and in the treatment of a leg that finds one.

use super::state::Leg;
use alloc::collections::{BTreeMap, VecDeque};
use tailcut_units::Time;

/// Number of a flow's entry. It stays unique when the flow's name is used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(u64);

/// Set of the legs of a flow that have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LegSet(u8);

impl LegSet {
    pub const fn first(leg: Leg) -> Self {
        Self(1 << leg as u8)
    }

    pub const fn has(self, leg: Leg) -> bool {
        self.0 & (1 << leg as u8) != 0
    }

    pub const fn with(self, leg: Leg) -> Self {
        Self(self.0 | (1 << leg as u8))
    }

    /// Returns the leg that has not arrived.
    pub fn missing(self) -> Option<Leg> {
        Leg::ALL.into_iter().find(|leg| !self.has(*leg))
    }
}

/// Entry of a live flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live<F> {
    pub ticket: Ticket,
    pub seen: LegSet,
    /// Arrival of the first leg.
    pub entered: Time,
    pub flow: F,
}

/// Entry of a flow that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tombstone {
    pub seen: LegSet,
    pub entered: Time,
    /// Time of removal. It identifies the valid entry of `by_time` if there are several for one name.
    until: Time,
}

/// Flow that a name belongs to.
pub(super) enum Holder<'a, F> {
    Nobody,
    Live(&'a mut Live<F>),
    Ended(Tombstone),
}

/// Live flows and tombstones by name. `K` is the name of a flow, `F` the data that its owner stores.
#[derive(Debug)]
pub(super) struct FlowsByName<K, F> {
    live: BTreeMap<K, Live<F>>,
    tombstones: BTreeMap<K, Tombstone>,
    /// Removal times of tombstones, in the order of their creation. Entries of removed tombstones stay in it.
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

    /// Adds a new live flow, whose first leg was `leg`.
    pub fn add(&mut self, now: Time, name: K, leg: Leg, flow: F) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        // The new flow replaces the tombstone of an old flow with the same name.
        self.tombstones.remove(&name);
        let live = Live {
            ticket,
            seen: LegSet::first(leg),
            entered: now,
            flow,
        };
        self.live.insert(name, live);
        ticket
    }

    /// Ends a live flow and returns its entry.
    pub fn end(&mut self, name: &K, ticket: Ticket) -> Option<Live<F>> {
        self.live_mut(name, ticket)?;
        self.live.remove(name)
    }

    /// Adds a tombstone until a given time, which is never earlier than the times of older tombstones. It
    /// replaces a tombstone of the same name.
    pub fn bury(&mut self, name: K, seen: LegSet, entered: Time, until: Time) {
        let stone = Tombstone {
            seen,
            entered,
            until,
        };
        self.tombstones.insert(name, stone);
        self.by_time.push_back((until, name));
        // A leg that arrives again and again leaves old times in the queue, so the queue is cleaned when most
        // entries are old.
        // The 64 entries keep a short queue from a cleaning at every call.
        if self.by_time.len() > 2 * self.tombstones.len() + 64 {
            let stones = &self.tombstones;
            let stands = |(at, name): &(Time, K)| stones.get(name).is_some_and(|s| s.until == *at);
            self.by_time.retain(stands);
        }
    }

    pub fn dig_up(&mut self, name: &K) {
        self.tombstones.remove(name);
    }

    /// Removes a tombstone that has expired at `now`, or the oldest of more than `most`. Call it until it
    /// returns `None`.
    pub fn pop_forgotten(&mut self, now: Time, most: usize) -> Option<(K, LegSet)> {
        loop {
            let (at, name) = *self.by_time.front()?;
            if at > now && self.tombstones.len() <= most {
                return None;
            }
            self.by_time.pop_front();
            let stone = self.tombstones.get(&name);
            // A tombstone that was renewed has a later entry in `by_time`, so this entry is obsolete.
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
