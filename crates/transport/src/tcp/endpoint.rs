//! All TCP connections of one host. This is the interface for the layers above TCP.
//!
//! The methods belong to four groups. The layer above calls `connect`, `write`, `finish`, `reset` and `poll_event`.
//! The network calls `on_segment`, `poll_transmit` and `has_transmit`. The clock calls `on_timeout` and `next_timeout`.
//! All other methods are getters. After each input, call `poll_event` until it returns `None`.
//! After the events, call `poll_transmit` while the NIC accepts segments. The time never decreases.

use super::config::TcpConfig;
use super::congestion::{Controller, Window};
use super::connection::{Connection, ConnectionId, Fate, Role, State, Summary};
use super::demux::{Demux, Key};
use super::timers::{TimerKey, Timers};
use crate::tcp::{TcpFlags, TcpHeader};
use crate::turns::Turns;
use crate::{ConfigError, Ecn, FlowStats, Header, PathPin, Segment};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time, prefetch_whole};

/// Local ports of outgoing connections (Linux's default range).
const EPHEMERAL_PORTS: core::ops::RangeInclusive<u16> = 32_768..=60_999;

/// Smallest invalid offset. Segments at or above this offset are ignored, so that sums of offsets cannot overflow.
const MAX_OFFSET: u64 = 1 << 62;

/// Event of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionEvent {
    /// The handshake of a connection that a peer opened is complete.
    Accepted {
        /// Identifier of the new connection.
        id: ConnectionId,
        /// Addresses and ports of the segments that the peer sends: `src` is the peer.
        tuple: FiveTuple,
        /// Flow number in the peer's SYN.
        flow: FlowId,
        /// Path to which the peer's SYN was pinned.
        path: PathPin,
    },
    /// The handshake of a connection that this host opened is complete.
    Established {
        /// Identifier of the connection.
        id: ConnectionId,
    },
    /// More bytes have arrived in order. The endpoint reports this event only after [`Endpoint::report_delivered`].
    /// One event may cover several segments.
    Delivered {
        /// Identifier of the connection.
        id: ConnectionId,
        /// Number of bytes delivered so far.
        total: u64,
    },
    /// The peer's FIN and every byte before it have arrived.
    PeerFinished {
        /// Identifier of the connection.
        id: ConnectionId,
        /// Total number of delivered bytes.
        total: u64,
    },
    /// The peer aborted the connection. The identifier of the connection is no longer valid.
    Reset {
        /// Identifier of the connection.
        id: ConnectionId,
        /// Summary of the connection.
        summary: Summary,
    },
    /// The connection failed after too many retransmissions. The identifier of the connection is no longer valid.
    Failed {
        /// Identifier of the connection.
        id: ConnectionId,
        /// Summary of the connection.
        summary: Summary,
    },
    /// Both directions are finished and acknowledged. No more payload is sent.
    Closed {
        /// Identifier of the connection.
        id: ConnectionId,
        /// Summary of the connection.
        summary: Summary,
    },
}

/// Reason why a connection cannot be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    /// The host already has a connection with the same addresses and ports.
    #[error(
        "a connection from {} port {} to {} port {} exists already",
        .0.src, .0.src_port, .0.dst, .0.dst_port
    )]
    TupleInUse(FiveTuple),
    /// The source address of the tuple is another host.
    #[error("the source {0} is not this host")]
    NotThisHost(HostId),
}

/// State that all connections of an endpoint share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Parameters of all connections. Hosts with equal parameters share them, so that they stay in the cache.
    pub(crate) config: Arc<TcpConfig>,
    /// Segments that are ready to leave: ACKs and RSTs in the order of their creation.
    pub(crate) control: VecDeque<Segment>,
    pub(crate) events: VecDeque<ConnectionEvent>,
    pub(crate) timers: Timers,
    pub(crate) report_delivered: bool,
    /// Number of ignored segments. It stops at its largest value.
    pub(crate) ignored: u32,
}

impl Shared {
    /// Counts a segment that is ignored.
    #[cold]
    pub(crate) fn ignore(&mut self) {
        self.ignored = self.ignored.saturating_add(1);
    }
}

/// Parts of an endpoint that are used only when connections begin and end.
/// The rarely used parts are separate, so that the parts that every segment uses need few cache lines.
#[derive(Debug)]
struct Openings {
    /// Slots without a connection.
    free: Vec<u32>,
    /// Ports on which the endpoint listens. `None`: every port.
    listening: Option<Vec<u16>>,
    /// Port from which the next search for an unused port starts.
    next_port: u16,
}

