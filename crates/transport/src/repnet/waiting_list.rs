//! The server's waiting list (RepNet paper, III-D): flows whose second connection has not come,
//! named by the client's address and port.
//!
//! Two mends of the paper's list. A flow's name stays known as long as the flow lives, on the list
//! or off it; and a flow that ends with one connection seen leaves a *tombstone*: a second
//! connection that comes then would be taken for a new flow, and the request would run twice. A
//! tombstone outlives its flow by two timeouts, in which the client has sent its last SYN of it (it
//! gives up one timeout after the first connection was established, see
//! [`Endpoint`](super::Endpoint)). A connection whose SYN came earlier, but whose handshake is not
//! finished when the last memory of the flow goes, is to be reset then: the list names it. Memory is
//! bounded by the live flows and a number of tombstones, of which the oldest go first.

use super::state::Leg;
use crate::tcp::demux::{Demux, Key};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::{Duration, FiveTuple, HostId, Time};

/// Tombstones that are kept at most.
const MAX_TOMBSTONES: usize = 1 << 16;

/// What names a flow at its server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientAddress {
    /// The client.
    pub host: HostId,
    /// The port that both connections come from.
    pub port: u16,
}

impl ClientAddress {
    fn key(self) -> Key {
        Key::of_arriving(&FiveTuple {
            src: self.host,
            src_port: self.port,
            ..FiveTuple::default()
        })
    }
}

/// Names an entry as long as its flow lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryId(u32);

/// What a connection that has just arrived is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival<T> {
    /// The first of a new flow.
    First,
    /// The second of a flow that waits for it.
    Second(T),
    /// One of a flow that takes none (any more).
    Late(T),
    /// The second of a flow that has ended, while it would still have waited: to be let run to its
    /// end for nothing.
    AfterTheEnd,
    /// The same, later: to be turned away.
    TooLate,
}

/// A connection of a flow that has ended, which may be in its handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unseen {
    /// Where it would come from.
    pub client: ClientAddress,
    /// Which of the two it would be.
    pub leg: Leg,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    Waiting,
    /// On the list without a timeout: the second connection must come and be turned away.
    Kept,
    /// The flow lives and takes no connection.
    Settled,
    Buried,
    Free,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    client: ClientAddress,
    flow: T,
    entered: Time,
    generation: u32,
    standing: Standing,
    /// One bit a leg.
    seen: u8,
}

impl<T> Entry<T> {
    fn unseen(&self) -> Option<Unseen> {
        let unseen = |leg: &Leg| self.seen & (1 << *leg as u8) == 0;
        let leg = Leg::ALL.into_iter().find(unseen)?;
        Some(Unseen {
            client: self.client,
            leg,
        })
    }
}

/// An entry at one time, for a queue that may outlive it.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Time,
    slot: u32,
    generation: u32,
}

/// The waiting list of one server. `T` names a flow.
#[derive(Debug)]
pub struct WaitingList<T> {
    timeout: Duration,
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    index: Demux,
    /// By time, since all wait equally long.
    timeouts: VecDeque<Due>,
    tombstones: VecDeque<Due>,
}

