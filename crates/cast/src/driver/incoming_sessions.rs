//! Sessions in which this host receives objects, and their limits.

use super::answers::{Ended, Limit};
use super::buffer_budget::BufferBudget;
use super::table::Table;
use crate::seal::Tokens;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Protocol, Time};

/// First flow number of objects that come from several senders. Received objects from one sender have
/// lower numbers.
const FIRST_COLLECTED: u32 = 3 << 30;
/// Ports at which the transport collects objects from several senders. The transport reserves lower ports,
/// and its outgoing sessions use higher ports.
const PORTS: std::ops::Range<u16> = 1_024..32_768;

/// Smallest number of sessions at which the engine looks for sessions that the transport has dropped. With
/// a smaller number, an offer would more often search all sessions.
const REMEMBERED: usize = 512;

/// Time that a complete object waits for the proof that its sender has the key. The whole object stays in
/// memory for this time. A sender without an answer asks again at least once per second (`max_timeout`), so
/// the proof may get lost several times.
const PATIENCE: Duration = Duration::from_ms(10_000);

/// Session in which an object is received.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) flow: FlowId,
    /// Port of the session in the transport.
    pub(super) port: u16,
    /// Share and connection of each sender of the object.
    pub(super) connections: Vec<(u16, HostId)>,
    /// Whether the address of at least one sender is validated.
    pub(super) is_proven: bool,
    /// Address whose limit of sessions includes this session. `None`: the session has ended.
    pub(super) counted: Option<IpAddr>,
    /// Whether the whole object has arrived and waits for the proof that its sender has the key.
    pub(super) waits: bool,
}

impl Session {
    /// Returns the connection of the sender of a share.
    pub(super) fn connection(&self, share: u16) -> Option<HostId> {
        let connection = self.connections.iter().find(|(of, _)| *of == share);
        connection.map(|(_, id)| *id)
    }
}

/// All sessions in which this host receives objects, and their limits.
#[derive(Debug)]
pub(super) struct IncomingSessions {
    me: HostId,
    pub(super) budget: BufferBudget,
    pub(super) tokens: Tokens,
    /// Sessions by their identifiers.
    pub(super) sessions: Table<u64, Session>,
    /// Session identifiers by the local flow number.
    pub(super) session_of: Table<FlowId, u64>,
    /// In paper mode: connection and local flow number, by the peer's address and the peer's flow
    /// number.
    pub(super) paper: Table<(SocketAddr, FlowId), (HostId, FlowId)>,
    /// Number of sessions of each address.
    of_address: Table<IpAddr, u32>,
    /// Sessions that have not ended.
    active: u32,
    /// Number of sessions at which the engine looks for sessions that the transport has dropped.
    look_at: usize,
    /// Sessions in which no sender's address is validated yet.
    half_open: u32,
    pub(super) ended: Ended,
    pub(super) answers: Limit,
    /// Rate limit of answers to checks that came by a multicast group.
    pub(super) group_answers: Limit,
    /// Bytes of the socket's receive buffer. Echoes report this value.
    pub(super) receive_buffer: u32,
    /// Sessions that wait for a proof of the key, with the time at which they expire.
    waiting: VecDeque<(Time, u64)>,
    /// Number of objects from several senders so far. It determines the next flow number and port.
    next_collected: u32,
}

impl IncomingSessions {
    pub(super) fn new(me: HostId, budget: BufferBudget, tokens: Tokens) -> Self {
        Self {
            me,
            budget,
            tokens,
            sessions: Table::default(),
            session_of: Table::default(),
            paper: Table::default(),
            of_address: Table::default(),
            active: 0,
            look_at: REMEMBERED,
            half_open: 0,
            ended: Ended::default(),
            answers: Limit::for_strangers(),
            group_answers: Limit::for_groups(),
            receive_buffer: 0,
            waiting: VecDeque::new(),
            next_collected: 0,
        }
    }

    /// Returns the number of this host in the transport.
    #[cfg(test)]
    pub(super) fn me(&self) -> HostId {
        self.me
    }

