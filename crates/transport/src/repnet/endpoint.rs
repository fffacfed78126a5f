//! All RepNet flows of one host. Each flow uses one or two connections of the TCP endpoint of the host.
//!
//! The methods belong to four groups, as in [`tcp::Endpoint`](crate::tcp::Endpoint).
//! The layer above calls `connect`, `write`, `finish`, `abort` and `poll_event`.
//! The network calls `on_segment`, `poll_transmit` and `has_transmit`. The clock calls `on_timeout` and `next_timeout`.
//! All other methods are getters. After each input, call `poll_event` until it returns `None`.
//! After the events, call `poll_transmit` while the NIC accepts segments. The time never decreases.

use super::config::RepNetConfig;
use super::delivery::Diverged;
use super::socket::{Socket, SocketEvent, SocketId, Sockets};
use super::state::{self, Action, Leg, LegState, Machine, Mode, State};
use super::waiting_list::{Arrival, ClientAddress, Unseen, WaitingList};
use crate::tcp::{self, ConnectionEvent, ConnectionId, Summary, TcpConfig};
use crate::{ConfigError, PathPin, Segment};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::sync::Arc;
use tailcut_units::{FiveTuple, FlowId, HostId, Protocol, Time};

/// Latest time at which a connection must be established. After this time the flow drops the connection.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    at: Time,
    socket: SocketId,
    leg: Leg,
}

/// All RepNet flows of one host.
#[derive(Debug)]
pub struct Endpoint {
    tcp: tcp::Endpoint,
    config: RepNetConfig,
    port: u16,
    sockets: Sockets,
    waiting: WaitingList<SocketId>,
    /// Deadlines in order of time. All deadlines have the same duration, so new deadlines are appended.
    deadlines: VecDeque<Deadline>,
    events: VecDeque<SocketEvent>,
    /// Earliest timeout of RepNet, without the timeouts of TCP; `Time::MAX` if there is none.
    own_timeout: Time,
    late: u64,
}

impl Endpoint {
    /// Creates RepNet on `host`. The endpoint serves `port` and the next port.
    ///
    /// # Errors
    /// A parameter is outside its range, or `port` is the last port.
    pub fn new(
        host: HostId,
        port: u16,
        tcp: impl Into<Arc<TcpConfig>>,
        config: RepNetConfig,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        if port == u16::MAX {
            return Err(ConfigError {
                key: "port",
                found: format!("{port}"),
                allowed: "0 to 65534 (the port after it is served too)".into(),
            });
        }
        let mut tcp = tcp::Endpoint::new(host, tcp)?;
        tcp.listen_only(&ports(port));
        Ok(Self {
            tcp,
            config,
            port,
            sockets: Sockets::default(),
            waiting: WaitingList::new(config.waiting_list_timeout),
            deadlines: VecDeque::new(),
            events: VecDeque::new(),
            own_timeout: Time::MAX,
            late: 0,
        })
    }

    /// Turns [`SocketEvent::Delivered`] on or off. It is off by default, because it costs one event per segment.
    pub fn report_delivered(&mut self, wanted: bool) {
        self.tcp.report_delivered(wanted);
    }

    // Functions for the layer above.

    /// Opens a flow to the same service on `dst`.
    /// The flow uses two connections that differ only in the destination port.
    /// If `replicated` is `None`, the flow uses one connection. All connections use `path`.
    /// Returns `None` if every port is in use.
    pub fn connect(
        &mut self,
        now: Time,
        dst: HostId,
        flow: FlowId,
        path: PathPin,
        replicated: Option<Mode>,
    ) -> Option<SocketId> {
        // A plain flow also needs a local port that no other flow uses with either service port.
        // If another flow used the port, the server would treat two flows as one.
        let src_port = self.tcp.unused_port(dst, &ports(self.port))?;
        let (machine, legs) = match replicated {
            Some(mode) => (Machine::client(mode), &Leg::ALL[..]),
            None => (Machine::plain_client(), &Leg::ALL[..1]),
        };
        let id = self.sockets.insert(Socket::new(machine, flow));
        for leg in legs {
            let tuple = FiveTuple {
                src: self.tcp.host(),
                dst,
                src_port,
                dst_port: ports(self.port)[*leg as usize],
                protocol: Protocol::Tcp,
            };
            match self.tcp.connect(now, tuple, flow, path) {
                Ok(connection) => self.sockets.attach(id, *leg, connection),
                Err(_) => self.apply(now, id, state::Event::LegFailed, *leg),
            }
        }
        Some(id)
    }