impl<T: Copy> WaitingList<T> {
    /// A list whose entries wait for `timeout`.
    pub fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            entries: Vec::new(),
            free: Vec::new(),
            index: Demux::new(),
            timeouts: VecDeque::new(),
            tombstones: VecDeque::new(),
        }
    }

    /// Sorts a connection that arrived from `client` as `leg`, and notes that it was seen.
    pub fn arrival(&mut self, now: Time, client: ClientAddress, leg: Leg) -> Arrival<T> {
        let Some(slot) = self.index.get(client.key()) else {
            return Arrival::First;
        };
        let entry = &mut self.entries[slot as usize];
        let bit = 1 << leg as u8;
        let again = entry.seen & bit != 0;
        entry.seen |= bit;
        match entry.standing {
            Standing::Waiting if !again => Arrival::Second(entry.flow),
            Standing::Buried => {
                // Both connections have been seen: no other can come. A connection that has been
                // seen before belongs to a new flow from the same port.
                let in_time = now < entry.entered.saturating_add(self.timeout);
                self.remove(slot);
                match (again, in_time) {
                    (true, _) => Arrival::First,
                    (false, true) => Arrival::AfterTheEnd,
                    (false, false) => Arrival::TooLate,
                }
            }
            _ => Arrival::Late(entry.flow),
        }
    }

    /// Puts `flow` on the list, whose first connection came from `client` as `leg`. The client must
    /// have no entry.
    pub fn enter(&mut self, now: Time, client: ClientAddress, leg: Leg, flow: T) -> EntryId {
        let entry = Entry {
            client,
            flow,
            entered: now,
            generation: 0,
            standing: Standing::Waiting,
            seen: 1 << leg as u8,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                let place = &mut self.entries[slot as usize];
                *place = Entry {
                    generation: place.generation,
                    ..entry
                };
                slot
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        self.index.insert(client.key(), slot);
        self.timeouts.push_back(Due {
            at: now.saturating_add(self.timeout),
            slot,
            generation: self.entries[slot as usize].generation,
        });
        EntryId(slot)
    }

    /// Takes a flow off the list. Its name stays known.
    pub fn leave(&mut self, entry: EntryId) {
        self.stand(entry, Standing::Settled);
    }

    /// The flow stays on the list without a timeout.
    pub fn keep(&mut self, entry: EntryId) {
        self.stand(entry, Standing::Kept);
    }

    fn stand(&mut self, EntryId(slot): EntryId, standing: Standing) {
        self.entries[slot as usize].standing = standing;
        self.skip_stale_timeouts();
    }

    /// The flow has ended: a tombstone takes its place if a connection of it may still come. The
    /// entry's id names nothing any more. Without a tombstone, gives the connection that was never
    /// seen.
    pub fn bury(&mut self, now: Time, EntryId(slot): EntryId) -> Option<Unseen> {
        let lifetime = self.timeout.saturating_mul(2);
        let entry = &mut self.entries[slot as usize];
        let unseen = entry.unseen();
        if unseen.is_none() || entry.entered.saturating_add(lifetime) <= now {
            self.remove(slot);
            return unseen;
        }
        entry.standing = Standing::Buried;
        self.tombstones.push_back(Due {
            at: now.saturating_add(lifetime),
            slot,
            generation: entry.generation,
        });
        self.skip_stale_timeouts();
        None
    }

    /// Forgets a flow whose tombstone is too old at `now`, or one too many, and gives the connection
    /// of it that was never seen. To be called until `None` now and then.
    pub fn pop_forgotten(&mut self, now: Time) -> Option<Unseen> {
        loop {
            let due = *self.tombstones.front()?;
            if due.at > now && self.tombstones.len() <= MAX_TOMBSTONES {
                return None;
            }
            self.tombstones.pop_front();
            let entry = &self.entries[due.slot as usize];
            if entry.generation == due.generation {
                let unseen = entry.unseen();
                self.remove(due.slot);
                return unseen;
            }
        }
    }

    /// A flow that has waited for too long by `now`.
    pub fn pop_timed_out(&mut self, now: Time) -> Option<T> {
        let due = *self.timeouts.front().filter(|due| due.at <= now)?;
        self.timeouts.pop_front();
        let flow = self.entries[due.slot as usize].flow;
        self.skip_stale_timeouts();
        Some(flow)
    }

    /// When [`pop_timed_out`](Self::pop_timed_out) will give a flow, unless something happens to it.
    pub fn next_timeout(&self) -> Option<Time> {
        self.timeouts.front().map(|due| due.at)
    }

    /// Flows that live.
    pub fn live(&self) -> usize {
        let lives =
            |entry: &&Entry<T>| !matches!(entry.standing, Standing::Buried | Standing::Free);
        self.entries.iter().filter(lives).count()
    }

    /// Flows that have ended and are remembered.
    pub fn tombstones(&self) -> usize {
        let buried = |entry: &&Entry<T>| entry.standing == Standing::Buried;
        self.entries.iter().filter(buried).count()
    }

    /// The first timeout in the queue is always one that counts.
    fn skip_stale_timeouts(&mut self) {
        while let Some(due) = self.timeouts.front() {
            let entry = &self.entries[due.slot as usize];
            if entry.generation == due.generation && entry.standing == Standing::Waiting {
                break;
            }
            self.timeouts.pop_front();
        }
    }

    fn remove(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.standing = Standing::Free;
        entry.generation = entry.generation.wrapping_add(1);
        self.index.remove(entry.client.key());
        self.free.push(slot);
        self.skip_stale_timeouts();
    }
}
