//! Those that send to a host: their sessions, and how many of them there may be.

use super::answers::{Bucket, Ended};
use super::room::Room;
use super::table::Table;
use crate::seal::Tokens;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Protocol, Time};

/// The first name of objects that come from several senders.
const FIRST_COLLECTED: u32 = 3 << 30;
/// Ports at which the transport collects objects from several senders.
const PORTS: std::ops::Range<u16> = 1_024..32_768;

/// Sessions that are known before those that the transport has forgotten are looked for.
const REMEMBERED: usize = 512;

/// How long an object waits for the proof that its sender has the key.
const PATIENCE: Duration = Duration::from_ms(10_000);

/// A session in which an object comes.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) flow: FlowId,
    /// The port that the transport knows it by.
    pub(super) port: u16,
    /// Its senders, by share.
    pub(super) lines: Vec<(u16, HostId)>,
    /// Whether the address of one of them is known to be its own.
    pub(super) is_proven: bool,
    /// The address that it counts for; `None`: it has ended.
    pub(super) counted: Option<IpAddr>,
    /// Whether the whole object is here, and waits for the sender's proof that it has the key.
    pub(super) waits: bool,
}

impl Session {
    /// The sender of a share.
    pub(super) fn line(&self, share: u16) -> Option<HostId> {
        let line = self.lines.iter().find(|(of, _)| *of == share);
        line.map(|(_, id)| *id)
    }
}

/// All sessions in which objects come, and what bounds them.
#[derive(Debug)]
pub(super) struct Guests {
    me: HostId,
    pub(super) room: Room,
    pub(super) tokens: Tokens,
    /// By the session's identifier.
    pub(super) sessions: Table<u64, Session>,
    /// By our name: the session's identifier.
    pub(super) session_of: Table<FlowId, u64>,
    /// In the paper's mode: the line and our name, by the peer's address and its name.
    pub(super) paper: Table<(SocketAddr, FlowId), (HostId, FlowId)>,
    of_address: Table<IpAddr, u32>,
    /// Sessions that have not ended.
    active: u32,
    /// With so many sessions, those that the transport has forgotten are looked for.
    look_at: usize,
    /// Sessions of senders whose address may be forged.
    half_open: u32,
    pub(super) ended: Ended,
    pub(super) answers: Bucket,
    /// Answers to checks that came by a group.
    pub(super) group_answers: Bucket,
    /// Bytes of the socket's receive buffer, which those who check are told.
    pub(super) receive_buffer: u32,
    /// Sessions that wait for a proof, and until when.
    waiting: VecDeque<(Time, u64)>,
    next_collected: u32,
}

impl Guests {
    pub(super) fn new(me: HostId, room: Room, tokens: Tokens) -> Self {
        Self {
            me,
            room,
            tokens,
            sessions: Table::default(),
            session_of: Table::default(),
            paper: Table::default(),
            of_address: Table::default(),
            active: 0,
            look_at: REMEMBERED,
            half_open: 0,
            ended: Ended::default(),
            answers: Bucket::for_strangers(),
            group_answers: Bucket::for_groups(),
            receive_buffer: 0,
            waiting: VecDeque::new(),
            next_collected: 0,
        }
    }

    /// How the transport calls this host.
    #[cfg(test)]
    pub(super) fn me(&self) -> HostId {
        self.me
    }

    /// A session has its whole object, and waits for a proof.
    pub(super) fn wait(&mut self, now: Time, id: u64) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.waits = true;
            self.waiting.push_back((now + PATIENCE, id));
        }
    }

    /// A session that has waited too long.
    pub(super) fn overdue(&mut self, now: Time) -> Option<u64> {
        while let Some(&(until, id)) = self.waiting.front()
            && until <= now
        {
            self.waiting.pop_front();
            if self.sessions.get(&id).is_some_and(|session| session.waits) {
                return Some(id);
            }
        }
        None
    }

    /// When the next one has.
    pub(super) fn next_overdue(&self) -> Option<Time> {
        self.waiting.front().map(|(until, _)| *until)
    }

    /// The addresses of what comes from a line, as the transport knows them.
    pub(super) fn tuple(&self, line: HostId, port: u16) -> FiveTuple {
        FiveTuple {
            src: line,
            dst: self.me,
            src_port: PORTS.end,
            dst_port: port,
            protocol: Protocol::Udp,
        }
    }

    /// The name and the port of an object from several senders: a port that no other session has, but
    /// `taken` neither.
    pub(super) fn collect(&mut self, taken: u16) -> Option<(FlowId, u16)> {
        let used =
            |port: u16| port == taken || self.sessions.values().any(|session| session.port == port);
        let count = u32::from(PORTS.end - PORTS.start);
        let ports = (0..count).map(|step| (self.next_collected.wrapping_add(step)) % count);
        let place = ports
            .into_iter()
            .find(|place| !used(PORTS.start + *place as u16))?;
        let flow = FlowId(FIRST_COLLECTED | (self.next_collected & (FIRST_COLLECTED >> 2)));
        self.next_collected = self.next_collected.wrapping_add(1);
        Some((flow, PORTS.start + place as u16))
    }

    /// Sessions by one address.
    pub(super) fn of(&self, address: IpAddr) -> u32 {
        self.of_address.get(&address).copied().unwrap_or(0)
    }

    /// One more.
    pub(super) fn enter(&mut self, address: IpAddr) {
        *self.of_address.entry(address).or_default() += 1;
    }

    /// One less.
    pub(super) fn leave(&mut self, address: IpAddr) {
        if let Some(count) = self.of_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.of_address.remove(&address);
            }
        }
    }

    /// Sessions that have not ended.
    pub(super) fn active(&self) -> u32 {
        self.active
    }

    /// Whether those that the transport has forgotten are to be looked for. The next time is when there are twice
    /// as many as are kept: so the work is that of a few sessions for each that is opened.
    pub(super) fn are_many(&self) -> bool {
        self.sessions.len() >= self.look_at
    }

    /// They have been looked for, and those that are left are kept.
    pub(super) fn looked(&mut self) {
        self.look_at = REMEMBERED.max(2 * self.sessions.len());
    }

    /// Sessions of senders whose address may be forged.
    pub(super) fn half_open(&self) -> u32 {
        self.half_open
    }

    /// A session has begun.
    pub(super) fn open(&mut self, id: u64, session: Session) {
        self.half_open += u32::from(!session.is_proven);
        if let Some(address) = session.counted {
            self.active += 1;
            self.enter(address);
        }
        self.session_of.insert(session.flow, id);
        self.sessions.insert(id, session);
    }

    /// The address of one of its senders is its own. Says whether that was not known.
    pub(super) fn prove(&mut self, id: u64) -> bool {
        let Some(session) = self.sessions.get_mut(&id) else {
            return false;
        };
        let is_new = !std::mem::replace(&mut session.is_proven, true);
        self.half_open -= u32::from(is_new);
        is_new
    }

    /// A session counts no longer: its object is here, or given up.
    pub(super) fn settle(&mut self, id: u64) {
        self.prove(id);
        let counted = self.sessions.get_mut(&id);
        if let Some(address) = counted.and_then(|session| session.counted.take()) {
            self.active -= 1;
            self.leave(address);
        }
    }

    /// Forgets a session. Gives its lines.
    pub(super) fn remove(&mut self, id: u64) -> Vec<(u16, HostId)> {
        self.settle(id);
        let session = self.sessions.remove(&id);
        if let Some(session) = &session {
            self.session_of.remove(&session.flow);
        }
        session.map(|session| session.lines).unwrap_or_default()
    }
}