    /// Adds `bytes` to the data that the flow sends. After `finish` this has no effect.
    pub fn write(&mut self, now: Time, id: SocketId, bytes: u64) {
        let Some(socket) = self.sockets.get_mut(id) else {
            return;
        };
        socket.archive.write(bytes);
        for connection in live(socket) {
            self.tcp.write(now, connection, bytes);
        }
        let socket = &*socket;
        // Only a server has this limit. A client chooses the mode by the size of the message before it opens the flow.
        if socket.machine.role() == state::Role::Server
            && socket.archive.bytes() > self.config.archive_limit
            && let Some(leg) = socket.machine.awaited_leg()
        {
            self.apply(now, id, state::Event::ArchiveOverThreshold, leg);
            self.refresh_timeout();
        }
    }

    /// Closes this direction after all written data has been sent.
    pub fn finish(&mut self, now: Time, id: SocketId) {
        let Some(socket) = self.sockets.get_mut(id) else {
            return;
        };
        socket.archive.finish();
        for connection in live(socket) {
            self.tcp.finish(now, connection);
        }
    }

    /// Aborts the flow: every connection is reset. The event [`SocketEvent::Closed`] follows.
    pub fn abort(&mut self, now: Time, id: SocketId) {
        self.apply(now, id, state::Event::Abort, Leg::First);
        self.refresh_timeout();
    }

    /// Returns the next event, in order.
    #[inline]
    pub fn poll_event(&mut self) -> Option<SocketEvent> {
        self.events.pop_front()
    }

    // The network and the clock.

