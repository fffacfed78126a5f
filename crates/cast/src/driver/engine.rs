//! Protocol engine of one host: SCDP over datagrams, without a clock and sockets.

use super::buffer_budget::{BufferBudget, Reservation};
use super::connections::{Connection, Connections};
use super::incoming::{DecodeJob, Decoded, Inbound};
use super::incoming_sessions::IncomingSessions;
use super::outcome::Failure;
use super::outgoing::{Kind, Outbound, Task};
use super::paths::Paths;
use super::reason::Reason;
use super::sealing::Seal;
use super::shared_progress::Stage;
use super::staging::Staging;
use super::table::Table;
use crate::codec::Codes;
use crate::seal::{Key, Tokens, random};
use crate::udp::{Datagrams, Incoming};
use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use tailcut_transport::scdp::{DriverCodec, Host, Mode, Object, ScdpConfig};
use tailcut_transport::{
    Event, FlowStats, Message, Part, PathPin, Replication, Share, Straggler, Transport,
};
use tailcut_units::{FlowId, HostId, Time};

/// First flow number of received objects. Sent objects have lower numbers.
pub(super) const FIRST_INCOMING: FlowId = FlowId(1 << 31);
/// First number of a group of receivers in the transport. Connections have lower numbers.
const GROUPS: u32 = 1 << 31;

/// Events that the engine reports.
#[derive(Debug)]
pub(super) enum News {
    /// An object has arrived.
    Received {
        from: SocketAddr,
        bytes: Vec<u8>,
        reservation: Reservation,
    },
    /// A transfer has ended. The fields are its flow, its statistics, the number of receivers without
    /// the object, and the bytes of a symbol.
    Sent(FlowId, FlowStats, usize, u32),
    /// A transfer has failed.
    Failed(FlowId, Failure),
}

/// Counters of an engine.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Datagrams sent.
    pub sent: u64,
    /// Messages to the socket. One message may contain several datagrams.
    pub messages: u64,
    /// Messages that the system refused.
    pub refused: u64,
    /// Datagrams received.
    pub arrived: u64,
    /// Received datagrams that are not SCDP packets or have impossible values.
    pub malformed: u64,
    /// Received datagrams that belong to no session.
    pub unknown: u64,
    /// Offers refused because of limits on memory or on sessions.
    pub no_room: u64,
    /// Blocks that were decoded, successfully or not.
    pub decodings: u64,
    /// Tokens sent to senders whose addresses are not validated.
    pub tokens: u64,
    /// Symbols that arrived trimmed by a switch.
    pub trimmed: u64,
    /// Remote ends whose address has changed during a session.
    pub moved: u64,
    /// Times that a path turned out to carry only smaller datagrams.
    pub shrunk: u64,
}

/// Arguments of `Engine::new`.
pub(super) struct Setup {
    pub(super) host: Host<DriverCodec>,
    /// The parameters of `host`.
    pub(super) config: ScdpConfig,
    /// Number of this host in the transport.
    pub(super) me: HostId,
    pub(super) budget: BufferBudget,
    pub(super) codes: Arc<Codes>,
    pub(super) tokens: Tokens,
    pub(super) key: Option<Key>,
}

/// Draws the identifier of a new session.
fn draw() -> Option<u64> {
    random().ok().map(u64::from_be_bytes)
}

/// Returns the encryption state of a sender, or `Some(None)` without a key. Returns `None` if the
/// system has no random bytes.
fn seal(key: Option<&Key>, session: u64, share: u16) -> Option<Option<Box<Seal>>> {
    match key {
        Some(key) => Some(Some(Box::new(Seal::new(key, session, share, None).ok()?))),
        None => Some(None),
    }
}

/// SCDP of one host over datagrams. Its inputs are datagrams, the time, and objects to send.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) host: Host<DriverCodec>,
    pub(super) config: ScdpConfig,
    pub(super) connections: Connections,
    /// Objects that are being sent.
    pub(super) outgoing: Table<FlowId, Outbound>,
    /// Flow and connection of each receiver, by session and share.
    pub(super) sent_to: Table<(u64, u16), (FlowId, HostId)>,
    /// Objects that are being received.
    pub(super) incoming: Table<FlowId, Inbound>,
    pub(super) incoming_sessions: IncomingSessions,
    pub(super) staging: Staging,
    pub(super) news: VecDeque<News>,
    pub(super) counts: Counts,
    codes: Arc<Codes>,
    paths: Paths,
    /// Transfers that start again later, with their time.
    waiting: BTreeSet<(Time, FlowId)>,
    blocked: bool,
    jobs: VecDeque<DecodeJob>,
    next_flow: u32,
    now: Time,
}

