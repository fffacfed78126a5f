//! Flows of one server over real sockets.
//! [`FlowTable`] is a [`FlowsByName`] with the rules of a server for unknown clients.
//! A tombstone is never removed early. A server that cannot store another tombstone accepts no new flow.

use super::flows_by_name::{FlowsByName, Holder, Ticket};
use super::state::Leg;
use tailcut_units::{Duration, Time};

/// Decision about an arriving connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement<F> {
    /// The connection opens a flow.
    New,
    /// The connection would open a flow, but the table could not remember the flow after its end.
    Full,
    /// The flow of the connection has ended.
    Late,
    /// The connection belongs to this flow, which may accept or reject it.
    Known(F),
}

/// Flows of one server. `K` is the identifier of a flow on the wire, and `F` is the handle of the flow in the driver.
#[derive(Debug)]
pub struct FlowTable<K, F> {
    /// Whether keys are used again, because they are addresses and ports of clients.
    /// If keys are used again, a connection that the flow has already seen is the first connection of a new flow.
    reusable: bool,
    lifetime: Duration,
    limit: usize,
    flows: FlowsByName<K, F>,
    /// With reusable keys: time until which second connections of flows without a tombstone may arrive.
    blind_until: Time,
}

impl<K: Ord + Copy, F: Clone> FlowTable<K, F> {
    /// Creates a table that remembers ended flows for `lifetime`.
    /// The table holds at most `limit` flows, including flows that have not ended.
    /// `reusable` means that keys are addresses of clients, not random numbers.
    pub const fn new(reusable: bool, lifetime: Duration, limit: usize) -> Self {
        Self {
            reusable,
            lifetime,
            limit,
            flows: FlowsByName::new(),
            blind_until: Time::ZERO,
        }
    }

    /// Returns the decision about a connection that has arrived.
    pub fn place(&mut self, now: Time, key: &K, leg: Leg) -> Placement<F> {
        self.forget(now);
        let may_open = self.may_open(now, leg);
        match self.flows.holder(key) {
            Holder::Live(live) => match self.reusable && live.seen.has(leg) {
                true => Placement::New,
                false => Placement::Known(live.flow.clone()),
            },
            // A random key is never used again, so every further connection is late.
            // Each late connection extends the tombstone.
            Holder::Ended(stone) if !self.reusable => {
                let until = now.saturating_add(self.lifetime);
                let seen = stone.seen.with(leg);
                self.flows.bury(*key, seen, stone.entered, until);
                Placement::Late
            }
            // The missing connection has arrived. No further connection can arrive, so the tombstone is removed.
            Holder::Ended(stone) if !stone.seen.has(leg) => {
                self.flows.dig_up(key);
                Placement::Late
            }
            _ if may_open => Placement::New,
            _ => Placement::Full,
        }
    }

    /// Returns whether a new flow can be remembered after its end.
    /// With reusable keys the server cannot redirect a client, so a first connection is always accepted.
    /// Second connections are rejected while they may belong to a flow without a tombstone.
    fn may_open(&self, now: Time, leg: Leg) -> bool {
        if self.reusable && leg == Leg::First {
            return true;
        }
        self.flows.len() + self.flows.tombstones() < self.limit
            && !(self.reusable && now < self.blind_until)
    }

    /// Adds a new flow at `now`. Its first connection to arrive was `leg`.
    pub fn add(&mut self, now: Time, key: K, leg: Leg, flow: F) -> Ticket {
        self.flows.add(now, key, leg, flow)
    }

    /// Records that a connection of a live flow has arrived, whether or not the flow accepted it.
    pub fn saw(&mut self, key: &K, leg: Leg) {
        if let Holder::Live(live) = self.flows.holder(key) {
            live.seen = live.seen.with(leg);
        }
    }

    /// Returns the flow of this key, if it is live.
    pub fn live(&self, key: &K) -> Option<F> {
        self.flows.live(key).map(|live| live.flow.clone())
    }

    /// Ends a flow. A tombstone replaces the flow if a connection may still arrive.
    pub fn bury(&mut self, now: Time, key: &K, ticket: Ticket) {
        self.forget(now);
        let Some(live) = self.flows.end(key, ticket) else {
            return;
        };
        if live.seen.missing().is_none() {
            return;
        }
        let until = now.saturating_add(self.lifetime);
        // The table cannot store a tombstone.
        // Second connections are therefore rejected for the lifetime of a tombstone that the table cannot store.
        if self.reusable && self.flows.tombstones() >= self.limit {
            self.blind_until = until;
        } else {
            self.flows.bury(*key, live.seen, live.entered, until);
        }
    }

    fn forget(&mut self, now: Time) {
        while self.flows.pop_forgotten(now, usize::MAX).is_some() {}
    }

    /// Stops the table, because no more connections arrive, and removes all tombstones. Returns the live flows.
    pub fn stop(&mut self) -> impl Iterator<Item = F> + '_ {
        self.flows.forget_all_tombstones();
        self.flows.flows().cloned()
    }

    /// Returns the number of live flows.
    pub fn len(&self) -> usize {
        self.flows.len()
    }
    /// Returns whether the table has no live flow.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the number of ended flows that the table remembers.
    pub fn tombstones(&self) -> usize {
        self.flows.tombstones()
    }
}
