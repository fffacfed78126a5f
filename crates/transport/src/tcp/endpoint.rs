//! Many connections of one host: where layers above TCP plug in.
//!
//! Methods fall in four groups: the layer's (`connect`, `write`, `finish`, `reset`, `poll_event`),
//! the network's (`on_segment`, `poll_transmit`, `has_transmit`), the clock's (`on_timeout`,
//! `next_timeout`) and getters. Call one input, then drain `poll_event`, then `poll_transmit` as the
//! NIC has room. Time never goes back.

use super::config::TcpConfig;
use super::congestion::{Controller, Window};
use super::connection::{Connection, ConnectionId, Fate, Role, State, Summary};
use super::demux::{Demux, Key};
use super::timers::{TimerKey, Timers};
use crate::tcp::{TcpFlags, TcpHeader};
use crate::turns::Turns;
use crate::{ConfigError, Ecn, FlowStats, Header, PathPin, Segment};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time};

/// Local ports given to outgoing connections (Linux's default range).
const EPHEMERAL_PORTS: core::ops::RangeInclusive<u16> = 32_768..=60_999;

/// Offsets from here on are taken for nonsense, so that sums of them cannot overflow.
const MAX_OFFSET: u64 = 1 << 62;

/// What happened to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionEvent {
    /// A peer's connection to this host finished its handshake.
    Accepted {
        /// The new connection.
        id: ConnectionId,
        /// Addresses and ports as the peer sends: `src` is the peer.
        tuple: FiveTuple,
        /// The flow that the peer's SYN named.
        flow: FlowId,
        /// The path that the peer's SYN was pinned to.
        path: PathPin,
    },
    /// A connection that this host opened finished its handshake.
    Established {
        /// The connection.
        id: ConnectionId,
    },
    /// More bytes have arrived in order. Only with [`Endpoint::report_delivered`]; several arrivals
    /// may share one event.
    Delivered {
        /// The connection.
        id: ConnectionId,
        /// Bytes delivered so far.
        total: u64,
    },
    /// The peer's FIN and every byte before it have arrived.
    PeerFinished {
        /// The connection.
        id: ConnectionId,
        /// Bytes delivered in all.
        total: u64,
    },
    /// The peer aborted the connection. The id names nothing any more.
    Reset {
        /// The connection.
        id: ConnectionId,
        /// What it was and what it cost.
        summary: Summary,
    },
    /// Given up after too many retransmissions. The id names nothing any more.
    Failed {
        /// The connection.
        id: ConnectionId,
        /// What it was and what it cost.
        summary: Summary,
    },
    /// Both directions are finished and acknowledged: no payload is sent any more.
    Closed {
        /// The connection.
        id: ConnectionId,
        /// What it was and what it cost.
        summary: Summary,
    },
}

/// Why a connection cannot be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    /// The host has a connection with these addresses and ports.
    #[error(
        "a connection from {} port {} to {} port {} exists already",
        .0.src, .0.src_port, .0.dst, .0.dst_port
    )]
    TupleInUse(FiveTuple),
    /// The tuple's source is not this host.
    #[error("the source {0} is not this host")]
    NotThisHost(HostId),
}

/// What all connections of an endpoint share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: TcpConfig,
    /// Segments that are ready to leave: ACKs and RSTs, in the order in which they were made.
    pub(crate) control: VecDeque<Segment>,
    pub(crate) events: VecDeque<ConnectionEvent>,
    pub(crate) timers: Timers,
    pub(crate) report_delivered: bool,
    pub(crate) ignored: u64,
}

/// The TCP of one host.
#[derive(Debug)]
pub struct Endpoint {
    host: HostId,
    connections: Vec<Connection>,
    free: Vec<u32>,
    demux: Demux,
    /// Slots with something to send, by PIAS' class where there is one.
    ready: Turns<u32>,
    listening: Option<Vec<u16>>,
    next_port: u16,
    shared: Shared,
}