impl Engine {
    pub(super) fn new(setup: Setup) -> Self {
        let mut host = setup.host;
        // Senders choose their flow numbers independently, so two of them may choose the same one.
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

    /// Returns the known datagram sizes of paths.
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

    /// Returns whether the engine runs in paper mode: version 1 of the header, without
    /// credits.
    pub(super) fn is_paper(&self) -> bool {
        self.config.mode == Mode::Paper
    }

    /// Returns the latest time that the engine has seen.
    fn at(&mut self, now: Time) -> Time {
        // The time stamp of a datagram may be older than the last call. In the transport, the time must not
        // go back.
        self.now = now.max(self.now);
        self.now
    }

    /// Starts to send an object. Returns `None` if that is impossible: the object is too long, has
    /// no receivers, or is a share in paper mode, or the system has no random bytes.
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
        // `begin` may have created some connections before it failed.
        if self.begin(now, flow).is_none() {
            self.end_outgoing(flow);
            return None;
        }
        Some(flow)
    }

    fn unused_flow(&mut self) -> FlowId {
        loop {
            let flow = FlowId(self.next_flow);
            // The upper half of the numbers belongs to received objects.
            self.next_flow = (self.next_flow + 1) % FIRST_INCOMING.0;
            if !self.outgoing.contains_key(&flow) {
                return flow;
            }
        }
    }

