//! Sessions in which this host receives objects, and their limits.

use super::answers::{Ended, Limit};
use super::buffer_budget::BufferBudget;
use super::table::Table;
use crate::seal::Tokens;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use tailcut_transport::scdp::Limits;
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Protocol, Time};

/// Smallest flow number of objects from several senders. Received objects from one sender have smaller numbers.
const FIRST_COLLECTED: u32 = 3 << 30;
/// Port numbers in the transport for objects from several senders. Lower ports are reserved.
/// Outgoing sessions use higher ports.
const PORTS: std::ops::Range<u16> = 1_024..32_768;

/// Smallest number of sessions at which the engine searches for sessions that the transport has dropped.
/// With a smaller number, the engine would search all sessions more often.
const REMEMBERED: usize = 512;

/// Time that a complete object waits for the proof that its sender has the key.
/// The object stays in memory for this time.
/// The proof may get lost several times: a sender without an answer asks again every second or earlier (`max_timeout`).
const PATIENCE: Duration = Duration::from_ms(10_000);

/// Session in which this host receives an object.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) flow: FlowId,
    /// Port number of the session in the transport.
    pub(super) port: u16,
    /// Senders of the object: share (index of the sender) and connection of each.
    pub(super) connections: Vec<(u16, HostId)>,
    /// Whether the address of at least one sender is validated.
    pub(super) is_proven: bool,
    /// Address whose session count includes this session as soon as the session is validated.
    /// So sessions with a forged address never count. `None`: the session has ended.
    pub(super) counted: Option<IpAddr>,
    /// Whether the complete object waits for the proof that its sender has the key.
    pub(super) waits: bool,
}

impl Session {
    /// Returns the connection of the sender with this share.
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
    /// Identifier of each session, by local flow number.
    pub(super) session_of: Table<FlowId, u64>,
    /// In paper mode: connection and local flow number of each session. Key: address and flow number of the sender.
    pub(super) paper: Table<(SocketAddr, FlowId), (HostId, FlowId)>,
    /// Number of active sessions of each address.
    of_address: Table<IpAddr, u32>,
    /// Number of sessions that have not ended.
    active: u32,
    /// Number of sessions at which the next search for dropped sessions begins.
    look_at: usize,
    /// Number of sessions in which no address of a sender is validated.
    half_open: u32,
    pub(super) ended: Ended,
    pub(super) answers: Limit,
    /// Rate limit of answers to checks that arrived by a multicast group.
    pub(super) group_answers: Limit,
    /// Size of the socket's receive buffer in bytes. Echoes contain it.
    pub(super) receive_buffer: u32,
    /// Sessions that wait for a proof of the key, by the time at which they expire.
    waiting: VecDeque<(Time, u64)>,
    /// Number of objects from several senders so far. The next flow number and port depend on it.
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

    /// Marks a session as complete. The session expires if the proof of the key does not arrive in time.
    pub(super) fn wait(&mut self, now: Time, id: u64) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.waits = true;
            self.waiting.push_back((now + PATIENCE, id));
        }
    }

    /// Returns the next session that has waited too long for a proof of the key, or `None` if there is none.
    pub(super) fn overdue(&mut self, now: Time) -> Option<u64> {
        while let Some(&(until, id)) = self.waiting.front()
            && until <= now
        {
            self.waiting.pop_front();
            // After its proof has arrived, a session stays in the queue, but it no longer waits.
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

    /// Returns the addresses that the transport uses for packets from a connection.
    pub(super) fn tuple(&self, connection: HostId, port: u16) -> FiveTuple {
        FiveTuple {
            src: connection,
            dst: self.me,
            // The connection already identifies the sender. So all senders have the same port.
            src_port: PORTS.end,
            dst_port: port,
            protocol: Protocol::Udp,
        }
    }

    /// Returns a flow number and a free port for an object from several senders. The port is never the port `taken`.
    /// Returns `None` if all ports are in use.
    pub(super) fn collect(&mut self, taken: u16) -> Option<(FlowId, u16)> {
        let used =
            |port: u16| port == taken || self.sessions.values().any(|session| session.port == port);
        let count = u32::from(PORTS.end - PORTS.start);
        // Each search begins at a different port. So the first port of a search is usually free.
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
            // Without this step, the table would grow with each address.
            if *count == 0 {
                self.of_address.remove(&address);
            }
        }
    }

    /// Returns the number of sessions that have not ended.
    pub(super) fn active(&self) -> u32 {
        self.active
    }

    /// Returns whether the engine should search for dropped sessions.
    /// After each search, the threshold is twice the number of sessions.
    /// So the work per new session is constant on average.
    pub(super) fn are_many(&self) -> bool {
        self.sessions.len() >= self.look_at
    }

    /// Sets the next threshold after a search.
    pub(super) fn looked(&mut self) {
        self.look_at = REMEMBERED.max(2 * self.sessions.len());
    }

    /// Returns the number of sessions in which no address of a sender is validated.
    pub(super) fn half_open(&self) -> u32 {
        self.half_open
    }

    /// Adds a session.
    pub(super) fn open(&mut self, id: u64, session: Session) {
        self.half_open += u32::from(!session.is_proven);
        if let (Some(address), true) = (session.counted, session.is_proven) {
            self.active += 1;
            self.enter(address);
        }
        self.session_of.insert(session.flow, id);
        self.sessions.insert(id, session);
    }

    /// Marks a session as validated, because one of its senders has proved its address.
    /// Returns `false` if the session was already marked.
    pub(super) fn prove(&mut self, id: u64) -> bool {
        let Some(session) = self.sessions.get_mut(&id) else {
            return false;
        };
        let is_new = !std::mem::replace(&mut session.is_proven, true);
        if let (Some(address), true) = (session.counted, is_new) {
            self.active += 1;
            self.enter(address);
        }
        self.half_open -= u32::from(is_new);
        is_new
    }

    /// Returns whether more sessions are active than the limits allow, in all or of the address of a session.
    pub(super) fn is_over_limit(&self, id: u64, limits: &Limits) -> bool {
        let session = self.sessions.get(&id);
        let address = session.and_then(|session| session.counted);
        self.active > limits.sessions
            || address.is_some_and(|address| self.of(address) > limits.sessions_of_peer)
    }

    /// Removes a session from the counts. Its object has arrived, or the transfer was given up.
    pub(super) fn settle(&mut self, id: u64) {
        // A session may end before any address is validated. A session that has ended must not count as half-open.
        self.prove(id);
        let counted = self.sessions.get_mut(&id);
        if let Some(address) = counted.and_then(|session| session.counted.take()) {
            self.active -= 1;
            self.leave(address);
        }
    }

    /// Removes a session. Returns the shares and connections of its senders.
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
