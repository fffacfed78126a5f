//! One host's transport over datagrams, without clock and sockets.

use super::incoming::{DecodeJob, Decoded, Inbound};
use super::outgoing::{Outbound, Payload};
use super::peers::Peers;
use super::room::{Held, Room};
use super::staging::{Place, Staged, Staging};
use crate::codec::Codes;
use crate::udp::{Datagrams, Incoming, TrafficClass};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use tailcut_transport::scdp::{DriverCodec, Host, Object, ScdpConfig, ScdpHeader, ScdpKind};
use tailcut_transport::{
    Condition, Event, FlowStats, Header, Message, PathPin, Replication, Segment, Transport,
};
use tailcut_units::{FiveTuple, FlowId, HostId, Protocol, Time};
use tailcut_wire::{MAX_HEADER_BYTES, decode, encode};

/// The first name of objects that come in: those that go out have lower ones.
const FIRST_INCOMING: FlowId = FlowId(1 << 31);
/// Sessions that are remembered before those that the transport has forgotten are looked for.
const REMEMBERED: usize = 1_024;

/// What an engine tells.
#[derive(Debug)]
pub(super) enum News {
    /// An object has arrived.
    Received {
        from: SocketAddr,
        bytes: Vec<u8>,
        held: Held,
    },
    /// An object has arrived at its receiver.
    Sent(FlowId, FlowStats),
    /// An object was given up.
    Failed(FlowId),
}

/// What an engine has counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Datagrams that were sent.
    pub sent: u64,
    /// Messages to the socket that they left in.
    pub messages: u64,
    /// Messages that the system refused.
    pub refused: u64,
    /// Datagrams that arrived.
    pub arrived: u64,
    /// Of them, those that are no packets of SCDP, or claim what cannot be.
    pub malformed: u64,
    /// Of them, those of no session.
    pub unknown: u64,
    /// Symbols that would have begun an object that there is no room for.
    pub no_room: u64,
    /// Blocks that were decoded, successfully or not.
    pub decodings: u64,
}

/// One host's SCDP over datagrams: it takes what arrives, the time, and objects to send.
#[derive(Debug)]
pub(super) struct Engine {
    host: Host<DriverCodec>,
    config: ScdpConfig,
    me: HostId,
    room: Room,
    peers: Peers,
    codes: Arc<Codes>,
    outgoing: HashMap<FlowId, Outbound>,
    incoming: HashMap<FlowId, Inbound>,
    /// What comes in, by the peer and its name for it: by the peer's tuple and our name.
    sessions: HashMap<(HostId, FlowId), (FiveTuple, FlowId)>,
    staging: Staging,
    blocked: bool,
    news: VecDeque<News>,
    jobs: VecDeque<DecodeJob>,
    next_flow: u32,
    now: Time,
    counts: Counts,
}

impl Engine {
    /// The engine of a host that peers know by its address, and itself calls `me`.
    pub(super) fn new(
        mut host: Host<DriverCodec>,
        config: ScdpConfig,
        me: HostId,
        room: Room,
        codes: Arc<Codes>,
    ) -> Self {
        host.name_incoming(FIRST_INCOMING);
        Self {
            host,
            config,
            me,
            room,
            peers: Peers::new(me),
            codes,
            outgoing: HashMap::new(),
            incoming: HashMap::new(),
            sessions: HashMap::new(),
            staging: Staging::default(),
            blocked: false,
            news: VecDeque::new(),
            jobs: VecDeque::new(),
            next_flow: 0,
            now: Time::ZERO,
            counts: Counts::default(),
        }
    }

