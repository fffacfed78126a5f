//! The flows of one server over real sockets: [`FlowsByName`] under the rules of a server whose clients
//! may be anybody's. A tombstone never goes before its time, and a server that could not remember one
//! more takes no new flow.

use super::flows_by_name::{FlowsByName, Holder, Ticket};
use super::state::Leg;
use tailcut_units::{Duration, Time};

/// Where a leg belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place<F> {
    /// It opens a flow.
    New,
    /// It would open one, which could not be remembered after its end.
    Full,
    /// Its flow has ended.
    Late,
    /// It is one of this flow, which may or may not take it.
    Known(F),
}

/// The flows of one server. `K` names a flow on the wire, `F` in the driver.
#[derive(Debug)]
pub struct FlowTable<K, F> {
    /// Keys come again: they are a client's address and port. A leg that its flow has seen already
    /// is the first of a new one then.
    reusable: bool,
    lifetime: Duration,
    limit: usize,
    flows: FlowsByName<K, F>,
    /// With reusable keys: until then flows may have ended that could not be remembered.
    blind_until: Time,
}

impl<K: Ord + Copy, F: Clone> FlowTable<K, F> {
    /// A table that remembers ended flows for `lifetime`, and at most `limit` flows, those that
    /// live included. `reusable`: keys are addresses of clients, not random.
    pub const fn new(reusable: bool, lifetime: Duration, limit: usize) -> Self {
        Self {
            reusable,
            lifetime,
            limit,
            flows: FlowsByName::new(),
            blind_until: Time::ZERO,
        }
    }

    /// Where a leg that has come belongs.
    pub fn place(&mut self, now: Time, key: &K, leg: Leg) -> Place<F> {
        self.forget(now);
        let may_open = self.may_open(now, leg);
        match self.flows.holder(key) {
            Holder::Live(live) => match self.reusable && live.seen.has(leg) {
                true => Place::New,
                false => Place::Known(live.flow.clone()),
            },
            Holder::Ended(stone) if !self.reusable => {
                let until = now.saturating_add(self.lifetime);
                let seen = stone.seen.with(leg);
                self.flows.bury(*key, seen, stone.entered, until);
                Place::Late
            }
            Holder::Ended(stone) if !stone.seen.has(leg) => {
                self.flows.dig_up(key);
                Place::Late
            }
            _ if may_open => Place::New,
            _ => Place::Full,
        }
    }

    /// Whether a new flow can be remembered after its end. With reusable keys nobody can be told
    /// to go elsewhere: a first leg is taken all the same, and second ones are turned away as long
    /// as one of them may belong to a flow that was not remembered.
    fn may_open(&self, now: Time, leg: Leg) -> bool {
        if self.reusable && leg == Leg::First {
            return true;
        }
        self.flows.len() + self.flows.tombstones() < self.limit
            && !(self.reusable && now < self.blind_until)
    }

    /// A new flow lives at `now`, whose first leg was `leg`.
    pub fn add(&mut self, now: Time, key: K, leg: Leg, flow: F) -> Ticket {
        self.flows.add(now, key, leg, flow)
    }

    /// A leg has come to a flow that lives, whether or not it was taken.
    pub fn saw(&mut self, key: &K, leg: Leg) {
        if let Holder::Live(live) = self.flows.holder(key) {
            live.seen = live.seen.with(leg);
        }
    }

    /// The flow of this key, while it lives.
    pub fn live(&self, key: &K) -> Option<F> {
        self.flows.live(key).map(|live| live.flow.clone())
    }

    /// A flow has ended: a tombstone takes its place if a leg of it may still come.
    pub fn bury(&mut self, now: Time, key: &K, ticket: Ticket) {
        self.forget(now);
        let Some(live) = self.flows.end(key, ticket) else {
            return;
        };
        if live.seen.missing().is_none() {
            return;
        }
        let until = now.saturating_add(self.lifetime);
        if self.reusable && self.flows.tombstones() >= self.limit {
            self.blind_until = until;
        } else {
            self.flows.bury(*key, live.seen, live.entered, until);
        }
    }

    fn forget(&mut self, now: Time) {
        while self.flows.pop_forgotten(now, usize::MAX).is_some() {}
    }

    /// Nothing comes any more: nothing has to be remembered. The flows that live.
    pub fn stop(&mut self) -> impl Iterator<Item = F> + '_ {
        self.flows.forget_all_tombstones();
        self.flows.flows().cloned()
    }

    /// Flows that live.
    pub fn len(&self) -> usize {
        self.flows.len()
    }
    /// Whether no flow lives.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Flows that have ended and are remembered.
    pub fn tombstones(&self) -> usize {
        self.flows.tombstones()
    }
}