impl Endpoint {
    /// An endpoint for `host` that listens on every port.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(host: HostId, config: TcpConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            host,
            connections: Vec::new(),
            free: Vec::new(),
            demux: Demux::new(),
            ready: Turns::new(),
            listening: None,
            next_port: *EPHEMERAL_PORTS.start(),
            shared: Shared {
                config,
                control: VecDeque::new(),
                events: VecDeque::new(),
                timers: Timers::default(),
                report_delivered: false,
                ignored: 0,
            },
        })
    }

    /// Listens on `ports` only; a SYN to another one is answered with a RST.
    pub fn listen_only(&mut self, ports: &[u16]) {
        self.listening = Some(ports.to_vec());
    }

    /// Whether [`ConnectionEvent::Delivered`] is wanted. Off at first: it costs an event a segment.
    pub fn report_delivered(&mut self, wanted: bool) {
        self.shared.report_delivered = wanted;
    }

    // The layer above.

    /// A local port that no connection to any of `dst_ports` of `dst` uses. Ports come in turn, so
    /// that one is not used again soon. `None` when all are in use.
    pub fn unused_port(&mut self, dst: HostId, dst_ports: &[u16]) -> Option<u16> {
        for _ in EPHEMERAL_PORTS {
            let port = self.next_port;
            self.next_port = if port == *EPHEMERAL_PORTS.end() {
                *EPHEMERAL_PORTS.start()
            } else {
                port + 1
            };
            let free = |dst_port: &u16| {
                let tuple = FiveTuple {
                    src: self.host,
                    dst,
                    src_port: port,
                    dst_port: *dst_port,
                    ..FiveTuple::default()
                };
                self.demux.get(Key::of_outgoing(&tuple)).is_none()
            };
            if dst_ports.iter().all(free) {
                return Some(port);
            }
        }
        None
    }

    /// Opens a connection: its SYN is ready to leave.
    ///
    /// # Errors
    /// The tuple is in use, or its source is another host.
    pub fn connect(
        &mut self,
        _now: Time,
        tuple: FiveTuple,
        flow: FlowId,
        path: PathPin,
    ) -> Result<ConnectionId, ConnectError> {
        if tuple.src != self.host {
            return Err(ConnectError::NotThisHost(tuple.src));
        }
        if self.demux.get(Key::of_outgoing(&tuple)).is_some() {
            return Err(ConnectError::TupleInUse(tuple));
        }
        let connection = Connection::new(&self.shared.config, Role::Opener, tuple, flow, path);
        let slot = self.insert(connection);
        self.settle(slot, Fate::Lives);
        Ok(self.id(slot))
    }

    /// Adds `bytes` to what the connection is to send. Nothing after `finish`.
    pub fn write(&mut self, _now: Time, id: ConnectionId, bytes: u64) {
        if let Some(connection) = self.get_mut(id) {
            connection.sender.write(bytes);
            self.settle(id.slot, Fate::Lives);
        }
    }

    /// Closes this direction once everything written has been sent: the FIN rides on the last data
    /// segment if that has not left yet.
    pub fn finish(&mut self, _now: Time, id: ConnectionId) {
        if let Some(connection) = self.get_mut(id) {
            connection.sender.finish();
            self.settle(id.slot, Fate::Lives);
        }
    }

    /// Aborts the connection: the peer is told with a RST, and `id` names nothing any more. No event
    /// follows. What the connection was and cost, if there was one.
    pub fn reset(&mut self, _now: Time, id: ConnectionId) -> Option<Summary> {
        let connection = self.get(id)?;
        let summary = connection.summary();
        if connection.state != State::Lingering {
            let segment = connection.reset_segment(&self.shared.config);
            self.shared.control.push_back(segment);
        }
        self.remove(id.slot);
        Some(summary)
    }

    /// Hands a connection over to another endpoint of this host, where it goes on under another id. To be
    /// called with every event polled. Acknowledgments that wait here leave from here. `None`, and nothing
    /// happens, where there is no such connection, or `to` has one with its addresses and ports.
    pub fn hand_over(&mut self, id: ConnectionId, to: &mut Self) -> Option<ConnectionId> {
        let tuple = self.get(id)?.tuple;
        if to.find(&tuple).is_some() {
            return None;
        }
        let place = &mut self.connections[id.slot as usize];
        let config = &self.shared.config;
        let mut nobody = place.anew(config);
        (nobody.generation, nobody.queued) = (place.generation, place.queued);
        let mut connection = core::mem::replace(place, nobody);
        self.remove(id.slot);
        connection.timer_at = Time::MAX;
        connection.queued = None;
        let slot = to.insert(connection);
        to.settle(slot, Fate::Lives);
        Some(to.id(slot))
    }

    /// What happened, in order.
    pub fn poll_event(&mut self) -> Option<ConnectionEvent> {
        loop {
            match self.shared.events.pop_front()? {
                ConnectionEvent::Delivered { id, .. } => {
                    let Some(connection) = self.get_mut(id) else {
                        continue;
                    };
                    connection.delivery_queued = false;
                    let total = connection.receiver.delivered();
                    return Some(ConnectionEvent::Delivered { id, total });
                }
                event => return Some(event),
            }
        }
    }

    // The network.

    /// The network delivered `segment` to this host.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        let Header::Tcp(header) = &segment.header else {
            self.shared.ignored += 1;
            return;
        };
        if header.offset >= MAX_OFFSET {
            self.shared.ignored += 1;
            return;
        }
        match self.demux.get(Key::of_arriving(&segment.tuple)) {
            Some(slot) => {
                let connection = &mut self.connections[slot as usize];
                let fate = connection.on_segment(now, slot, segment, header, &mut self.shared);
                self.settle(slot, fate);
            }
            None => self.on_unknown(segment, header),
        }
    }

    /// A segment that belongs to no connection (RFC 9293, 3.10.7.1 and 3.10.7.2).
    #[cold]
    fn on_unknown(&mut self, segment: &Segment, header: &TcpHeader) {
        let flags = header.flags;
        if flags.has(TcpFlags::RST) || segment.tuple.dst != self.host {
            self.shared.ignored += 1;
            return;
        }
        let opens = flags.has(TcpFlags::SYN) && !flags.has(TcpFlags::ACK);
        let listens = |ports: &Vec<u16>| ports.contains(&segment.tuple.dst_port);
        if opens && self.listening.as_ref().is_none_or(listens) {
            let tuple = segment.tuple.reversed();
            let (flow, path) = (segment.flow, segment.path);
            let config = &self.shared.config;
            let mut connection = Connection::new(config, Role::Acceptor, tuple, flow, path);
            connection.on_first_syn(flags, config);
            let slot = self.insert(connection);
            self.settle(slot, Fate::Lives);
            return;
        }
        self.shared.ignored += 1;
        self.shared.control.push_back(Segment {
            tuple: segment.tuple.reversed(),
            payload: 0,
            ecn: Ecn::NotCapable,
            header: Header::Tcp(TcpHeader {
                flags: TcpFlags::RST,
                ..TcpHeader::default()
            }),
            ..*segment
        });
    }

    /// The next segment for the NIC: ACKs and RSTs first, then the connections in turn.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(segment) = self.shared.control.pop_front() {
            return Some(segment);
        }
        while let Some(slot) = self.ready.take() {
            let connection = &mut self.connections[slot as usize];
            connection.queued = None;
            if connection.state == State::Free {
                continue;
            }
            let outgoing = connection.transmit(now, &self.shared.config);
            connection.arm(slot, &mut self.shared);
            if connection.wants_transmit(&self.shared.config) {
                let turn = connection.turn(&self.shared.config);
                connection.queued = Some(turn);
                if connection.sender.in_burst() {
                    self.ready.enter_first(slot, turn);
                } else {
                    self.ready.enter(slot, turn);
                }
            } else {
                connection.sender.on_blocked();
            }
            if let Some(outgoing) = &outgoing {
                return Some(self.connections[slot as usize].build(outgoing, &self.shared.config));
            }
        }
        None
    }

    /// Whether `poll_transmit` may give a segment. Never no where it would.
    #[inline]
    pub fn has_transmit(&self) -> bool {
        !self.shared.control.is_empty() || !self.ready.is_empty()
    }

    // The clock.

    /// `now` is at or past `next_timeout`. A call that comes early does nothing.
    pub fn on_timeout(&mut self, now: Time) {
        while let Some((at, TimerKey { slot, generation })) = self.shared.timers.pop_due(now) {
            let connection = &mut self.connections[slot as usize];
            if connection.generation != generation || connection.timer_at != at {
                continue;
            }
            connection.timer_at = Time::MAX;
            let fate = connection.on_timeout(now, slot, &mut self.shared);
            self.settle(slot, fate);
        }
    }

    /// When `on_timeout` wants to be called, if ever. May be earlier than needed, never later.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        self.shared.timers.next()
    }

    // Getters.

    /// The host.
    pub fn host(&self) -> HostId {
        self.host
    }
    /// The parameters of all connections.
    pub fn config(&self) -> &TcpConfig {
        &self.shared.config
    }
    /// Connections held, those that wait after their close included.
    pub fn len(&self) -> usize {
        self.connections.len() - self.free.len()
    }
    /// The connections held.
    pub fn ids(&self) -> impl Iterator<Item = ConnectionId> {
        let used = self
            .connections
            .iter()
            .enumerate()
            .filter(|(_, c)| c.state != State::Free);
        used.map(|(slot, c)| ConnectionId {
            slot: slot as u32,
            generation: c.generation,
        })
    }
    /// The connections that have not ended, with their cost so far.
    pub fn unfinished(&self) -> impl Iterator<Item = Summary> {
        let connections = self.connections.iter();
        let open = connections.filter(|c| !matches!(c.state, State::Free | State::Lingering));
        open.map(Connection::summary)
    }
    /// The connection that this end opened for a flow and that has not ended. Looks through all of them.
    pub fn opened(&self, flow: FlowId) -> Option<ConnectionId> {
        let slot = self.connections.iter().position(|c| {
            let is_open = !matches!(c.state, State::Free | State::Lingering);
            is_open && c.role == Role::Opener && c.flow == flow
        })?;
        Some(self.id(slot as u32))
    }
    /// The connection that sends with `tuple`, in whatever state.
    pub fn find(&self, tuple: &FiveTuple) -> Option<ConnectionId> {
        let slot = self.demux.get(Key::of_outgoing(tuple))?;
        Some(self.id(slot))
    }
    /// Whether no connection is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Segments that were ignored: nonsense, or for no connection.
    pub fn ignored(&self) -> u64 {
        self.shared.ignored
    }
    /// Addresses and ports of a connection, as this host sends.
    pub fn tuple(&self, id: ConnectionId) -> Option<FiveTuple> {
        self.get(id).map(|connection| connection.tuple)
    }
    /// The flow that a connection carries.
    pub fn flow(&self, id: ConnectionId) -> Option<FlowId> {
        self.get(id).map(|connection| connection.flow)
    }
    /// Which end of a connection this is.
    pub fn role(&self, id: ConnectionId) -> Option<Role> {
        self.get(id).map(|connection| connection.role)
    }
    /// Bytes that arrived in order.
    pub fn delivered(&self, id: ConnectionId) -> Option<u64> {
        self.get(id)
            .map(|connection| connection.receiver.delivered())
    }
    /// Bytes that the peer has acknowledged.
    pub fn acknowledged(&self, id: ConnectionId) -> Option<u64> {
        self.get(id)
            .map(|connection| connection.sender.acknowledged())
    }
    /// Bytes written to a connection that have never left; `None` before its handshake has finished, and
    /// after [`finish`](Self::finish).
    pub fn unsent(&self, id: ConnectionId) -> Option<u64> {
        let connection = self.get(id)?;
        let is_open = connection.state == State::Established;
        is_open.then(|| connection.sender.unsent()).flatten()
    }
    /// What a connection has cost this end so far.
    pub fn stats(&self, id: ConnectionId) -> Option<FlowStats> {
        self.get(id).map(|connection| connection.sender.stats())
    }
    /// A connection's congestion window.
    pub fn window(&self, id: ConnectionId) -> Option<Window> {
        self.get(id).map(|connection| connection.sender.window())
    }
    /// A connection's controller.
    pub fn controller(&self, id: ConnectionId) -> Option<&Controller> {
        self.get(id)
            .map(|connection| connection.sender.controller())
    }
    /// The smoothed round-trip time (zero before the first sample) and the retransmission timeout.
    pub fn rtt(&self, id: ConnectionId) -> Option<(Duration, Duration)> {
        let rtt = self.get(id)?.sender.rtt();
        Some((rtt.smoothed(), rtt.rto()))
    }

    // The slab.

    fn id(&self, slot: u32) -> ConnectionId {
        let generation = self.connections[slot as usize].generation;
        ConnectionId { slot, generation }
    }

    fn get(&self, id: ConnectionId) -> Option<&Connection> {
        let connection = self.connections.get(id.slot as usize)?;
        let named = connection.generation == id.generation && connection.state != State::Free;
        named.then_some(connection)
    }

    fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        let connection = self.connections.get_mut(id.slot as usize)?;
        let named = connection.generation == id.generation && connection.state != State::Free;
        named.then_some(connection)
    }

    fn insert(&mut self, mut connection: Connection) -> u32 {
        let key = Key::of_outgoing(&connection.tuple);
        let slot = match self.free.pop() {
            Some(slot) => {
                let place = &mut self.connections[slot as usize];
                connection.generation = place.generation;
                connection.queued = place.queued;
                *place = connection;
                slot
            }
            None => {
                self.connections.push(connection);
                (self.connections.len() - 1) as u32
            }
        };
        self.demux.insert(key, slot);
        slot
    }

    /// Frees a slot. A place in the ready queue stays and is skipped, or serves the next user.
    fn remove(&mut self, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        self.demux.remove(Key::of_outgoing(&connection.tuple));
        connection.state = State::Free;
        connection.generation = connection.generation.wrapping_add(1);
        connection.timer_at = Time::MAX;
        connection.sender.release();
        self.free.push(slot);
    }

    /// After an input: queues the connection if it has something to send, and sets its timer.
    #[inline]
    fn settle(&mut self, slot: u32, fate: Fate) {
        if fate == Fate::Ends {
            self.remove(slot);
            return;
        }
        let connection = &mut self.connections[slot as usize];
        match connection.queued {
            None if connection.wants_transmit(&self.shared.config) => {
                let turn = connection.turn(&self.shared.config);
                connection.queued = Some(turn);
                self.ready.enter(slot, turn);
            }
            Some(waits) if self.shared.config.tags.is_some() => {
                // What is to be sent again may be of a higher class.
                let turn = connection.turn(&self.shared.config);
                if turn != waits {
                    connection.queued = Some(turn);
                    self.ready.change(slot, waits, turn);
                }
            }
            _ => {}
        }
        connection.arm(slot, &mut self.shared);
    }
}
