//! Packets of version 2 for a host that receives an object: offers, symbols, and further packets of
//! senders.

use super::engine::{Engine, News};
use super::guests::Session;
use super::incoming::Inbound;
use super::lines::{Doubt, Line};
use super::reason::Reason;
use super::sealing::Seal;
use super::unsealing::Packet;
use crate::udp::Incoming;
use std::net::SocketAddr;
use tailcut_transport::scdp::Object;
use tailcut_transport::{Condition, Header, Part, Segment, Streams, Transport};
use tailcut_units::{FlowId, HostId, Time};
use tailcut_wire::scdp::credit::{self, Envelope, LEAST_OFFER, Message, Offer, Symbol};

/// Flow number of all received sessions in the transport. It is constant, because lines identify
/// sessions.
const NAMELESS: FlowId = FlowId(0);

/// Symbol that the transport has processed and whose bytes are not stored yet. One message from the
/// socket has many symbols. A copy to memory that is in no processor cache can delay the
/// instructions after it. So all copies of a message run one after the other, and delay only each
/// other.
pub(super) struct Unplaced<'a> {
    flow: FlowId,
    block: u32,
    esi: u32,
    payload: &'a [u8],
}

impl Engine {
    /// Handles a datagram of version 2. The caller calls [`Self::place`] after the last datagram of
    /// a message.
    pub(super) fn on_packet<'a>(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        bytes: &'a [u8],
        unplaced: &mut Vec<Unplaced<'a>>,
    ) {
        match credit::decode(bytes) {
            Ok((envelope, Message::Symbol(symbol), length)) => {
                let payload = bytes.get(length..).unwrap_or_default();
                self.on_symbol(now, incoming, &envelope, &symbol, payload, Some(unplaced));
            }
            Ok((envelope, message, length)) => {
                self.place(now, unplaced);
                let payload = bytes.get(length..).unwrap_or_default();
                let packet = Packet {
                    envelope,
                    bytes: bytes.len(),
                    greeting: None,
                };
                self.take(now, incoming, packet, &message, payload);
            }
            Err(_) => self.counts.malformed += 1,
        }
    }

    /// Stores symbols at their offsets, and processes the transport's events.
    pub(super) fn place(&mut self, now: Time, unplaced: &mut Vec<Unplaced<'_>>) {
        if unplaced.is_empty() {
            return;
        }
        for symbol in unplaced.drain(..) {
            if let Some(inbound) = self.incoming.get_mut(&symbol.flow) {
                inbound.put(symbol.block, symbol.esi, symbol.payload);
            }
        }
        self.hear(now);
    }

    /// Handles a packet after decryption, or without a key.
    pub(super) fn take(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        packet: Packet,
        message: &Message,
        payload: &[u8],
    ) {
        let (from, envelope) = (incoming.from, packet.envelope);
        match message {
            Message::Symbol(symbol) => {
                self.on_symbol(now, incoming, &envelope, symbol, payload, None);
            }
            Message::Offer(offer) => self.on_offer(now, incoming, packet, offer),
            Message::Status { used, asks, .. } => {
                let told = (*used, *asks);
                self.on_status(now, incoming, &envelope, told, message, packet.bytes);
            }
            Message::Probe { size, number } => {
                let (size, number) = (*size, *number);
                match self.guest(&envelope, from) {
                    Some((_, id)) => self.say(id, &Message::ProbeAck { size, number }),
                    None => self.counts.unknown += 1,
                }
            }
            Message::Check(check) => self.on_check(now, incoming, packet, check),
            Message::Echo(echo) => self.on_echo(from, &envelope, echo),
            Message::Proof(proof) => self.on_proof_of_key(now, from, &envelope, proof),
            Message::Close { reason } => self.on_close(now, from, &envelope, Reason::of(*reason)),
            Message::Pull(_)
            | Message::Done { .. }
            | Message::Retry(_)
            | Message::ProbeAck { .. } => {
                self.on_answer(now, from, &envelope, message);
            }
        }
    }

    /// Returns the local flow number and the line of a sender, if the packet came from its known
    /// address.
    pub(super) fn guest(&self, envelope: &Envelope, from: SocketAddr) -> Option<(FlowId, HostId)> {
        let session = self.guests.sessions.get(&envelope.session)?;
        let id = session.line(envelope.share)?;
        let line = self.lines.get(id)?;
        (line.address == from).then_some((session.flow, id))
    }

    /// Returns whether addresses are validated before large answers are sent to them.
    fn validates(&self) -> bool {
        self.config.limits.half_open < u32::MAX
    }

    /// Returns the line of a packet for a known session. `newer` returns whether no later packet
    /// has arrived yet on a line. If so, a new address in the packet becomes the line's address.
    /// Returns `None` if the packet must be dropped.
    fn line_of(
        &mut self,
        incoming: &Incoming<'_>,
        envelope: &Envelope,
        newer: impl FnOnce(&Line) -> bool,
        bytes: usize,
    ) -> Option<(FlowId, HostId, u16)> {
        let session = self.guests.sessions.get(&envelope.session)?;
        let (flow, port, id) = (session.flow, session.port, session.line(envelope.share)?);
        let validates = self.config.limits.half_open < u32::MAX;
        let line = self.lines.get_mut(id)?;
        if line.address != incoming.from {
            if !newer(line) {
                return None;
            }
            line.address = incoming.from;
            line.doubt = validates.then_some(Doubt::of(0));
            self.counts.moved += 1;
        }
        line.local = incoming.told.to.filter(|to| !to.is_multicast());
        if let Some(doubt) = &mut line.doubt {
            doubt.budget = doubt.budget.saturating_add(bytes as u64);
        }
        Some((flow, id, port))
    }

    /// Handles a symbol. With a list `unplaced`, the symbol is stored later by [`Self::place`].
    /// Without it, the symbol is stored at once.
    pub(super) fn on_symbol<'a>(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        envelope: &Envelope,
        symbol: &Symbol,
        payload: &'a [u8],
        mut unplaced: Option<&mut Vec<Unplaced<'a>>>,
    ) {
        let bytes = credit::SYMBOL_BYTES + payload.len();
        let newer = |line: &Line| symbol.number > line.highest;
        let Some((flow, id, port)) = self.line_of(incoming, envelope, newer, bytes) else {
            self.counts.unknown += 1;
            return;
        };
        let Some(line) = self.lines.get_mut(id) else {
            return;
        };
        if line.seal.as_ref().is_some_and(|seal| !seal.is_proved()) && port != self.config.port {
            // This is one of several senders, and it has not proved that it has the key. The object
            // may become complete without it.
            return;
        }
        let mut condition = Condition::Whole;
        if let Some(inbound) = self.incoming.get_mut(&flow) {
            let expected = inbound.payload(symbol.block, symbol.esi);
            let Some(expected) = expected.filter(|expected| payload.len() <= *expected) else {
                self.counts.malformed += 1;
                return;
            };
            if symbol.trimmed || payload.len() < expected {
                // A switch that does not know this header cuts the packet without setting the flag.
                self.counts.trimmed += 1;
                condition = Condition::Trimmed;
            } else if let (Some(unplaced), true) = (&mut unplaced, inbound.has_room()) {
                unplaced.push(Unplaced {
                    flow,
                    block: symbol.block,
                    esi: symbol.esi,
                    payload,
                });
            } else if !inbound.put(symbol.block, symbol.esi, payload) {
                return;
            }
        }
        if !symbol.trimmed {
            line.highest = line.highest.max(symbol.number);
        }
        let Some(header) = Message::Symbol(*symbol).header(envelope.share) else {
            return;
        };
        let tuple = self.guests.tuple(id, port);
        let segment = Segment {
            ecn: incoming.class().ecn(),
            priority: symbol.class,
            trimmable: true,
            condition,
            ..Segment::new(tuple, NAMELESS, payload.len() as u32, header)
        };
        self.host.on_segment(now, segment);
        if unplaced.is_none_or(|unplaced| unplaced.is_empty()) {
            self.hear(now);
        }
    }

    fn on_status(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        envelope: &Envelope,
        (used, asks): (u32, bool),
        message: &Message,
        bytes: usize,
    ) {
        let newer = |line: &Line| asks && used > line.highest;
        let Some((_, id, port)) = self.line_of(incoming, envelope, newer, bytes) else {
            self.counts.unknown += 1;
            if asks && !self.guests.sessions.contains_key(&envelope.session) {
                self.answer_stranger(now, incoming, envelope);
            }
            return;
        };
        if let Some(header) = message.header(envelope.share) {
            let tuple = self.guests.tuple(id, port);
            let segment = Segment::new(tuple, NAMELESS, 0, header);
            self.host.on_segment(now, segment);
            self.hear(now);
        }
    }

    /// Answers a sender that asks about an unknown session. The session has ended, or this host has
    /// restarted.
    fn answer_stranger(&mut self, now: Time, incoming: &Incoming<'_>, envelope: &Envelope) {
        let answer = match self.guests.ended.contains(envelope.session) {
            true => Message::Done { hash: 0 },
            false => Message::Close {
                reason: Reason::Unknown.number(),
            },
        };
        self.answer(now, incoming, envelope, &answer);
    }

    /// Answers a packet of no session, if the rate limit allows. Returns whether an answer was
    /// sent.
    fn answer(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        envelope: &Envelope,
        answer: &Message,
    ) -> bool {
        let may = self.guests.answers.take(now);
        if may {
            let local = incoming.told.to.filter(|to| !to.is_multicast());
            self.staging.put(incoming.from, local, envelope, answer);
        }
        may
    }

    fn turn_away(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        envelope: &Envelope,
        reason: Reason,
    ) {
        self.counts.no_room += 1;
        let reason = reason.number();
        self.answer(now, incoming, envelope, &Message::Close { reason });
    }

    /// Handles an offer of an object.
    fn on_offer(&mut self, now: Time, incoming: &Incoming<'_>, packet: Packet, offer: &Offer) {
        let (from, envelope, bytes) = (incoming.from, &packet.envelope, packet.bytes);
        let mut is_vouched = !self.validates();
        if let Some(token) = offer.token.filter(|_| !is_vouched) {
            if !self
                .guests
                .tokens
                .check(now, from, envelope.session, &token)
            {
                self.counts.unknown += 1;
                return;
            }
            is_vouched = true;
        } else if !is_vouched && bytes < usize::from(LEAST_OFFER) {
            // Without this bound, an answer could be longer than an offer with a forged address.
            self.counts.malformed += 1;
            return;
        }
        let session = self.guests.sessions.get(&envelope.session);
        match session.map(|session| session.line(envelope.share)) {
            Some(Some(id)) => {
                let Some((_, _, port)) =
                    self.line_of(incoming, envelope, |_| offer.token.is_some(), bytes)
                else {
                    self.counts.unknown += 1;
                    return;
                };
                if offer.token.is_some() {
                    self.on_proof(now, envelope.session, id);
                } else if let Some(header) = Message::Offer(*offer).header(envelope.share) {
                    let tuple = self.guests.tuple(id, port);
                    self.host
                        .on_segment(now, Segment::new(tuple, NAMELESS, 0, header));
                    self.hear(now);
                }
            }
            _ if self.guests.ended.contains(envelope.session) => {
                self.answer(now, incoming, envelope, &Message::Done { hash: 0 });
            }
            known => {
                let joins = known.is_some();
                self.on_new_sender(now, incoming, packet, offer, (is_vouched, joins));
            }
        }
    }

    /// Marks the address of a line as validated.
    fn on_proof(&mut self, now: Time, session: u64, id: HostId) {
        if let Some(line) = self.lines.get_mut(id) {
            line.doubt = None;
        }
        let flow = self.guests.sessions.get(&session).map(|known| known.flow);
        if !self.guests.prove(session) {
            return;
        }
        let inbound = flow.and_then(|flow| self.incoming.get_mut(&flow));
        if inbound.is_some_and(|inbound| !inbound.prove()) {
            self.counts.no_room += 1;
            self.refuse(now, session, Reason::Busy);
        }
    }

    /// Handles the offer of a new sender. If `joins` is true, the session has other senders
    /// already.
    fn on_new_sender(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        packet: Packet,
        offer: &Offer,
        (is_vouched, joins): (bool, bool),
    ) {
        let (from, envelope, bytes) = (incoming.from, &packet.envelope, packet.bytes);
        let limits = self.config.limits;
        let layout = Object::from_options(offer.length, offer.symbol.into(), offer.blocks);
        let pushed = u32::from(offer.pushed);
        let makes_sense = |layout: &Object| {
            layout.is_within(&limits)
                && envelope.share < offer.senders
                && offer.senders <= limits.senders
                && (1..=limits.pushed).contains(&pushed)
                && u64::from(pushed) <= layout.symbols()
        };
        let (Some(layout), Some(header)) = (
            layout.filter(makes_sense),
            Message::Offer(*offer).header(envelope.share),
        ) else {
            self.counts.malformed += 1;
            return;
        };
        if self.guests.room.is_too_large(layout.length()) {
            self.turn_away(now, incoming, envelope, Reason::TooLarge);
            return;
        }
        // Sessions that the transport has dropped must not count towards the limits.
        self.forget();
        if self.guests.active() >= limits.sessions
            || self.guests.of(from.ip()) >= limits.sessions_of_peer
        {
            self.turn_away(now, incoming, envelope, Reason::Busy);
            return;
        }
        if !is_vouched && self.guests.half_open() >= limits.half_open {
            // The limit of answers is checked after the token is made. `answer` sends nothing over
            // the limit.
            let token = self.guests.tokens.issue(now, from, envelope.session);
            let given = self.answer(now, incoming, envelope, &Message::Retry(token));
            self.counts.tokens += u64::from(given);
            return;
        }
        let mut seal = None;
        if let (Some(key), Some(peer)) = (&self.lines.key, packet.greeting) {
            let (session, share) = (envelope.session, envelope.share);
            let Ok(known) = Seal::new(key, session, share, Some(peer)) else {
                return;
            };
            seal = Some(Box::new(known));
        }
        let line = Line {
            seal,
            local: incoming.told.to.filter(|to| !to.is_multicast()),
            doubt: (!is_vouched).then_some(Doubt::of(bytes)),
            ..Line::new(from, envelope.session, envelope.share)
        };
        if joins {
            self.join(now, envelope, line, (pushed, header));
            return;
        }
        let early = (!is_vouched).then_some(pushed);
        let Some(inbound) = Inbound::new(layout, early, &self.guests.room) else {
            self.turn_away(now, incoming, envelope, Reason::Busy);
            return;
        };
        let mut port = self.config.port;
        if offer.senders > 1 {
            let Some((flow, free)) = self.guests.collect(port) else {
                self.turn_away(now, incoming, envelope, Reason::Busy);
                return;
            };
            port = free;
            // This fails only if the port is in use, and `collect` has returned a free port.
            let _ = self.host.take_part(now, Part::Collect { flow, port });
        }
        let id = self.lines.enter(line);
        let tuple = self.guests.tuple(id, port);
        self.host
            .on_vouched(now, Segment::new(tuple, NAMELESS, 0, header));
        let opened = self.host.receiving(&tuple);
        let Some((flow, _)) = opened.filter(|(flow, _)| !self.incoming.contains_key(flow)) else {
            self.lines.remove(id);
            self.turn_away(now, incoming, envelope, Reason::Busy);
            return;
        };
        self.guests.open(
            envelope.session,
            Session {
                flow,
                port,
                lines: vec![(envelope.share, id)],
                is_proven: is_vouched,
                counted: Some(from.ip()),
                waits: false,
            },
        );
        self.incoming.insert(flow, inbound);
        self.hear(now);
    }

    /// Adds a further sender of an object.
    fn join(
        &mut self,
        now: Time,
        envelope: &Envelope,
        line: Line,
        (pushed, header): (u32, Header),
    ) {
        let is_shown = line.doubt.is_none();
        let Some(session) = self.guests.sessions.get(&envelope.session) else {
            return;
        };
        let (flow, port) = (session.flow, session.port);
        let id = self.lines.enter(line);
        let tuple = self.guests.tuple(id, port);
        self.host
            .on_vouched(now, Segment::new(tuple, NAMELESS, 0, header));
        if self.host.receiving(&tuple).is_none_or(|(of, _)| of != flow) {
            self.lines.remove(id);
            self.counts.malformed += 1;
            return;
        }
        if let Some(session) = self.guests.sessions.get_mut(&envelope.session) {
            session.lines.push((envelope.share, id));
        }
        if let Some(inbound) = self.incoming.get_mut(&flow) {
            inbound.expect_more(pushed);
        }
        if is_shown {
            self.on_proof(now, envelope.session, id);
        }
        self.hear(now);
    }

    /// Ends a received transfer, and sends the reason to its senders.
    pub(super) fn refuse(&mut self, now: Time, session: u64, reason: Reason) {
        let Some(known) = self.guests.sessions.get(&session) else {
            return;
        };
        let (flow, lines) = (known.flow, known.lines.clone());
        for (_, id) in lines {
            self.close(id, reason);
        }
        self.host.refuse(now, flow);
        self.end_incoming(flow);
    }

    /// Handles a complete object. Under a key, the object waits until its sender has proved that it
    /// has the key. Without this proof, an attacker could replay the packets of an old session.
    pub(super) fn on_completed(&mut self, now: Time, flow: FlowId) {
        let session = self.guests.session_of.get(&flow).copied();
        let known = session.and_then(|id| self.guests.sessions.get(&id));
        let line = known.and_then(|known| known.lines.first());
        let line = line.and_then(|(_, line)| self.lines.get(*line));
        let seal = line.and_then(|line| line.seal.as_ref());
        let is_one = known.is_some_and(|known| known.port == self.config.port);
        match (
            session,
            seal.is_some_and(|seal| !seal.is_proved() && is_one),
        ) {
            (Some(id), true) => self.guests.wait(now, id),
            _ => self.deliver(flow),
        }
    }

    /// Gives an object to the application.
    pub(super) fn deliver(&mut self, flow: FlowId) {
        let Some(mut inbound) = self.incoming.remove(&flow) else {
            return;
        };
        let from = match self.guests.session_of.get(&flow) {
            Some(&id) => {
                self.guests.settle(id);
                let session = self.guests.sessions.get(&id);
                let line = session.and_then(|session| session.lines.first());
                let line = line.and_then(|(_, line)| self.lines.get(*line));
                line.map(|line| line.address)
            }
            None => self.leave_paper(flow),
        };
        // An object that was pushed as a whole may still lack its memory, because its sender's
        // address is not validated yet.
        if let (Some(from), true) = (from, inbound.prove()) {
            let (bytes, held) = inbound.into_bytes();
            self.news.push_back(News::Received { from, bytes, held });
        }
    }

    /// Removes a received object and its session.
    pub(super) fn end_incoming(&mut self, flow: FlowId) {
        self.incoming.remove(&flow);
        match self.guests.session_of.get(&flow) {
            Some(&id) => {
                for (_, line) in self.guests.remove(id) {
                    self.lines.remove(line);
                }
            }
            None => {
                self.leave_paper(flow);
            }
        }
    }

    /// Removes sessions that the transport has dropped.
    fn forget(&mut self) {
        if !self.guests.are_many() {
            return;
        }
        let is_known = |session: &Session| {
            let line = session.lines.first();
            let tuple = line.map(|(_, id)| self.guests.tuple(*id, session.port));
            let known = tuple.and_then(|tuple| self.host.receiving(&tuple));
            known.is_some_and(|(flow, _)| flow == session.flow)
        };
        let gone: Vec<u64> = self
            .guests
            .sessions
            .iter()
            .filter(|(_, session)| !is_known(session))
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            self.guests.ended.insert(id);
            for (_, line) in self.guests.remove(id) {
                self.lines.remove(line);
            }
        }
        self.guests.looked();
    }
}