/// TCP of one host.
#[derive(Debug)]
pub struct Endpoint {
    host: HostId,
    connections: Vec<Connection>,
    demux: Demux,
    /// Slots that have something to send, by PIAS class if tags are configured.
    ready: Turns<u32>,
    openings: Box<Openings>,
    shared: Shared,
}

impl Endpoint {
    /// Creates an endpoint for `host` that listens on every port.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn new(host: HostId, config: impl Into<Arc<TcpConfig>>) -> Result<Self, ConfigError> {
        let config = config.into();
        config.validate()?;
        Ok(Self {
            host,
            connections: Vec::new(),
            demux: Demux::new(),
            ready: Turns::new(),
            openings: Box::new(Openings {
                free: Vec::new(),
                listening: None,
                next_port: *EPHEMERAL_PORTS.start(),
            }),
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

    /// Listens on `ports` only. A SYN to another port is answered with a RST.
    pub fn listen_only(&mut self, ports: &[u16]) {
        self.openings.listening = Some(ports.to_vec());
    }

    /// Turns [`ConnectionEvent::Delivered`] on or off. It is off by default, because it costs one event per segment.
    pub fn report_delivered(&mut self, wanted: bool) {
        self.shared.report_delivered = wanted;
    }

    // Functions for the layer above.

    /// Returns a local port that no connection to any of `dst_ports` of `dst` uses, or `None` if all ports are in use.
    /// The search starts after the last port that was returned, so that a port is not used again soon.
    pub fn unused_port(&mut self, dst: HostId, dst_ports: &[u16]) -> Option<u16> {
        for _ in EPHEMERAL_PORTS {
            let port = self.openings.next_port;
            self.openings.next_port = if port == *EPHEMERAL_PORTS.end() {
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

    /// Opens a connection. Its SYN is ready to leave after this call.
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

    /// Adds `bytes` to the data that the connection sends. After `finish` this has no effect.
    pub fn write(&mut self, now: Time, id: ConnectionId, bytes: u64) {
        if self.get(id).is_none() {
            return;
        }
        let sender = &mut self.connections[id.slot as usize].sender;
        if self.shared.config.restart_after_idle {
            sender.restart_after_idle(now, &self.shared.config);
        }
        sender.write(bytes);
        self.settle(id.slot, Fate::Lives);
    }

    /// Closes this direction after all written data.
    /// The FIN is part of the last data segment, if that segment has not left yet.
    pub fn finish(&mut self, _now: Time, id: ConnectionId) {
        if let Some(connection) = self.get_mut(id) {
            connection.sender.finish();
            self.settle(id.slot, Fate::Lives);
        }
    }

    /// Aborts the connection and sends a RST to the peer. `id` is not valid after this call, and no event follows.
    /// Returns the summary of the connection, or `None` if the connection does not exist.
    pub fn reset(&mut self, _now: Time, id: ConnectionId) -> Option<Summary> {
        let connection = self.get(id)?;
        let summary = connection.summary();
        // After the end of both directions, a connection lingers, so the peer needs no RST.
        if connection.state != State::Lingering {
            let segment = connection.reset_segment(&self.shared.config);
            self.shared.control.push_back(segment);
        }
        self.remove(id.slot);
        Some(summary)
    }

    /// Moves a connection to another endpoint of this host, where it continues under another identifier.
    /// The caller must poll all events first. ACKs that are already queued leave from this endpoint.
    /// Returns `None`, and changes nothing, if there is no such connection.
    /// Also returns `None` if `to` has a connection with the same addresses and ports.
    pub fn hand_over(&mut self, id: ConnectionId, to: &mut Self) -> Option<ConnectionId> {
        let tuple = self.get(id)?.tuple;
        if to.find(&tuple).is_some() {
            return None;
        }
        let place = &mut self.connections[id.slot as usize];
        let config = &self.shared.config;
        // `remove` needs a connection in the slot, with the slot's generation and its entry in the ready queue.
        let mut nobody = place.anew(config);
        (nobody.generation, nobody.queued) = (place.generation, place.queued);
        let mut connection = core::mem::replace(place, nobody);
        self.remove(id.slot);
        // The entries in the timer queue and the ready queue stay behind. `settle` creates new entries.
        connection.timer_at = Time::MAX;
        connection.queued = None;
        let slot = to.insert(connection);
        to.settle(slot, Fate::Lives);
        Some(to.id(slot))
    }

    /// Returns the next event, in order.
    pub fn poll_event(&mut self) -> Option<ConnectionEvent> {
        loop {
            match self.shared.events.pop_front()? {
                ConnectionEvent::Delivered { id, .. } => {
                    let Some(connection) = self.get_mut(id) else {
                        // The connection has ended in the meantime, so its identifier is no longer valid.
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

    /// Handles a segment that the network delivered to this host.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        let Header::Tcp(header) = &segment.header else {
            self.shared.ignore();
            return;
        };
        if header.offset >= MAX_OFFSET {
            self.shared.ignore();
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

    /// Handles a segment that belongs to no connection (RFC 9293, 3.10.7.1 and 3.10.7.2).
    #[cold]
    fn on_unknown(&mut self, segment: &Segment, header: &TcpHeader) {
        let flags = header.flags;
        // A reset is never answered with a reset (RFC 9293, section 3.5.2).
        // Segments for other hosts get no answer either.
        if flags.has(TcpFlags::RST) || segment.tuple.dst != self.host {
            self.shared.ignore();
            return;
        }
        let opens = flags.has(TcpFlags::SYN) && !flags.has(TcpFlags::ACK);
        let listens = |ports: &Vec<u16>| ports.contains(&segment.tuple.dst_port);
        if opens && self.openings.listening.as_ref().is_none_or(listens) {
            let tuple = segment.tuple.reversed();
            let (flow, path) = (segment.flow, segment.path);
            let config = &self.shared.config;
            let mut connection = Connection::new(config, Role::Acceptor, tuple, flow, path);
            connection.on_first_syn(flags, config);
            let slot = self.insert(connection);
            self.settle(slot, Fate::Lives);
            return;
        }
        self.shared.ignore();
        // Endpoints accept a reset with any offset, so this reset has no sequence numbers.
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

    /// Returns the next segment for the NIC. ACKs and RSTs leave first, then the connections take turns.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(segment) = self.shared.control.pop_front() {
            return Some(segment);
        }
        while let Some(slot) = self.ready.take() {
            let connection = &mut self.connections[slot as usize];
            connection.queued = None;
            // The connection of this entry has ended. `remove` leaves its entry in the queue.
            if connection.state == State::Free {
                continue;
            }
            let outgoing = connection.transmit(now, &self.shared.config);
            connection.arm(slot, &mut self.shared);
            if connection.wants_transmit(&self.shared.config) {
                let turn = connection.turn(&self.shared.config);
                connection.queued = Some(turn);
                // The segments of a burst stay together: the connection moves back to the head of its class.
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

    /// Returns whether `poll_transmit` may return a segment. `true` may be wrong, but `false` is always right.
    #[inline]
    pub fn has_transmit(&self) -> bool {
        !self.shared.control.is_empty() || !self.ready.is_empty()
    }

    /// Prefetches the connection of a segment that arrives soon.
    /// Without a segment, prefetches the connection whose turn it is.
    #[inline]
    pub fn prefetch(&self, arriving: Option<&Segment>) {
        let slot = match arriving {
            Some(segment) => self.demux.get(Key::of_arriving(&segment.tuple)),
            None => self.ready.first(),
        };
        if let Some(slot) = slot {
            prefetch_whole(&self.connections, slot as usize);
        }
    }

    // The clock.

    /// Runs the timers that are due. Call this method at or after `next_timeout`. An early call does nothing.
    pub fn on_timeout(&mut self, now: Time) {
        while let Some((at, TimerKey { slot, generation })) = self.shared.timers.pop_due(now) {
            let connection = &mut self.connections[slot as usize];
            // The entry is stale: its slot has a new connection, or the connection has an earlier entry.
            if connection.generation != generation || connection.timer_at != at {
                continue;
            }
            connection.timer_at = Time::MAX;
            let fate = connection.on_timeout(now, slot, &mut self.shared);
            self.settle(slot, fate);
        }
    }

    /// Returns the time at which `on_timeout` must be called, if any.
    /// The time may be earlier than needed, but never later.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        self.shared.timers.next()
    }

    // Getters.

    /// Returns the number of the host.
    pub fn host(&self) -> HostId {
        self.host
    }
    /// Returns the parameters of all connections.
    pub fn config(&self) -> &TcpConfig {
        &self.shared.config
    }
    /// Returns the number of connections, including closed connections that still wait.
    pub fn len(&self) -> usize {
        self.connections.len() - self.openings.free.len()
    }
    /// Returns the identifiers of the connections.
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
    /// Returns the connections that have not ended, with their cost so far.
    pub fn unfinished(&self) -> impl Iterator<Item = Summary> {
        let connections = self.connections.iter();
        let open = connections.filter(|c| !matches!(c.state, State::Free | State::Lingering));
        open.map(Connection::summary)
    }
    /// Returns the connection that this host opened for a flow, unless it has ended. Searches all connections.
    pub fn opened(&self, flow: FlowId) -> Option<ConnectionId> {
        let slot = self.connections.iter().position(|c| {
            let is_open = !matches!(c.state, State::Free | State::Lingering);
            is_open && c.role == Role::Opener && c.flow == flow
        })?;
        Some(self.id(slot as u32))
    }
    /// Returns the connection that sends with `tuple`, in any state.
    pub fn find(&self, tuple: &FiveTuple) -> Option<ConnectionId> {
        let slot = self.demux.get(Key::of_outgoing(tuple))?;
        Some(self.id(slot))
    }
    /// Returns whether the endpoint has no connection.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the number of ignored segments: invalid segments, and segments that belong to no connection.
    pub fn ignored(&self) -> u64 {
        u64::from(self.shared.ignored)
    }
    /// Returns addresses and ports of a connection, as in the segments that this host sends.
    pub fn tuple(&self, id: ConnectionId) -> Option<FiveTuple> {
        self.get(id).map(|connection| connection.tuple)
    }
    /// Returns the flow of a connection.
    pub fn flow(&self, id: ConnectionId) -> Option<FlowId> {
        self.get(id).map(|connection| connection.flow)
    }
    /// Returns the role of this host in a connection.
    pub fn role(&self, id: ConnectionId) -> Option<Role> {
        self.get(id).map(|connection| connection.role)
    }
    /// Returns the number of bytes that arrived in order.
    pub fn delivered(&self, id: ConnectionId) -> Option<u64> {
        self.get(id)
            .map(|connection| connection.receiver.delivered())
    }
    /// Returns the number of bytes that the peer has acknowledged.
    pub fn acknowledged(&self, id: ConnectionId) -> Option<u64> {
        self.get(id)
            .map(|connection| connection.sender.acknowledged())
    }
    /// Returns the number of written bytes that have never left.
    /// Returns `None` before the end of the handshake and after [`finish`](Self::finish).
    pub fn unsent(&self, id: ConnectionId) -> Option<u64> {
        let connection = self.get(id)?;
        let is_open = connection.state == State::Established;
        is_open.then(|| connection.sender.unsent()).flatten()
    }
    /// Returns the cost of a connection at this end so far.
    pub fn stats(&self, id: ConnectionId) -> Option<FlowStats> {
        self.get(id).map(|connection| connection.sender.stats())
    }
    /// Returns the congestion window of a connection.
    pub fn window(&self, id: ConnectionId) -> Option<Window> {
        self.get(id).map(|connection| connection.sender.window())
    }
    /// Returns the congestion controller of a connection.
    pub fn controller(&self, id: ConnectionId) -> Option<&Controller> {
        self.get(id)
            .map(|connection| connection.sender.controller())
    }
    /// Returns the smoothed round-trip time (zero before the first sample) and the retransmission timeout.
    pub fn rtt(&self, id: ConnectionId) -> Option<(Duration, Duration)> {
        let rtt = self.get(id)?.sender.rtt();
        Some((rtt.smoothed(), rtt.rto()))
    }

    // The slots.

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
        let slot = match self.openings.free.pop() {
            Some(slot) => {
                let place = &mut self.connections[slot as usize];
                connection.generation = place.generation;
                // Identifiers of old connections stay invalid.
                // The slot's entry in the ready queue now serves this connection (see `remove`).
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

    /// Frees a slot. Its entry in the ready queue stays.
    /// The entry is skipped, or serves the next connection in the slot.
    fn remove(&mut self, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        self.demux.remove(Key::of_outgoing(&connection.tuple));
        connection.state = State::Free;
        // Identifiers and timer entries of the old connection become invalid.
        connection.generation = connection.generation.wrapping_add(1);
        connection.timer_at = Time::MAX;
        connection.sender.release();
        self.openings.free.push(slot);
    }

    /// Updates the queues after an input: queues the connection if it has something to send, and sets the timer.
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
                // A retransmission may belong to a higher class.
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