    /// Handles a segment that the network delivered to this host.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.tcp.on_segment(now, segment);
        self.relay(now);
    }

    /// Returns the next segment for the NIC.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.tcp.poll_transmit(now)
    }

    /// Returns whether `poll_transmit` may return a segment. `true` may be wrong, but `false` is always right.
    #[inline]
    pub fn has_transmit(&self) -> bool {
        self.tcp.has_transmit()
    }

    /// Runs the timers that are due. Call this method at or after `next_timeout`. An early call does nothing.
    pub fn on_timeout(&mut self, now: Time) {
        self.tcp.on_timeout(now);
        self.relay(now);
        if self.own_timeout > now {
            return;
        }
        while let Some(id) = self.waiting.pop_timed_out(now) {
            if let Some(leg) = self.sockets.get(id).and_then(|s| s.machine.awaited_leg()) {
                self.apply(now, id, state::Event::WaitingListTimeout, leg);
            }
        }
        while let Some(deadline) = self.deadlines.front().copied().filter(|d| d.at <= now) {
            self.deadlines.pop_front();
            if self.awaits(&deadline) {
                self.apply(
                    now,
                    deadline.socket,
                    state::Event::LegDeadline,
                    deadline.leg,
                );
            }
        }
        self.refresh_timeout();
    }

    /// Returns the time at which `on_timeout` must be called, if any.
    /// The time may be earlier than needed, but never later.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        let next = self.tcp.next_timeout().unwrap_or(Time::MAX);
        let next = next.min(self.own_timeout);
        (next < Time::MAX).then_some(next)
    }

    // Getters.

    /// Returns RepNet's parameters.
    pub fn config(&self) -> &RepNetConfig {
        &self.config
    }
    /// Returns the TCP endpoint that the flows use.
    pub fn tcp(&self) -> &tcp::Endpoint {
        &self.tcp
    }
    /// Returns the number of flows that have not ended.
    pub fn len(&self) -> usize {
        self.sockets.len()
    }

    /// Returns the flows that have not ended, with their cost so far.
    pub fn unfinished(&self) -> impl Iterator<Item = Summary> {
        self.sockets.iter().map(|socket| {
            let mut all = socket.summary();
            for connection in socket.connections.into_iter().flatten() {
                if let Some(stats) = self.tcp.stats(connection) {
                    all.stats.add(stats);
                }
            }
            all
        })
    }
    /// Returns whether all flows have ended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the number of ended flows that are remembered, because one of their connections may still arrive.
    pub fn tombstones(&self) -> usize {
        self.waiting.tombstones()
    }
    /// Returns the number of connections that were rejected because their flow accepts no further connection.
    pub fn late(&self) -> u64 {
        self.late
    }
    /// Returns the socket that this host opened for a flow. Searches all sockets.
    pub fn opened(&self, flow: FlowId) -> Option<SocketId> {
        self.sockets.opened(flow)
    }
    /// Returns the flow of a socket.
    pub fn flow(&self, id: SocketId) -> Option<FlowId> {
        self.sockets.get(id).map(|socket| socket.flow)
    }
    /// Returns the role of this host in a flow.
    pub fn role(&self, id: SocketId) -> Option<state::Role> {
        self.sockets.get(id).map(|socket| socket.machine.role())
    }
    /// Returns the state of a flow.
    pub fn state(&self, id: SocketId) -> Option<State> {
        self.sockets.get(id).map(|socket| socket.machine.state())
    }

    // Assignment of connections to flows.

    /// Converts events of connections into events of flows. In most calls there is no event.
    #[inline]
    fn relay(&mut self, now: Time) {
        if let Some(event) = self.tcp.poll_event() {
            self.relay_from(now, event);
        }
    }

    #[cold]
    fn relay_from(&mut self, now: Time, first: ConnectionEvent) {
        let mut next = Some(first);
        while let Some(event) = next {
            self.on_connection_event(now, event);
            next = self.tcp.poll_event();
        }
        self.refresh_timeout();
    }

    fn on_connection_event(&mut self, now: Time, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Accepted {
                id, tuple, flow, ..
            } => self.on_accepted(now, id, &tuple, flow),
            ConnectionEvent::Established { id } => {
                if let Some((socket, leg)) = self.sockets.owner(id) {
                    self.apply(now, socket, state::Event::LegEstablished, leg);
                    self.limit_wait(now, socket);
                }
            }
            ConnectionEvent::Delivered { id, total } => {
                if let Some((socket, leg)) = self.sockets.owner(id) {
                    self.on_delivered(now, socket, leg, total);
                }
            }
            ConnectionEvent::PeerFinished { id, total } => {
                match self.sockets.owner(id) {
                    Some((socket, leg)) => self.on_peer_finished(now, socket, leg, total),
                    // The flow ended before its second connection arrived. The connection has now delivered its copy.
                    // The late second connection is reset and not closed, because the flow's answer was not sent on it.
                    None => {
                        self.tcp.reset(now, id);
                    }
                }
            }
            ConnectionEvent::Closed { id, summary } => {
                if let Some((socket, leg)) = self.release(id, &summary) {
                    self.on_closed(now, socket, leg);
                }
            }
            ConnectionEvent::Reset { id, summary } | ConnectionEvent::Failed { id, summary } => {
                if let Some((socket, leg)) = self.release(id, &summary) {
                    self.apply(now, socket, state::Event::LegFailed, leg);
                }
            }
        }
    }

    /// Assigns an accepted connection to its flow (RepNet paper, III-D).
    fn on_accepted(&mut self, now: Time, id: ConnectionId, tuple: &FiveTuple, flow: FlowId) {
        let leg = if tuple.dst_port == self.port {
            Leg::First
        } else {
            Leg::Second
        };
        let client = ClientAddress {
            host: tuple.src,
            port: tuple.src_port,
        };
        match self.waiting.arrival(now, client, leg) {
            Arrival::First => {
                // A SYN does not show whether the mode of its flow is RepSYN or RepFlow.
                // A server handles RepSYN and RepFlow in the same way (III-E).
                let machine = Machine::server(Mode::RepFlow, leg);
                let socket = self.sockets.insert(Socket::new(machine, flow));
                self.sockets.attach(socket, leg, id);
                let entry = self.waiting.enter(now, client, leg, socket);
                if let Some(socket) = self.sockets.get_mut(socket) {
                    socket.entry = Some(entry);
                }
                self.perform_all(now, socket, leg, state::SERVER_START.actions);
            }
            Arrival::Second(socket) => {
                self.sockets.attach(socket, leg, id);
                self.apply(now, socket, state::Event::SecondLegJoined, leg);
            }
            Arrival::Late(socket) => {
                // The state machine orders a reset of the late connection.
                // The socket does not contain the late connection, so it is reset here.
                self.turn_away(now, id);
                if let Some(place) = self.sockets.get_mut(socket) {
                    let actions = place.machine.handle(state::Event::LateLeg, leg);
                    if actions.contains(&Action::LeaveWaitingList) {
                        self.perform(now, socket, leg, Action::LeaveWaitingList);
                    }
                }
            }
            // The flow of this connection has ended already, so the connection belongs to no socket.
            // `on_connection_event` handles the close of the connection.
            Arrival::AfterTheEnd => {}
            Arrival::TooLate => self.turn_away(now, id),
        }
        // Old tombstones are removed when a connection arrives, so no timer is needed for them.
        while let Some(unseen) = self.waiting.pop_forgotten(now) {
            self.turn_away_unseen(now, unseen);
        }
    }

    /// Resets a connection whose flow is no longer remembered, if the handshake of the connection has begun.
    /// Without the reset, the connection would count as a new flow at the end of its handshake.
    fn turn_away_unseen(&mut self, now: Time, Unseen { client, leg }: Unseen) {
        let connection = self.tcp.find(&FiveTuple {
            src: self.tcp.host(),
            dst: client.host,
            src_port: ports(self.port)[leg as usize],
            dst_port: client.port,
            protocol: Protocol::Tcp,
        });
        if let Some(id) = connection.filter(|id| self.sockets.owner(*id).is_none()) {
            self.turn_away(now, id);
        }
    }

    fn turn_away(&mut self, now: Time, id: ConnectionId) {
        self.tcp.reset(now, id);
        self.late += 1;
    }

    fn on_delivered(&mut self, now: Time, id: SocketId, leg: Leg, total: u64) {
        let Some(socket) = self.sockets.get_mut(id) else {
            return;
        };
        match socket.delivery.advance(total) {
            Ok(Some(total)) => self.events.push_back(SocketEvent::Delivered { id, total }),
            Ok(None) => {}
            Err(Diverged) => self.apply(now, id, state::Event::Diverged, leg),
        }
    }

    fn on_peer_finished(&mut self, now: Time, id: SocketId, leg: Leg, total: u64) {
        let Some(socket) = self.sockets.get_mut(id) else {
            return;
        };
        match socket.delivery.finish(total) {
            Ok(true) => self
                .events
                .push_back(SocketEvent::PeerFinished { id, total }),
            Ok(false) => {}
            Err(Diverged) => self.apply(now, id, state::Event::Diverged, leg),
        }
    }

    /// Handles the clean end of a connection.
    /// If the other connection of a client is still pending, the state machine gets the event later.
    /// If it got the event now, the machine would drop the pending connection.
    /// The pending connection must stay, because the load of the second copy is a cost of replication.
    fn on_closed(&mut self, now: Time, id: SocketId, leg: Leg) {
        let Some(socket) = self.sockets.get_mut(id) else {
            return;
        };
        let machine = &socket.machine;
        match (machine.leg(leg.other()), machine.role()) {
            (LegState::Pending, state::Role::Client) => socket.closed = Some(leg),
            (LegState::Gone, _) => self.apply(now, id, state::Event::BothClosed, leg),
            _ => self.apply(now, id, state::Event::LegFinished, leg),
        }
    }

    /// Removes a connection that has ended, and adds its cost to the flow.
    /// Returns the flow and the index of the connection in it.
    fn release(&mut self, id: ConnectionId, summary: &Summary) -> Option<(SocketId, Leg)> {
        let (socket, leg) = self.sockets.owner(id)?;
        self.sockets.detach(socket, leg);
        self.sockets.get_mut(socket)?.stats.add(summary.stats);
        Some((socket, leg))
    }

    /// Starts the deadline of the second connection, after the first connection is established.
    /// The server waits for the same time.
    fn limit_wait(&mut self, now: Time, id: SocketId) {
        if let Some(leg) = self.sockets.get(id).and_then(|s| s.machine.awaited_leg()) {
            self.deadlines.push_back(Deadline {
                at: now.saturating_add(self.config.waiting_list_timeout),
                socket: id,
                leg,
            });
        }
    }

    /// Returns whether the connection of a deadline is still pending.
    /// The deadline remains even if the first connection has failed. The server may have seen the flow, and may end it.
    fn awaits(&self, deadline: &Deadline) -> bool {
        let socket = self.sockets.get(deadline.socket);
        socket.is_some_and(|socket| socket.machine.leg(deadline.leg) == LegState::Pending)
    }

    fn refresh_timeout(&mut self) {
        while let Some(deadline) = self.deadlines.front() {
            // The deadline stays in the queue after its connection was established or dropped.
            // A deadline without a pending connection must not wake the endpoint.
            if self.awaits(deadline) {
                break;
            }
            self.deadlines.pop_front();
        }
        let deadline = self.deadlines.front().map_or(Time::MAX, |d| d.at);
        self.own_timeout = deadline.min(self.waiting.next_timeout().unwrap_or(Time::MAX));
    }

    // Actions of the state machine.

    fn apply(&mut self, now: Time, id: SocketId, event: state::Event, leg: Leg) {
        if let Some(socket) = self.sockets.get_mut(id) {
            let actions = socket.machine.handle(event, leg);
            self.perform_all(now, id, leg, actions);
        }
        // A clean close may have waited for a pending connection. The close is reported now.
        // If the connection is still pending, the close waits again.
        let closed = self.sockets.get_mut(id).and_then(|s| s.closed.take());
        if let Some(leg) = closed {
            self.on_closed(now, id, leg);
        }
    }

    fn perform_all(&mut self, now: Time, id: SocketId, leg: Leg, actions: &[Action]) {
        for action in actions {
            self.perform(now, id, leg, *action);
        }
        if self
            .sockets
            .get(id)
            .is_some_and(|socket| socket.machine.state() == State::Ended)
        {
            self.end(id);
        }
    }

    fn perform(&mut self, now: Time, id: SocketId, leg: Leg, action: Action) {
        let Some(socket) = self.sockets.get_mut(id) else {
            return;
        };
        match action {
            Action::OpenFlow => {
                if !core::mem::replace(&mut socket.opened, true) {
                    let flow = socket.flow;
                    self.events.push_back(match socket.machine.role() {
                        state::Role::Client => SocketEvent::Established { id },
                        state::Role::Server => SocketEvent::Accepted { id, flow },
                    });
                }
            }
            Action::ReplayArchive => {
                if let Some(connection) = socket.connections[leg as usize] {
                    self.tcp.write(now, connection, socket.archive.bytes());
                    if socket.archive.is_finished() {
                        self.tcp.finish(now, connection);
                    }
                }
            }
            Action::FreeArchive => socket.archive.free(),
            Action::LeaveWaitingList => {
                if let Some(entry) = socket.entry {
                    self.waiting.leave(entry);
                }
            }
            Action::KeepOnWaitingList => {
                if let Some(entry) = socket.entry {
                    self.waiting.keep(entry);
                }
            }
            Action::Bury => {
                let entry = socket.entry.take();
                if let Some(unseen) = entry.and_then(|entry| self.waiting.bury(now, entry)) {
                    self.turn_away_unseen(now, unseen);
                }
            }
            Action::ResetLeg => self.drop_leg(now, id, leg),
            Action::ResetOtherLeg => self.drop_leg(now, id, leg.other()),
            Action::CloseLegs => {
                for leg in Leg::ALL {
                    self.drop_leg(now, id, leg);
                }
            }
            Action::SurfaceError => socket.failed = true,
            // `connect` and `on_accepted` execute these actions when they create the flow.
            Action::AttachLeg | Action::EnterWaitingList | Action::StartArchive => {}
            // The remaining actions need no work. The error of a connection contains nothing to keep.
            // There is no confirm timeout, so each connection ends by itself.
            Action::HoldError | Action::AwaitOtherLeg | Action::ReleaseLeg => {}
        }
    }

    /// Drops a connection of a flow with a reset, if it still exists.
    fn drop_leg(&mut self, now: Time, id: SocketId, leg: Leg) {
        let summary = self
            .sockets
            .detach(id, leg)
            .and_then(|connection| self.tcp.reset(now, connection));
        if let (Some(summary), Some(socket)) = (summary, self.sockets.get_mut(id)) {
            socket.stats.add(summary.stats);
        }
    }

    fn end(&mut self, id: SocketId) {
        if let Some(socket) = self.sockets.remove(id) {
            let summary = socket.summary();
            self.events.push_back(if socket.failed {
                SocketEvent::Failed { id, summary }
            } else {
                SocketEvent::Closed { id, summary }
            });
        }
    }
}

/// Returns the port of the service and the port after it.
const fn ports(port: u16) -> [u16; 2] {
    [port, port + 1]
}

/// Returns the connections to which written data is passed.
fn live(socket: &Socket) -> impl Iterator<Item = ConnectionId> {
    let machine = socket.machine;
    Leg::ALL
        .into_iter()
        .zip(socket.connections)
        .filter(move |(leg, _)| machine.leg(*leg) == LegState::Live)
        .filter_map(|(_, connection)| connection)
}
