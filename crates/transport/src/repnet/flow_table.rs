//! The flows of one server over real sockets: those that live, and *tombstones* of flows that have
//! ended while a leg of theirs may still be on its way. A leg that finds a tombstone is turned
//! away; taken for a new flow it would run the request twice.
//!
//! The simulated endpoint has its [`WaitingList`](super::WaitingList), the paper's, which knows a
//! flow by its client's address alone and when a client sends its last SYN. Here a client may be
//! anybody's: a tombstone never goes before its time, and a server that could not remember one
//! more takes no new flow.

use super::state::Leg;
use alloc::collections::{BTreeMap, VecDeque};
use tailcut_units::{Duration, Time};

/// Names a flow's entry, also when its key is in use again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(u64);

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

#[derive(Clone, Copy, Debug)]
struct Live<F> {
    ticket: Ticket,
    /// One bit a leg.
    seen: u8,
    flow: F,
}

#[derive(Clone, Copy, Debug)]
struct Tombstone {
    seen: u8,
    /// The last of several with one key is the one that counts.
    until: Time,
}

/// The flows of one server. `K` names a flow on the wire, `F` in the driver.
#[derive(Debug)]
pub struct FlowTable<K, F> {
    /// Keys come again: they are a client's address and port. A leg that its flow has seen already
    /// is the first of a new one then.
    reusable: bool,
    lifetime: Duration,
    limit: usize,
    live: BTreeMap<K, Live<F>>,
    tombstones: BTreeMap<K, Tombstone>,
    by_time: VecDeque<(Time, K)>,
    /// With reusable keys: until then flows may have ended that could not be remembered.
    blind_until: Time,
    tickets: u64,
}

const BOTH: u8 = 0b11;

const fn bit(leg: Leg) -> u8 {
    1 << leg as u8
}

impl<K: Ord + Copy, F: Clone> FlowTable<K, F> {
    /// A table that remembers ended flows for `lifetime`, and at most `limit` flows, those that
    /// live included. `reusable`: keys are addresses of clients, not random.
    pub const fn new(reusable: bool, lifetime: Duration, limit: usize) -> Self {
        Self {
            reusable,
            lifetime,
            limit,
            live: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            by_time: VecDeque::new(),
            blind_until: Time::ZERO,
            tickets: 0,
        }
    }

    /// Where a leg that has come belongs.
    pub fn place(&mut self, now: Time, key: &K, leg: Leg) -> Place<F> {
        self.forget(now);
        if let Some(live) = self.live.get(key) {
            return match self.reusable && live.seen & bit(leg) != 0 {
                true => Place::New,
                false => Place::Known(live.flow.clone()),
            };
        }
        let seen = self.tombstones.get(key).map(|stone| stone.seen);
        match seen {
            Some(seen) if !self.reusable => {
                self.bury_key(now, *key, seen | bit(leg));
                Place::Late
            }
            Some(seen) if seen & bit(leg) == 0 => {
                self.tombstones.remove(key);
                Place::Late
            }
            _ if self.may_open(now, leg) => Place::New,
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
        self.live.len() + self.tombstones.len() < self.limit
            && !(self.reusable && now < self.blind_until)
    }

    /// A new flow lives, whose first leg was `leg`.
    pub fn add(&mut self, key: K, leg: Leg, flow: F) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.tombstones.remove(&key);
        let seen = bit(leg);
        self.live.insert(key, Live { ticket, seen, flow });
        ticket
    }

    /// A leg has come to a flow that lives, whether or not it was taken.
    pub fn saw(&mut self, key: &K, leg: Leg) {
        if let Some(live) = self.live.get_mut(key) {
            live.seen |= bit(leg);
        }
    }

    /// The flow of this key, while it lives.
    pub fn live(&self, key: &K) -> Option<F> {
        self.live.get(key).map(|live| live.flow.clone())
    }

    /// A flow has ended: a tombstone takes its place if a leg of it may still come.
    pub fn bury(&mut self, now: Time, key: &K, ticket: Ticket) {
        self.forget(now);
        let Some(live) = self.live.get(key).filter(|live| live.ticket == ticket) else {
            return;
        };
        let seen = live.seen;
        self.live.remove(key);
        if seen == BOTH {
            return;
        }
        if self.reusable && self.tombstones.len() >= self.limit {
            self.blind_until = now.saturating_add(self.lifetime);
        } else {
            self.bury_key(now, *key, seen);
        }
    }

    fn bury_key(&mut self, now: Time, key: K, seen: u8) {
        let until = now.saturating_add(self.lifetime);
        self.tombstones.insert(key, Tombstone { seen, until });
        self.by_time.push_back((until, key));
        // A leg that comes again and again leaves its old times behind.
        if self.by_time.len() > 2 * self.tombstones.len() + 64 {
            let stones = &self.tombstones;
            let stands = |(at, key): &(Time, K)| stones.get(key).is_some_and(|s| s.until == *at);
            self.by_time.retain(stands);
        }
    }

    fn forget(&mut self, now: Time) {
        while let Some((at, key)) = self.by_time.front().copied()
            && at <= now
        {
            self.by_time.pop_front();
            if self.tombstones.get(&key).is_some_and(|s| s.until <= now) {
                self.tombstones.remove(&key);
            }
        }
    }

    /// Nothing comes any more: nothing has to be remembered. The flows that live.
    pub fn stop(&mut self) -> impl Iterator<Item = F> + '_ {
        self.tombstones.clear();
        self.by_time.clear();
        self.live.values().map(|live| live.flow.clone())
    }

    /// Flows that live.
    pub fn len(&self) -> usize {
        self.live.len()
    }
    /// Whether no flow lives.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }
    /// Flows that have ended and are remembered.
    pub fn tombstones(&self) -> usize {
        self.tombstones.len()
    }
}