    /// Starts a transfer, with new sessions.
    fn begin(&mut self, now: Time, flow: FlowId) -> Option<()> {
        let is_paper = self.is_paper();
        let outbound = self.outgoing.get(&flow)?;
        let bytes = outbound.task.payload.bytes().len() as u64;
        // A restart may have other symbols, because a path carries only smaller datagrams.
        let symbol = self.symbol_to(now, &outbound.task.to);
        let layout = Object::new(bytes, symbol, self.config.block_symbols)?;
        let outbound = self.outgoing.get_mut(&flow)?;
        outbound.lay_out(layout);
        let (share, shared, group) = match outbound.task.kind {
            Kind::Share(session, share) => (share, Some(session), None),
            // Version 1 of the header has no session, so the flow number identifies the object.
            Kind::Group(group, _) if is_paper => (Share::ALL, Some(flow.0.into()), Some(group)),
            Kind::Group(group, _) => (Share::ALL, Some(draw()?), Some(group)),
            Kind::One | Kind::All(_) => (Share::ALL, None, None),
        };
        if let (Some(group), Some(session)) = (group, shared) {
            let mut connection = Connection::new(group, session, 0);
            connection.seal = seal(self.connections.key.as_ref(), session, 0)?;
            outbound.group = Some(self.connections.enter(connection));
        }
        for &to in &outbound.task.to {
            let session = match shared {
                Some(session) => session,
                None if is_paper => flow.0.into(),
                None => draw()?,
            };
            let mut connection = Connection::new(to, session, share.index);
            let of_group = outbound
                .group
                .and_then(|id| self.connections.get(id)?.seal.as_ref());
            // Packets to a group have one session, and so one key and one sequence of packet numbers.
            connection.seal = match (of_group, outbound.group) {
                (Some(seal), Some(group)) => Some(Box::new(seal.twin(group))),
                _ => seal(self.connections.key.as_ref(), session, share.index)?,
            };
            let id = self.connections.enter(connection);
            outbound.connections.push(id);
            // All receivers of a group have the same session, so only the last one stays here. `receiver`
            // finds the others by their addresses.
            self.sent_to.insert((session, share.index), (flow, id));
        }
        // The transport reads the size at the start of an object, so it is set before each start.
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

    /// Starts a transfer again after a pause that doubles each time. The receiver wants the object
    /// later, or needs it from the beginning.
    pub(super) fn restart(&mut self, now: Time, flow: FlowId, failure: Failure) {
        let Some(outbound) = self.outgoing.get_mut(&flow) else {
            return;
        };
        // Several packets may report the same fault. Only the first of them plans the restart.
        if outbound.waits_until.is_some() {
            return;
        }
        // A receiver that refuses the object for now is treated as one that does not answer. So the limit and
        // pauses of timeouts apply.
        outbound.restarts += 1;
        if outbound.restarts > self.config.max_timeouts {
            self.fail(now, flow, failure);
            return;
        }
        // The bound of the shift prevents an overflow. The pause is limited to `max_timeout`
        // anyway.
        let pause = self.config.timeout * (1 << (outbound.restarts - 1).min(20));
        let until = now + pause.min(self.config.max_timeout);
        outbound.waits_until = Some(until);
        // No receiver knows the next sessions until their first segment has left (`cancel`).
        outbound.tuple = None;
        let mut connections = std::mem::take(&mut outbound.connections);
        connections.extend(outbound.group.take());
        self.host.cancel(now, flow);
        // Waiting segments belong to the old sessions, which end here.
        self.staging.forget(flow);
        self.drop_connections(&connections);
        self.waiting.insert((until, flow));
    }

    /// Ends a transfer with a failure.
    pub(super) fn fail(&mut self, now: Time, flow: FlowId, failure: Failure) {
        // Unlike `cancel`, this step sends no close message. The receiver has refused the object, or its own timeouts
        // end the session.
        self.host.cancel(now, flow);
        self.fail_all(flow, failure);
        self.end_outgoing(flow);
        self.news.push_back(News::Failed(flow, failure));
    }

    /// Cancels a transfer and informs the receivers.
    pub(super) fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let now = self.at(now);
        let outbound = self.outgoing.get(&flow)?;
        let stats = self.host.cancel(now, flow).unwrap_or_default();
        // Version 1 of the header has no close message. Without a tuple, no packet has left yet, so no
        // receiver knows the session.
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

    /// Handles datagrams that have arrived.
    pub(super) fn on_incoming(&mut self, now: Time, incoming: &Incoming<'_>) {
        let now = self.at(now);
        let mut unplaced = Vec::new();
        for datagram in incoming.datagrams() {
            self.counts.arrived += 1;
            // The end of a cut message is missing. Its last datagram must not count as a trimmed symbol.
            match incoming.is_cut {
                true => self.counts.malformed += 1,
                false if self.is_paper() => self.on_paper(now, incoming, datagram),
                false if self.connections.key.is_some() => self.on_sealed(now, incoming, datagram),
                false => self.on_packet(now, incoming, datagram, &mut unplaced),
            }
        }
        self.place(now, &mut unplaced);
    }

    /// Handles the result of a decoding.
    pub(super) fn on_decoded(&mut self, now: Time, decoded: &Decoded) {
        let now = self.at(now);
        let inbound = self.incoming.get_mut(&decoded.flow);
        let whole = inbound.is_some_and(|inbound| inbound.on_decoded(decoded));
        // The session may have ended meanwhile. The transport still waits for the result of its job.
        self.host.decoded(now, decoded.job, whole);
        self.process_events(now);
    }

    /// Returns the next block to decode. The caller reports the result with [`Self::on_decoded`].
    pub(super) fn poll_job(&mut self) -> Option<DecodeJob> {
        self.jobs.pop_front()
    }

    /// Runs the timers that are due. A further timer may be due at the same time.
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
                // Either the system has no random bytes, or the smaller symbols make too many blocks. `Failure` has
                // no value for the first, so both count as a missing answer.
                self.fail(now, flow, Failure::NoAnswer);
            }
        }
        while let Some(session) = self.incoming_sessions.overdue(now) {
            // After this reason, an honest sender offers the object again.
            self.refuse(now, session, Reason::Unknown);
        }
        self.host.on_timeout(now);
        self.process_events(now);
    }

    /// Returns the time at which [`Self::on_timeout`] must be called.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        let waiting = self.waiting.first().map(|(at, _)| *at);
        let waiting = Time::earlier(waiting, self.incoming_sessions.next_overdue());
        Time::earlier(self.host.next_timeout(), waiting)
    }

    /// Processes the transport's events after an input.
    pub(super) fn process_events(&mut self, now: Time) {
        while let Some(attempt) = self.host.codec_mut().poll() {
            // The session may have ended since the transport requested the decoding.
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
                    // The transport has removed this flow already, so the step does not call `fail`, which cancels
                    // the flow.
                    self.fail_all(flow, Failure::NoAnswer);
                    self.end_outgoing(flow);
                    self.news.push_back(News::Failed(flow, Failure::NoAnswer));
                }
                Event::Straggling(flow, straggler) => self.on_straggler(flow, straggler),
                // The application needs no other events, such as the start of a flow.
                _ => {}
            }
        }
    }

    /// Handles the end of a transfer: the transport has nothing more to send.
    fn on_closed(&mut self, flow: FlowId, stats: FlowStats) {
        let Some(outbound) = self.outgoing.get(&flow) else {
            return;
        };
        let progress = &outbound.task.progress;
        let (missed, failure) = progress.missed();
        // The transfer has failed only if no receiver has the object.
        let news = match failure.filter(|_| missed == progress.len()) {
            Some(failure) => News::Failed(flow, failure),
            None => News::Sent(flow, stats, missed, outbound.symbol()),
        };
        self.end_outgoing(flow);
        self.news.push_back(news);
    }

    /// Handles a receiver that delays the others, or that the transport has given up.
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
            // A symbol that the transport has queued for all receivers must not go to this one.
            if let Some(connection) = self.connections.get_mut(straggler.receiver) {
                connection.is_over = true;
            }
        }
    }

    /// Returns the next event for the application, or `None` if there is none.
    pub(super) fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Returns whether datagrams or segments wait to be sent.
    pub(super) fn has_transmit(&self) -> bool {
        self.staging.len() > 0 || self.host.has_transmit()
    }

    /// Returns whether the socket's buffer was full at the last call of [`Self::transmit`].
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Sends about `most` segments of the transport. Returns whether any datagram was sent.
    pub(super) fn transmit(&mut self, now: Time, net: &mut impl Datagrams, most: usize) -> bool {
        let now = self.at(now);
        // Segments that a full socket has left behind count too. Otherwise the list would grow with each
        // call.
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