    /// What has been counted.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            sent: self.staging.datagrams,
            messages: self.staging.messages,
            refused: self.staging.refused,
            ..self.counts
        }
    }

    /// The time, which never goes back.
    fn at(&mut self, now: Time) -> Time {
        self.now = now.max(self.now);
        self.now
    }

    /// Sends an object to a host. `None` where there are too many peers.
    pub(super) fn send(&mut self, now: Time, to: SocketAddr, payload: Payload) -> Option<FlowId> {
        let now = self.at(now);
        let bytes = payload.bytes().len() as u64;
        let layout = Object::new(bytes, self.config.symbol, self.config.block_symbols)?;
        let peer = self.peers.enter(now, to)?;
        let flow = self.unused_flow();
        let outbound = Outbound::new(peer, to, payload, layout);
        self.outgoing.insert(flow, outbound);
        let message = Message {
            flow,
            dst: peer,
            bytes,
            path: PathPin::NONE,
            replication: Replication::Off,
        };
        self.host.submit(now, message);
        self.hear(now);
        Some(flow)
    }

    fn unused_flow(&mut self) -> FlowId {
        loop {
            let flow = FlowId(self.next_flow);
            self.next_flow = (self.next_flow + 1) % FIRST_INCOMING.0;
            if !self.outgoing.contains_key(&flow) {
                return flow;
            }
        }
    }

    /// Sends no more of an object.
    pub(super) fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let now = self.at(now);
        let stats = self.host.cancel(now, flow)?;
        self.end_outgoing(now, flow);
        Some(stats)
    }

    fn end_outgoing(&mut self, now: Time, flow: FlowId) {
        if let Some(outbound) = self.outgoing.remove(&flow) {
            self.staging.forget(flow);
            self.peers.leave(now, outbound.peer);
        }
    }

    fn end_incoming(&mut self, now: Time, flow: FlowId) -> Option<Inbound> {
        let inbound = self.incoming.remove(&flow)?;
        self.peers.leave(now, inbound.peer);
        Some(inbound)
    }

    /// Datagrams arrive.
    pub(super) fn on_incoming(&mut self, now: Time, incoming: &Incoming<'_>) {
        let now = self.at(now);
        for datagram in incoming.datagrams() {
            self.counts.arrived += 1;
            match incoming.is_cut {
                true => self.counts.malformed += 1,
                false => self.on_datagram(now, incoming.from, incoming.class(), datagram),
            }
        }
    }

    fn on_datagram(&mut self, now: Time, from: SocketAddr, class: TrafficClass, bytes: &[u8]) {
        let Ok((segment, length)) = decode(FiveTuple::default(), class.ecn(), bytes) else {
            self.counts.malformed += 1;
            return;
        };
        let Header::Scdp(header) = segment.header else {
            self.counts.malformed += 1;
            return;
        };
        let payload = bytes.get(length..).unwrap_or_default();
        match header.kind {
            ScdpKind::Symbol => self.on_symbol(now, from, segment, &header, payload),
            ScdpKind::Pull | ScdpKind::Done => self.on_feedback(now, from, segment),
            // Of receivers that give credits, which these are not.
            ScdpKind::Credited | ScdpKind::Offer | ScdpKind::Status => self.counts.malformed += 1,
        }
    }

    /// A word of a receiver.
    fn on_feedback(&mut self, now: Time, from: SocketAddr, segment: Segment) {
        let outbound = self.outgoing.get(&segment.flow);
        let outbound = outbound.filter(|outbound| outbound.to == from);
        let Some(tuple) = outbound.and_then(|outbound| outbound.tuple) else {
            self.counts.unknown += 1;
            return;
        };
        let tuple = tuple.reversed();
        self.host.on_segment(now, Segment { tuple, ..segment });
        self.hear(now);
    }

    fn on_symbol(
        &mut self,
        now: Time,
        from: SocketAddr,
        segment: Segment,
        header: &ScdpHeader,
        payload: &[u8],
    ) {
        let known = self.peers.find(&from);
        let peer = known.unwrap_or(self.peers.next());
        let Some(&(tuple, flow)) = self.sessions.get(&(peer, segment.flow)) else {
            match header.syn {
                true => self.on_new_session(now, from, known, segment, header, payload),
                false => self.counts.unknown += 1,
            }
            return;
        };
        let is_whole = segment.condition == Condition::Whole;
        if let Some(inbound) = self.incoming.get_mut(&flow) {
            if !inbound.fits(header.block, header.esi, segment.payload as usize) {
                self.counts.malformed += 1;
                return;
            }
            if is_whole {
                inbound.put(header.block, header.esi, payload);
            }
        }
        self.host.on_segment(now, Segment { tuple, ..segment });
        self.hear(now);
    }

    /// A symbol that may open a session.
    fn on_new_session(
        &mut self,
        now: Time,
        from: SocketAddr,
        known: Option<HostId>,
        segment: Segment,
        header: &ScdpHeader,
        payload: &[u8],
    ) {
        let peer = known.unwrap_or(self.peers.next());
        let layout = Object::from_options(header.length, header.symbol, header.blocks);
        let inbound = layout.and_then(|layout| {
            let held = self.room.take(layout.length())?;
            Inbound::new(peer, from, layout, held)
        });
        let Some(mut inbound) = inbound else {
            match layout {
                Some(_) => self.counts.no_room += 1,
                None => self.counts.malformed += 1,
            }
            return;
        };
        if !inbound.fits(header.block, header.esi, segment.payload as usize) {
            self.counts.malformed += 1;
            return;
        }
        // The ports are ours alone: the session's number stands for the peer's.
        let first_port = 32_768;
        let tuple = FiveTuple {
            src: peer,
            dst: self.me,
            src_port: first_port + (segment.flow.0 % 28_232) as u16,
            dst_port: self.config.port,
            protocol: Protocol::Udp,
        };
        if self.peers.enter(now, from).is_none() {
            self.counts.unknown += 1;
            return;
        }
        self.host.on_segment(now, Segment { tuple, ..segment });
        let opened = self.host.receiving(&tuple);
        let Some((flow, _)) = opened.filter(|(flow, _)| !self.incoming.contains_key(flow)) else {
            self.counts.unknown += 1;
            self.peers.undo(now, peer, known.is_none());
            return;
        };
        if segment.condition == Condition::Whole {
            inbound.put(header.block, header.esi, payload);
        }
        self.forget();
        self.sessions.insert((peer, segment.flow), (tuple, flow));
        self.incoming.insert(flow, inbound);
        self.hear(now);
    }

    /// Forgets sessions that the transport has forgotten.
    fn forget(&mut self) {
        if self.sessions.len() >= REMEMBERED.max(2 * self.incoming.len()) {
            let host = &self.host;
            self.sessions.retain(|_, (tuple, flow)| {
                host.receiving(tuple).is_some_and(|(at, _)| at == *flow)
            });
        }
    }

    /// A block has been decoded, or not.
    pub(super) fn on_decoded(&mut self, now: Time, decoded: &Decoded) {
        let now = self.at(now);
        let inbound = self.incoming.get_mut(&decoded.flow);
        let whole = inbound.is_some_and(|inbound| inbound.on_decoded(decoded));
        self.host.decoded(now, decoded.job, whole);
        self.hear(now);
    }

    /// A block to decode. [`Self::on_decoded`] is to tell what became of it.
    pub(super) fn poll_job(&mut self) -> Option<DecodeJob> {
        self.jobs.pop_front()
    }

    /// Does what is due. More may be due at the same time.
    pub(super) fn on_timeout(&mut self, now: Time) {
        let now = self.at(now);
        self.host.on_timeout(now);
        self.hear(now);
    }

    /// When [`Self::on_timeout`] is to be called.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.host.next_timeout()
    }

    /// What the transport has to tell after an input.
    fn hear(&mut self, now: Time) {
        while let Some(attempt) = self.host.codec_mut().poll() {
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
                Event::Completed(flow) => {
                    if let Some(inbound) = self.end_incoming(now, flow) {
                        let from = inbound.from;
                        let (bytes, held) = inbound.into_bytes();
                        self.news.push_back(News::Received { from, bytes, held });
                    }
                }
                Event::Closed(flow, stats) => {
                    self.end_outgoing(now, flow);
                    self.news.push_back(News::Sent(flow, stats));
                }
                Event::Failed(flow, _) if self.incoming.contains_key(&flow) => {
                    self.end_incoming(now, flow);
                }
                Event::Failed(flow, _) => {
                    self.end_outgoing(now, flow);
                    self.news.push_back(News::Failed(flow));
                }
                _ => {}
            }
        }
    }

    /// What there is to tell.
    pub(super) fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Whether there is something to send.
    pub(super) fn has_transmit(&self) -> bool {
        self.staging.len() > 0 || self.host.has_transmit()
    }

    /// Whether the socket had no room at the last call of [`Self::transmit`].
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Sends what the transport has to send, `most` segments at most. Says whether anything left.
    pub(super) fn transmit(&mut self, now: Time, net: &mut impl Datagrams, most: usize) -> bool {
        let now = self.at(now);
        while self.staging.len() < most
            && let Some(segment) = self.host.poll_transmit(now)
        {
            self.stage(&segment);
        }
        let before = self.staging.datagrams;
        let outgoing = &self.outgoing;
        let object = |flow: FlowId| Some(outgoing.get(&flow)?.bytes());
        self.blocked = self.staging.len() > 0 && self.staging.flush(net, object);
        self.staging.datagrams > before
    }

    /// Gives a segment its header and its payload's place. One that cannot have them is lost.
    fn stage(&mut self, segment: &Segment) {
        let Header::Scdp(header) = segment.header else {
            return;
        };
        let Some(to) = self.peers.address(segment.tuple.dst) else {
            return;
        };
        let mut staged = Staged {
            to,
            class: TrafficClass::default().with_ecn(segment.ecn),
            header: [0; MAX_HEADER_BYTES],
            header_length: 0,
            place: Place::Nowhere,
        };
        let Ok(length) = encode(segment, &mut staged.header) else {
            return;
        };
        staged.header_length = length;
        if header.kind == ScdpKind::Symbol {
            let Some(outbound) = self.outgoing.get_mut(&segment.flow) else {
                return;
            };
            outbound.tuple = Some(segment.tuple);
            let from = self.staging.arena.len();
            staged.place = match outbound.source(header.block, header.esi) {
                Some(range) => Place::Object(segment.flow, range),
                None => {
                    let arena = &mut self.staging.arena;
                    let made = outbound.repair(&self.codes, header.block, header.esi, arena);
                    if made.is_err() {
                        return;
                    }
                    Place::Arena(from..arena.len())
                }
            };
        }
        self.staging.push(staged);
    }
}
