//! SCDP engine of one host. It has no clock and no sockets.

use super::buffer_budget::{BufferBudget, Reservation};
use super::connections::{Connection, Connections};
use super::incoming::{DecodeJob, Decoded, Inbound};
use super::incoming_sessions::IncomingSessions;
use super::outcome::Failure;
use super::outgoing::{Kind, Outbound, Task};
use super::paths::Paths;
use super::reason::Reason;
use super::route::Route;
use super::sealing::Seal;
use super::shared_progress::Stage;
use super::staging::Staging;
use super::table::Table;
use crate::codec::Codes;
use crate::seal::{Key, Tokens, random};
use crate::udp::{Cause, Datagrams, Incoming, Refusal};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use tailcut_transport::scdp::{DriverCodec, Host, Mode, Object, ScdpConfig};
use tailcut_transport::{
    Event, FlowStats, Message, Part, PathPin, Replication, Share, Straggler, Transport,
};
use tailcut_units::{FlowId, HostId, Time};

/// Smallest flow number of received objects. Sent objects have smaller numbers.
pub(super) const FIRST_INCOMING: FlowId = FlowId(1 << 31);
/// Smallest number of a group of receivers in the transport. Connections have smaller numbers.
const GROUPS: u32 = 1 << 31;

/// Event of the engine for the application.
#[derive(Debug)]
pub(super) enum News {
    /// An object from another host has arrived.
    Received {
        route: Route,
        bytes: Vec<u8>,
        reservation: Reservation,
    },
    /// A transfer has ended.
    /// Fields: flow number, statistics, number of receivers without the object, and size of a symbol in bytes.
    Sent(FlowId, FlowStats, usize, u32),
    /// A transfer has failed for this reason.
    Failed(FlowId, Failure),
}

/// Counters of an engine.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Number of datagrams sent.
    pub sent: u64,
    /// Number of messages that were passed to the socket. A message may contain several datagrams.
    pub messages: u64,
    /// Number of messages that the system has refused.
    pub refused: u64,
    /// Number of datagrams received.
    pub arrived: u64,
    /// Number of received datagrams that are not SCDP packets, or that have impossible values.
    pub malformed: u64,
    /// Number of received datagrams that belong to no session.
    pub unknown: u64,
    /// Number of offers that were refused because of a limit on memory or sessions.
    pub no_room: u64,
    /// Number of decoded blocks, including failures.
    pub decodings: u64,
    /// Number of tokens that were sent to senders whose addresses are not validated.
    pub tokens: u64,
    /// Number of symbols that a switch has trimmed.
    pub trimmed: u64,
    /// Number of times that the address of a remote end has changed during a session.
    pub moved: u64,
    /// Number of times that the datagram size of a path was reduced.
    pub shrunk: u64,
}

/// Arguments of `Engine::new`.
pub(super) struct Setup {
    pub(super) host: Host<DriverCodec>,
    /// Parameters of `host`.
    pub(super) config: ScdpConfig,
    /// Number of this host in the transport.
    pub(super) me: HostId,
    pub(super) budget: BufferBudget,
    pub(super) codes: Arc<Codes>,
    pub(super) tokens: Tokens,
    pub(super) key: Option<Key>,
}

/// Returns a random identifier for a new session.
fn draw() -> Option<u64> {
    random().ok().map(u64::from_be_bytes)
}

/// Returns the encryption state of a sender.
/// Returns `Some(None)` if there is no key, and `None` if the system has no random bytes.
fn seal(key: Option<&Key>, session: u64, share: u16) -> Option<Option<Box<Seal>>> {
    match key {
        Some(key) => Some(Some(Box::new(Seal::new(key, session, share, None).ok()?))),
        None => Some(None),
    }
}

/// SCDP of one host. The inputs are datagrams, the time, and objects to send. The outputs are datagrams and events.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) host: Host<DriverCodec>,
    pub(super) config: ScdpConfig,
    pub(super) connections: Connections,
    /// Objects that are being sent, by flow number.
    pub(super) outgoing: Table<FlowId, Outbound>,
    /// Flow number and connection of each receiver, by session and share (index of this sender).
    pub(super) sent_to: Table<(u64, u16), (FlowId, HostId)>,
    /// Objects that are being received, by flow number.
    pub(super) incoming: Table<FlowId, Inbound>,
    pub(super) incoming_sessions: IncomingSessions,
    pub(super) staging: Staging,
    pub(super) news: VecDeque<News>,
    pub(super) counts: Counts,
    codes: Arc<Codes>,
    paths: Paths,
    /// Transfers that will start again, with the time of the start.
    waiting: BTreeSet<(Time, FlowId)>,
    blocked: bool,
    jobs: VecDeque<DecodeJob>,
    next_flow: u32,
    now: Time,
}