    /// Marks a session as complete. It expires if no proof of the key arrives in time.
    pub(super) fn wait(&mut self, now: Time, id: u64) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.waits = true;
            self.waiting.push_back((now + PATIENCE, id));
        }
    }

    /// Returns the next session that has waited too long for a proof of the key, or `None`.
    pub(super) fn overdue(&mut self, now: Time) -> Option<u64> {
        while let Some(&(until, id)) = self.waiting.front()
            && until <= now
        {
            self.waiting.pop_front();
            // A session stays in the queue after its proof has arrived, but it no longer waits.
            if self.sessions.get(&id).is_some_and(|session| session.waits) {
                return Some(id);
            }
        }
        None
    }

    /// Returns the time at which the next waiting session expires.
    pub(super) fn next_overdue(&self) -> Option<Time> {
        self.waiting.front().map(|(until, _)| *until)
    }

    /// Returns the addresses of packets that come from a connection, as the transport uses them.
    pub(super) fn tuple(&self, connection: HostId, port: u16) -> FiveTuple {
        FiveTuple {
            src: connection,
            dst: self.me,
            // The connection identifies the sender, so all senders have the same port.
            src_port: PORTS.end,
            dst_port: port,
            protocol: Protocol::Udp,
        }
    }

    /// Returns a flow number and a port for an object from several senders. The port is not
    /// `taken`, and no other session uses it. Returns `None` if all ports are in use.
    pub(super) fn collect(&mut self, taken: u16) -> Option<(FlowId, u16)> {
        let used =
            |port: u16| port == taken || self.sessions.values().any(|session| session.port == port);
        let count = u32::from(PORTS.end - PORTS.start);
        // The search begins at another port each time, so it usually finds a free port at once.
        let ports = (0..count).map(|step| (self.next_collected.wrapping_add(step)) % count);
        let place = ports
            .into_iter()
            .find(|place| !used(PORTS.start + *place as u16))?;
        let flow = FlowId(FIRST_COLLECTED | (self.next_collected & (FIRST_COLLECTED >> 2)));
        self.next_collected = self.next_collected.wrapping_add(1);
        Some((flow, PORTS.start + place as u16))
    }

    /// Returns the number of active sessions of one address.
    pub(super) fn of(&self, address: IpAddr) -> u32 {
        self.of_address.get(&address).copied().unwrap_or(0)
    }

    /// Adds a session to the count of an address.
    pub(super) fn enter(&mut self, address: IpAddr) {
        *self.of_address.entry(address).or_default() += 1;
    }

    /// Removes a session from the count of an address.
    pub(super) fn leave(&mut self, address: IpAddr) {
        if let Some(count) = self.of_address.get_mut(&address) {
            *count -= 1;
            // The table must not grow with each address that was ever seen.
            if *count == 0 {
                self.of_address.remove(&address);
            }
        }
    }

    /// Returns the number of sessions that have not ended.
    pub(super) fn active(&self) -> u32 {
        self.active
    }

    /// Returns whether the engine should look for sessions that the transport has dropped. The
    /// threshold is twice the number of sessions after the last search, so the work for each new
    /// session remains constant on average.
    pub(super) fn are_many(&self) -> bool {
        self.sessions.len() >= self.look_at
    }

    /// Sets the next threshold after a search.
    pub(super) fn looked(&mut self) {
        self.look_at = REMEMBERED.max(2 * self.sessions.len());
    }

    /// Returns the number of sessions in which no sender's address is validated yet.
    pub(super) fn half_open(&self) -> u32 {
        self.half_open
    }

    /// Adds a session.
    pub(super) fn open(&mut self, id: u64, session: Session) {
        self.half_open += u32::from(!session.is_proven);
        if let Some(address) = session.counted {
            self.active += 1;
            self.enter(address);
        }
        self.session_of.insert(session.flow, id);
        self.sessions.insert(id, session);
    }

    /// Marks a session as validated: one of its senders has proved its address. Returns `false` if
    /// the session was validated already.
    pub(super) fn prove(&mut self, id: u64) -> bool {
        let Some(session) = self.sessions.get_mut(&id) else {
            return false;
        };
        let is_new = !std::mem::replace(&mut session.is_proven, true);
        self.half_open -= u32::from(is_new);
        is_new
    }

    /// Removes a session from the counts: its object has arrived, or the transfer was given up.
    pub(super) fn settle(&mut self, id: u64) {
        // A session may end before any address is validated. It is no longer half-open then.
        self.prove(id);
        let counted = self.sessions.get_mut(&id);
        if let Some(address) = counted.and_then(|session| session.counted.take()) {
            self.active -= 1;
            self.leave(address);
        }
    }

    /// Removes a session. Returns its connections.
    pub(super) fn remove(&mut self, id: u64) -> Vec<(u16, HostId)> {
        self.settle(id);
        let session = self.sessions.remove(&id);
        if let Some(session) = &session {
            self.session_of.remove(&session.flow);
        }
        session
            .map(|session| session.connections)
            .unwrap_or_default()
    }
}
