//! Flows of a server by identifier.
//! The table contains live flows, and *tombstones* of ended flows whose second connection may still arrive.
//! A connection that meets a tombstone is rejected. If it opened a new flow, the request would run twice.
//!
//! Two servers use this table.
//! The simulated server uses the table of names in its [`WaitingList`](super::WaitingList).
//! In the waiting list, a client's address identifies a flow.
//! The server over real sockets uses the table in its [`FlowTable`](super::FlowTable).
//! This table and `FlowTable` differ in the lifetime of a tombstone, and in the reaction to a late second connection.

use super::state::Leg;
use alloc::collections::{BTreeMap, VecDeque};
use tailcut_units::Time;

/// Number of a flow's entry. The number stays unique when another flow uses the same identifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(u64);

/// Set of the connections of a flow that have arrived.
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

    /// Returns the connection that has not arrived.
    pub fn missing(self) -> Option<Leg> {
        Leg::ALL.into_iter().find(|leg| !self.has(*leg))
    }
}

/// Entry of a live flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live<F> {
    pub ticket: Ticket,
    pub seen: LegSet,
    /// Arrival time of the first connection.
    pub entered: Time,
    pub flow: F,
}

/// Entry of a flow that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tombstone {
    pub seen: LegSet,
    pub entered: Time,
    /// Time of removal. It identifies the valid entry of `by_time` if one flow has several entries.
    until: Time,
}

/// Flow to which an identifier belongs.
pub(super) enum Holder<'a, F> {
    Nobody,
    Live(&'a mut Live<F>),
    Ended(Tombstone),
}

/// Live flows and tombstones by identifier.
/// `K` identifies a flow, and `F` is the data that the owner of the table stores.
#[derive(Debug)]
pub(super) struct FlowsByName<K, F> {
    live: BTreeMap<K, Live<F>>,
    tombstones: BTreeMap<K, Tombstone>,
    /// Removal times of tombstones, in the order of their creation. Entries of removed tombstones stay in the queue.
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

    /// Adds a new live flow. Its first connection to arrive was `leg`.
    pub fn add(&mut self, now: Time, name: K, leg: Leg, flow: F) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        // The new flow replaces the tombstone of an old flow with the same identifier.
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

    /// Adds a tombstone that stays until `until`, which is never before the times of older tombstones.
    /// The new tombstone replaces a tombstone with the same identifier.
    pub fn bury(&mut self, name: K, seen: LegSet, entered: Time, until: Time) {
        let stone = Tombstone {
            seen,
            entered,
            until,
        };
        self.tombstones.insert(name, stone);
        self.by_time.push_back((until, name));
        // A connection that arrives again and again leaves old times in the queue.
        // The queue of tombstones is cleaned when most entries are old.
        // A minimum of 64 avoids frequent cleaning of a short queue.
        if self.by_time.len() > 2 * self.tombstones.len() + 64 {
            let stones = &self.tombstones;
            let stands = |(at, name): &(Time, K)| stones.get(name).is_some_and(|s| s.until == *at);
            self.by_time.retain(stands);
        }
    }

    pub fn dig_up(&mut self, name: &K) {
        self.tombstones.remove(name);
    }

    /// Removes a tombstone that has expired at `now`, or the oldest of more than `most` tombstones.
    /// Call this method until it returns `None`.
    pub fn pop_forgotten(&mut self, now: Time, most: usize) -> Option<(K, LegSet)> {
        loop {
            let (at, name) = *self.by_time.front()?;
            if at > now && self.tombstones.len() <= most {
                return None;
            }
            self.by_time.pop_front();
            let stone = self.tombstones.get(&name);
            // A tombstone that was renewed has a later entry in `by_time`, so this entry is invalid.
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