impl Engine {
    pub(super) fn new(setup: Setup) -> Self {
        let mut host = setup.host;
        // Senders choose flow numbers independently. So two senders may choose the same number.
        host.name_incoming(FIRST_INCOMING);
        Self {
            host,
            config: setup.config,
            connections: Connections::new(setup.me, setup.key),
            outgoing: Table::default(),
            sent_to: Table::default(),
            incoming: Table::default(),
            incoming_sessions: IncomingSessions::new(setup.me, setup.budget, setup.tokens),
            staging: Staging::default(),
            news: VecDeque::new(),
            counts: Counts::default(),
            codes: setup.codes,
            paths: Paths::default(),
            waiting: BTreeSet::new(),
            blocked: false,
            jobs: VecDeque::new(),
            next_flow: 0,
            now: Time::ZERO,
        }
    }

    /// Returns the cache of erasure codes.
    pub(super) fn codes(&self) -> Arc<Codes> {
        Arc::clone(&self.codes)
    }

    /// Returns the paths whose datagram sizes are known.
    pub(super) fn paths(&self) -> &Paths {
        &self.paths
    }

    pub(super) fn paths_mut(&mut self) -> &mut Paths {
        &mut self.paths
    }

    /// Returns the counters.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            sent: self.staging.datagrams,
            messages: self.staging.messages,
            refused: self.staging.refused,
            ..self.counts
        }
    }

    /// Returns whether the engine runs in paper mode: version 1 of the header, without credits.
    pub(super) fn is_paper(&self) -> bool {
        self.config.mode == Mode::Paper
    }

    /// Returns the later of two times: `now`, and the latest time of all earlier calls.
    pub(super) fn at(&mut self, now: Time) -> Time {
        // The time stamp of a datagram may be older than the time of the last call.
        // But the time of the transport must not go back.
        self.now = now.max(self.now);
        self.now
    }

    /// Starts to send an object. Returns `None` if the object is too long or has no receivers.
    /// Also returns `None` for a share in paper mode, or if the system has no random bytes.
    pub(super) fn send(&mut self, now: Time, task: Task) -> Option<FlowId> {
        let now = self.at(now);
        let bytes = task.payload.bytes().len() as u64;
        let symbol = self.symbol_to(now, &task.to);
        let layout = Object::new(bytes, symbol, self.config.block_symbols)?;
        let is_share = matches!(task.kind, Kind::Share(..));
        if task.to.is_empty() || (is_share && self.is_paper()) {
            return None;
        }
        let flow = self.unused_flow();
        self.outgoing.insert(flow, Outbound::new(task, layout));
        // `begin` may have created some of the connections before it failed.
        if self.begin(now, flow).is_none() {
            self.end_outgoing(flow);
            return None;
        }
        Some(flow)
    }

    fn unused_flow(&mut self) -> FlowId {
        loop {
            let flow = FlowId(self.next_flow);
            // Received objects use the upper half of the flow numbers.
            self.next_flow = (self.next_flow + 1) % FIRST_INCOMING.0;
            if !self.outgoing.contains_key(&flow) {
                return flow;
            }
        }
    }

    /// Starts a transfer. Each start uses new sessions.
    fn begin(&mut self, now: Time, flow: FlowId) -> Option<()> {
        let is_paper = self.is_paper();
        let outbound = self.outgoing.get(&flow)?;
        let bytes = outbound.task.payload.bytes().len() as u64;
        // After a restart, symbols may be smaller, because a path carries only smaller datagrams.
        let symbol = self.symbol_to(now, &outbound.task.to);
        let layout = Object::new(bytes, symbol, self.config.block_symbols)?;
        let outbound = self.outgoing.get_mut(&flow)?;
        outbound.lay_out(layout);
        let (share, shared, group) = match outbound.task.kind {
            Kind::Share(session, share) => (share, Some(session), None),
            // Version 1 of the header has no session. The flow number identifies the object.
            Kind::Group(group, _) if is_paper => (Share::ALL, Some(flow.0.into()), Some(group)),
            Kind::Group(group, _) => (Share::ALL, Some(draw()?), Some(group)),
            Kind::One | Kind::All(_) => (Share::ALL, None, None),
        };
        if let (Some(group), Some(session)) = (group, shared) {
            let mut connection = Connection::new(group, session, 0);
            connection.seal = seal(self.connections.key.as_ref(), session, 0)?;
            outbound.group = Some(self.connections.enter(connection));
        }
        let from = outbound.task.from;
        for &to in &outbound.task.to {
            let session = match shared {
                Some(session) => session,
                None if is_paper => flow.0.into(),
                None => draw()?,
            };
            let mut connection = Connection::new(to, session, share.index);
            connection.local = from;
            let of_group = outbound
                .group
                .and_then(|id| self.connections.get(id)?.seal.as_ref());
            // Packets to a multicast group belong to one session.
            // So all these packets have one key and one sequence of packet numbers.
            connection.seal = match (of_group, outbound.group) {
                (Some(seal), Some(group)) => Some(Box::new(seal.twin(group))),
                _ => seal(self.connections.key.as_ref(), session, share.index)?,
            };
            let id = self.connections.enter(connection);
            outbound.connections.push(id);
            // All receivers of a group have the same session, so this table stores only the last receiver.
            // `receiver` finds the others by their addresses.
            self.sent_to.insert((session, share.index), (flow, id));
        }
        // The transport reads the size of a symbol at the start of an object. So the size is set before each start.
        self.host.set_symbol(symbol);
        let message = Message {
            flow,
            dst: *outbound.connections.first()?,
            bytes,
            path: PathPin::NONE,
            replication: Replication::Off,
        };
        let begun = match outbound.task.kind {
            Kind::One => {
                self.host.submit(now, message);
                Ok(())
            }
            Kind::Share(_, share) => {
                let port = self.config.port;
                self.host.take_part(
                    now,
                    Part::Share {
                        message,
                        port,
                        share,
                    },
                )
            }
            Kind::All(stragglers) | Kind::Group(_, stragglers) => {
                let message = Message {
                    dst: HostId(GROUPS | flow.0),
                    ..message
                };
                let receivers = &outbound.connections;
                self.host.take_part(
                    now,
                    Part::Spread {
                        message,
                        receivers,
                        stragglers,
                    },
                )
            }
        };
        self.process_events(now);
        begun.ok()
    }

    /// Starts a transfer again after a pause. The receiver wants the object later, or needs it from the beginning.
    /// The pause doubles with each restart.
    pub(super) fn restart(&mut self, now: Time, flow: FlowId, failure: Failure) {
        let Some(outbound) = self.outgoing.get_mut(&flow) else {
            return;
        };
        // Several packets may report the same problem. Only the first one plans a restart.
        if outbound.waits_until.is_some() {
            return;
        }
        // A receiver that refuses the object for now is handled like a receiver that does not answer.
        // So the same limit and the same pauses apply.
        outbound.restarts += 1;
        if outbound.restarts > self.config.max_timeouts {
            self.fail(now, flow, failure);
            return;
        }
        // The bound prevents an overflow of the shift. `max_timeout` limits the pause anyway.
        let pause = self.config.timeout * (1 << (outbound.restarts - 1).min(20));
        let until = now + pause.min(self.config.max_timeout);
        outbound.waits_until = Some(until);
        // Without a tuple, no segment of the new sessions was sent, so no receiver knows them.
        // `cancel` depends on this.
        outbound.tuple = None;
        let mut connections = std::mem::take(&mut outbound.connections);
        connections.extend(outbound.group.take());
        self.host.cancel(now, flow);
        // The old sessions end here, so their waiting segments are removed.
        self.staging.forget(flow);
        self.drop_connections(&connections);
        self.waiting.insert((until, flow));
    }

    /// Ends a transfer with a failure.
    pub(super) fn fail(&mut self, now: Time, flow: FlowId, failure: Failure) {
        // No close message is sent here, unlike in `cancel`.
        // Either the receiver has refused the object, or its timeouts end the session.
        self.host.cancel(now, flow);
        self.fail_all(flow, failure);
        self.end_outgoing(flow);
        self.news.push_back(News::Failed(flow, failure));
    }

    /// Cancels a transfer and informs all receivers.
    pub(super) fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let now = self.at(now);
        let outbound = self.outgoing.get(&flow)?;
        let stats = self.host.cancel(now, flow).unwrap_or_default();
        // Version 1 of the header has no close message.
        // Without a tuple, no packet was sent, so no receiver knows the session.
        if !self.is_paper() && outbound.tuple.is_some() {
            for id in outbound.connections.clone() {
                self.close(id, Reason::Cancelled);
            }
        }
        self.fail_all(flow, Failure::Cancelled);
        self.end_outgoing(flow);
        Some(stats)
    }

    /// Marks all receivers without a final state as failed.
    fn fail_all(&self, flow: FlowId, failure: Failure) {
        if let Some(outbound) = self.outgoing.get(&flow) {
            outbound.task.progress.fail(failure);
        }
    }

    fn drop_connections(&mut self, connections: &[HostId]) {
        for id in connections {
            if let Some(connection) = self.connections.remove(*id) {
                self.sent_to.remove(&(connection.session, connection.share));
            }
        }
    }

    fn end_outgoing(&mut self, flow: FlowId) {
        if let Some(outbound) = self.outgoing.remove(&flow) {
            self.staging.forget(flow);
            self.drop_connections(&outbound.connections);
            self.drop_connections(outbound.group.as_slice());
            if let Some(until) = outbound.waits_until {
                self.waiting.remove(&(until, flow));
            }
        }
    }

    /// Handles an ICMP message about a datagram to another host.
    /// Such a message can be forged, and a host whose process restarts sends it too.
    /// So it ends only transfers that have requested this and have no answer yet.
    /// For all other transfers, the timeouts of the transport detect a host that cannot be reached.
    pub(super) fn on_refusal(&mut self, now: Time, refusal: &Refusal) {
        let now = self.at(now);
        if !matches!(
            refusal.cause,
            Cause::Port | Cause::Prohibited | Cause::Unreachable
        ) {
            return;
        }
        let is_ended = |outbound: &Outbound| {
            let task = &outbound.task;
            task.heeds_icmp && task.to == [refusal.to] && !task.progress.was_heard(0)
        };
        let ended = self.outgoing.iter().filter(|(_, one)| is_ended(one));
        let ended: Vec<FlowId> = ended.map(|(flow, _)| *flow).collect();
        for flow in ended {
            self.fail(now, flow, Failure::Undeliverable(refusal.cause));
        }
    }

    /// Handles datagrams that have arrived.
    pub(super) fn on_incoming(&mut self, now: Time, incoming: &Incoming<'_>) {
        let now = self.at(now);
        let mut unplaced = Vec::new();
        for datagram in incoming.datagrams() {
            self.counts.arrived += 1;
            // A cut message lacks its end. The last datagram of the message must not count as a trimmed symbol.
            match incoming.is_cut {
                true => self.counts.malformed += 1,
                false if self.is_paper() => self.on_paper(now, incoming, datagram),
                false if self.connections.key.is_some() => self.on_sealed(now, incoming, datagram),
                false => self.on_packet(now, incoming, datagram, &mut unplaced),
            }
        }
        self.place(now, &mut unplaced);
    }

    /// Handles the result of decoding a block.
    pub(super) fn on_decoded(&mut self, now: Time, decoded: &Decoded) {
        let now = self.at(now);
        let inbound = self.incoming.get_mut(&decoded.flow);
        let whole = inbound.is_some_and(|inbound| inbound.on_decoded(decoded));
        // The session may have ended in the meantime. But the transport still waits for the result of this job.
        self.host.decoded(now, decoded.job, whole);
        self.process_events(now);
    }

    /// Returns the next block that must be decoded. The caller passes the result to [`Self::on_decoded`].
    pub(super) fn poll_job(&mut self) -> Option<DecodeJob> {
        self.jobs.pop_front()
    }

    /// Runs the timers that are due. Another timer may become due at the same time.
    pub(super) fn on_timeout(&mut self, now: Time) {
        let now = self.at(now);
        while let Some(&(at, flow)) = self.waiting.first()
            && at <= now
        {
            self.waiting.pop_first();
            if let Some(outbound) = self.outgoing.get_mut(&flow) {
                outbound.waits_until = None;
            }
            if self.begin(now, flow).is_none() {
                // There are two possible causes: no random bytes, or too many blocks because of smaller symbols.
                // `Failure` has no value for the first cause, so both become `NoAnswer`.
                self.fail(now, flow, Failure::NoAnswer);
            }
        }
        while let Some(session) = self.incoming_sessions.overdue(now) {
            // With this reason, an honest sender offers the object again.
            self.refuse(now, session, Reason::Unknown);
        }
        self.host.on_timeout(now);
        self.process_events(now);
    }

    /// Returns the time at which the caller must call [`Self::on_timeout`].
    pub(super) fn next_timeout(&self) -> Option<Time> {
        let waiting = self.waiting.first().map(|(at, _)| *at);
        let waiting = Time::earlier(waiting, self.incoming_sessions.next_overdue());
        Time::earlier(self.host.next_timeout(), waiting)
    }

    /// Handles the events that the transport reports after an input.
    pub(super) fn process_events(&mut self, now: Time) {
        while let Some(attempt) = self.host.codec_mut().poll() {
            // The session may have ended after the transport requested the decoding.
            let Some((flow, _)) = self.host.receiving(&attempt.session) else {
                continue;
            };
            let inbound = self.incoming.get(&flow);
            if let Some(job) = inbound.and_then(|inbound| inbound.job(flow, &attempt)) {
                self.counts.decodings += 1;
                self.jobs.push_back(job);
            }
        }
        while let Some(event) = self.host.poll_event() {
            match event {
                Event::Completed(flow) => self.on_completed(now, flow),
                Event::Closed(flow, stats) => self.on_closed(flow, stats),
                Event::Failed(flow, _) if flow.0 >= FIRST_INCOMING.0 => self.end_incoming(flow),
                Event::Failed(flow, _) => {
                    // The transport has already removed this flow.
                    // So `fail` is not called, because it would cancel the flow again.
                    self.fail_all(flow, Failure::NoAnswer);
                    self.end_outgoing(flow);
                    self.news.push_back(News::Failed(flow, Failure::NoAnswer));
                }
                Event::Straggling(flow, straggler) => self.on_straggler(flow, straggler),
                // The application does not need other events, such as the start of a flow.
                _ => {}
            }
        }
    }

    /// Handles the end of a transfer. The transport has nothing more to send.
    fn on_closed(&mut self, flow: FlowId, stats: FlowStats) {
        let Some(outbound) = self.outgoing.get(&flow) else {
            return;
        };
        let progress = &outbound.task.progress;
        let (missed, failure) = progress.missed();
        // The transfer counts as failed only if no receiver has the object.
        let news = match failure.filter(|_| missed == progress.len()) {
            Some(failure) => News::Failed(flow, failure),
            None => News::Sent(flow, stats, missed, outbound.symbol()),
        };
        self.end_outgoing(flow);
        self.news.push_back(news);
    }

    /// Handles a receiver that delays the others, or a receiver that the transport has given up.
    fn on_straggler(&mut self, flow: FlowId, straggler: Straggler) {
        let Some(outbound) = self.outgoing.get(&flow) else {
            return;
        };
        let stage = match straggler.dropped {
            true => Stage::Dropped,
            false => Stage::Straggling,
        };
        outbound.set(straggler.receiver, None, stage);
        if straggler.dropped {
            self.close(straggler.receiver, Reason::Cancelled);
            // The transport may have queued symbols for all receivers. They must not be sent to this receiver any more.
            if let Some(connection) = self.connections.get_mut(straggler.receiver) {
                connection.is_over = true;
            }
        }
    }

    /// Returns the next event for the application, or `None` if there is no event.
    pub(super) fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Returns whether any datagrams or segments wait to be sent.
    pub(super) fn has_transmit(&self) -> bool {
        self.staging.len() > 0 || self.host.has_transmit()
    }

    /// Returns whether the last call of [`Self::transmit`] stopped because the socket's buffer was full.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Sends about `most` segments of the transport. Returns whether any datagram was sent.
    pub(super) fn transmit(&mut self, now: Time, net: &mut impl Datagrams, most: usize) -> bool {
        let now = self.at(now);
        // Segments that the full socket has not accepted count too. Otherwise the list would grow with each call.
        while self.staging.len() < most
            && let Some(segment) = self.host.poll_transmit(now)
        {
            match self.is_paper() {
                true => self.stage_paper(&segment),
                false => self.stage(now, &segment),
            }
        }
        let before = self.staging.datagrams;
        let outgoing = &self.outgoing;
        let object = |flow: FlowId| Some(outgoing.get(&flow)?.bytes());
        self.blocked = self.staging.len() > 0 && self.staging.flush(net, object);
        self.staging.datagrams > before
    }
}
