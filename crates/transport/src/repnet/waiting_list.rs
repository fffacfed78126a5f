//! Waiting list of a server (RepNet paper, III-D): flows whose second connection has not arrived.
//! The client's address and port identify a flow.
//!
//! The list has two changes to the paper.
//! First, the list remembers every flow that has not ended, even after the flow has left the waiting list.
//! Second, a flow that ends after only one of its connections has arrived leaves a *tombstone*.
//! Without a tombstone, a later second connection would count as a new flow, and the request would run twice.
//!
//! A tombstone stays for two timeouts after the end of its flow.
//! Within two timeouts, the client sends its last SYN of the flow (see [`Endpoint`](super::Endpoint)).
//! The client drops the second connection one timeout after the first was established.
//! The handshake of an earlier SYN may still be unfinished when the tombstone is removed.
//! The connection of an unfinished handshake must be reset later, so the list returns the connection.
//! The number of live flows and a fixed number of tombstones limit the memory. The oldest tombstones are removed first.

use super::flows_by_name::{FlowsByName, Holder, LegSet, Ticket};
use super::state::Leg;
use alloc::collections::VecDeque;
use tailcut_units::{Duration, HostId, Time};

/// Largest number of tombstones.
const MAX_TOMBSTONES: usize = 1 << 16;

/// Identifier of a flow at its server: the address of the client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ClientAddress {
    /// Host of the client.
    pub host: HostId,
    /// Source port of both connections.
    pub port: u16,
}

/// Identifier of an entry. It is valid until the flow ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryId {
    client: ClientAddress,
    ticket: Ticket,
}

/// Kind of a connection that has just arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival<T> {
    /// First connection of a new flow.
    First,
    /// Second connection of a flow that waits for it.
    Second(T),
    /// Connection of a flow that accepts no further connection.
    Late(T),
    /// Second connection of a flow that has ended, within the time for which the flow would have waited.
    /// The connection continues to its end without effect.
    AfterTheEnd,
    /// Second connection of a flow that has ended, after the time for which the flow would have waited.
    /// The connection is rejected.
    TooLate,
}

/// Connection of an ended flow. It has not arrived, but its handshake may have begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unseen {
    /// Address and port of the client.
    pub client: ClientAddress,
    /// Index of the connection in its flow.
    pub leg: Leg,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    Waiting,
    /// The flow is on the list without a timeout. When its second connection arrives, it is rejected.
    Kept,
    /// The flow accepts no further connection.
    Settled,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    flow: T,
    standing: Standing,
}

fn unseen(client: ClientAddress, seen: LegSet) -> Option<Unseen> {
    let leg = seen.missing()?;
    Some(Unseen { client, leg })
}

/// Waiting list of one server. `T` is the handle of a flow.
#[derive(Debug)]
pub struct WaitingList<T> {
    timeout: Duration,
    flows: FlowsByName<ClientAddress, Entry<T>>,
    /// Timeouts in order of time. All timeouts have the same duration, so new timeouts are appended.
    timeouts: VecDeque<(Time, EntryId)>,
}

impl<T: Copy> WaitingList<T> {
    /// Creates a list whose entries wait for `timeout`.
    pub const fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            flows: FlowsByName::new(),
            timeouts: VecDeque::new(),
        }
    }

    /// Returns the kind of a connection that arrived from `client` as `leg`, and records its arrival.
    pub fn arrival(&mut self, now: Time, client: ClientAddress, leg: Leg) -> Arrival<T> {
        match self.flows.holder(&client) {
            Holder::Nobody => Arrival::First,
            Holder::Live(live) => {
                let again = live.seen.has(leg);
                live.seen = live.seen.with(leg);
                match live.flow.standing {
                    // The address and port belong to the flow until it ends.
                    // A repeated connection from the flow's address and port is not a new flow.
                    Standing::Waiting if !again => Arrival::Second(live.flow.flow),
                    _ => Arrival::Late(live.flow.flow),
                }
            }
            Holder::Ended(stone) => {
                // If the same connection has arrived before, this connection belongs to a new flow from the same port.
                // If the connection is the missing connection, all connections of the old flow have now arrived.
                // A connection that meets a tombstone therefore removes the tombstone.
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

    /// Adds `flow` to the list. The first connection of the flow came from `client` as `leg`.
    /// The list must have no other entry of the client.
    pub fn enter(&mut self, now: Time, client: ClientAddress, leg: Leg, flow: T) -> EntryId {
        let standing = Standing::Waiting;
        let ticket = self.flows.add(now, client, leg, Entry { flow, standing });
        let entry = EntryId { client, ticket };
        let at = now.saturating_add(self.timeout);
        self.timeouts.push_back((at, entry));
        entry
    }

    /// Removes a flow from the waiting list. Its address stays known until the flow ends.
    pub fn leave(&mut self, entry: EntryId) {
        self.stand(entry, Standing::Settled);
    }

    /// Keeps a flow on the list without a timeout.
    pub fn keep(&mut self, entry: EntryId) {
        self.stand(entry, Standing::Kept);
    }

    fn stand(&mut self, EntryId { client, ticket }: EntryId, standing: Standing) {
        if let Some(live) = self.flows.live_mut(&client, ticket) {
            live.flow.standing = standing;
        }
        self.skip_stale_timeouts();
    }

    /// Ends a flow and invalidates its entry. A tombstone replaces the flow if a connection may still arrive.
    /// If a connection may arrive but there is no tombstone, returns the missing connection.
    pub fn bury(&mut self, now: Time, EntryId { client, ticket }: EntryId) -> Option<Unseen> {
        let lifetime = self.timeout.saturating_mul(2);
        let live = self.flows.end(&client, ticket)?;
        self.skip_stale_timeouts();
        let unseen = unseen(client, live.seen)?;
        // The flow lived longer than a tombstone.
        // If a flow lived longer than a tombstone, the client has already sent the last SYN of the missing connection.
        if live.entered.saturating_add(lifetime) <= now {
            return Some(unseen);
        }
        let until = now.saturating_add(lifetime);
        self.flows.bury(client, live.seen, live.entered, until);
        None
    }

    /// Removes a flow whose tombstone has expired at `now`, or the oldest tombstone if there are too many.
    /// Returns the connection that never arrived. Call this method regularly, until it returns `None`.
    pub fn pop_forgotten(&mut self, now: Time) -> Option<Unseen> {
        let (client, seen) = self.flows.pop_forgotten(now, MAX_TOMBSTONES)?;
        unseen(client, seen)
    }

    /// Removes and returns a flow whose timeout has passed at `now`.
    pub fn pop_timed_out(&mut self, now: Time) -> Option<T> {
        let (_, entry) = *self.timeouts.front().filter(|(at, _)| *at <= now)?;
        self.timeouts.pop_front();
        let flow = self.flows.live_mut(&entry.client, entry.ticket)?.flow.flow;
        self.skip_stale_timeouts();
        Some(flow)
    }

    /// Returns the time at which [`pop_timed_out`](Self::pop_timed_out) will return a flow, if no flow changes before.
    pub fn next_timeout(&self) -> Option<Time> {
        self.timeouts.front().map(|(at, _)| *at)
    }

    /// Returns the number of flows that have not ended.
    pub fn live(&self) -> usize {
        self.flows.len()
    }

    /// Returns the number of ended flows that the list remembers.
    pub fn tombstones(&self) -> usize {
        self.flows.tombstones()
    }

    /// Removes invalid timeouts at the head of the queue, so that the first timeout is always valid.
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
