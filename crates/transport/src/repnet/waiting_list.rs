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

use super::flows_by_name::{FlowsByName, Holder, Seen, Ticket};
use super::state::Leg;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, HostId, Time};

/// Tombstones that are kept at most.
const MAX_TOMBSTONES: usize = 1 << 16;

/// What names a flow at its server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ClientAddress {
    /// The client.
    pub host: HostId,
    /// The port that both connections come from.
    pub port: u16,
}

/// Names an entry as long as its flow lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryId {
    client: ClientAddress,
    ticket: Ticket,
}

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
    /// The flow takes no connection.
    Settled,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    flow: T,
    standing: Standing,
}

fn unseen(client: ClientAddress, seen: Seen) -> Option<Unseen> {
    let leg = seen.missing()?;
    Some(Unseen { client, leg })
}

/// The waiting list of one server. `T` names a flow.
#[derive(Debug)]
pub struct WaitingList<T> {
    timeout: Duration,
    flows: FlowsByName<ClientAddress, Entry<T>>,
    /// By time, since all wait equally long.
    timeouts: VecDeque<(Time, EntryId)>,
}

impl<T: Copy> WaitingList<T> {
    /// A list whose entries wait for `timeout`.
    pub const fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            flows: FlowsByName::new(),
            timeouts: VecDeque::new(),
        }
    }

    /// Sorts a connection that arrived from `client` as `leg`, and notes that it was seen.
    pub fn arrival(&mut self, now: Time, client: ClientAddress, leg: Leg) -> Arrival<T> {
        match self.flows.holder(&client) {
            Holder::Nobody => Arrival::First,
            Holder::Live(live) => {
                let again = live.seen.has(leg);
                live.seen = live.seen.with(leg);
                match live.flow.standing {
                    Standing::Waiting if !again => Arrival::Second(live.flow.flow),
                    _ => Arrival::Late(live.flow.flow),
                }
            }
            Holder::Ended(stone) => {
                // Both connections have been seen: no other can come. A connection that has been
                // seen before belongs to a new flow from the same port.
                let in_time = now < stone.entered.saturating_add(self.timeout);
                self.flows.dig_up(&client);
                match (stone.seen.has(leg), in_time) {
                    (true, _) => Arrival::First,
                    (false, true) => Arrival::AfterTheEnd,
                    (false, false) => Arrival::TooLate,
                }
            }
        }
    }

    /// Puts `flow` on the list, whose first connection came from `client` as `leg`. The client must
    /// have no entry.
    pub fn enter(&mut self, now: Time, client: ClientAddress, leg: Leg, flow: T) -> EntryId {
        let standing = Standing::Waiting;
        let ticket = self.flows.add(now, client, leg, Entry { flow, standing });
        let entry = EntryId { client, ticket };
        let at = now.saturating_add(self.timeout);
        self.timeouts.push_back((at, entry));
        entry
    }

    /// Takes a flow off the list. Its name stays known.
    pub fn leave(&mut self, entry: EntryId) {
        self.stand(entry, Standing::Settled);
    }

    /// The flow stays on the list without a timeout.
    pub fn keep(&mut self, entry: EntryId) {
        self.stand(entry, Standing::Kept);
    }

    fn stand(&mut self, EntryId { client, ticket }: EntryId, standing: Standing) {
        if let Some(live) = self.flows.live_mut(&client, ticket) {
            live.flow.standing = standing;
        }
        self.skip_stale_timeouts();
    }

    /// The flow has ended: a tombstone takes its place if a connection of it may still come. The
    /// entry's id names nothing any more. Without a tombstone, gives the connection that was never
    /// seen.
    pub fn bury(&mut self, now: Time, EntryId { client, ticket }: EntryId) -> Option<Unseen> {
        let lifetime = self.timeout.saturating_mul(2);
        let live = self.flows.end(&client, ticket)?;
        self.skip_stale_timeouts();
        let unseen = unseen(client, live.seen)?;
        if live.entered.saturating_add(lifetime) <= now {
            return Some(unseen);
        }
        let until = now.saturating_add(lifetime);
        self.flows.bury(client, live.seen, live.entered, until);
        None
    }

    /// Forgets a flow whose tombstone is too old at `now`, or one too many, and gives the connection
    /// of it that was never seen. To be called until `None` now and then.
    pub fn pop_forgotten(&mut self, now: Time) -> Option<Unseen> {
        let (client, seen) = self.flows.pop_forgotten(now, MAX_TOMBSTONES)?;
        unseen(client, seen)
    }

    /// A flow that has waited for too long by `now`.
    pub fn pop_timed_out(&mut self, now: Time) -> Option<T> {
        let (_, entry) = *self.timeouts.front().filter(|(at, _)| *at <= now)?;
        self.timeouts.pop_front();
        let flow = self.flows.live_mut(&entry.client, entry.ticket)?.flow.flow;
        self.skip_stale_timeouts();
        Some(flow)
    }

    /// When [`pop_timed_out`](Self::pop_timed_out) will give a flow, unless something happens to it.
    pub fn next_timeout(&self) -> Option<Time> {
        self.timeouts.front().map(|(at, _)| *at)
    }

    /// Flows that live.
    pub fn live(&self) -> usize {
        self.flows.len()
    }

    /// Flows that have ended and are remembered.
    pub fn tombstones(&self) -> usize {
        self.flows.tombstones()
    }

    /// The first timeout in the queue is always one that counts.
    fn skip_stale_timeouts(&mut self) {
        while let Some((_, EntryId { client, ticket })) = self.timeouts.front().copied() {
            let live = self.flows.live_mut(&client, ticket);
            if live.is_some_and(|live| live.flow.standing == Standing::Waiting) {
                break;
            }
            self.timeouts.pop_front();
        }
    }
}
