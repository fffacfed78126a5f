//! Packets of version 2 that arrive from the senders of an object, such as offers and symbols.

use super::connections::{Connection, Unvalidated};
use super::engine::{Engine, News};
use super::incoming::Inbound;
use super::incoming_sessions::Session;
use super::reason::Reason;
use super::route::Route;
use super::sealing::Seal;
use super::unsealing::Packet;
use crate::udp::Incoming;
use std::net::SocketAddr;
use tailcut_transport::scdp::Object;
use tailcut_transport::{Condition, Header, Part, Segment, Streams, Transport};
use tailcut_units::{FlowId, HostId, Time};
use tailcut_wire::scdp::credit::{self, Envelope, LEAST_OFFER, Message, Offer, Symbol};

/// Flow number of all received segments. It can be constant, because the connection already identifies the session.
const NAMELESS: FlowId = FlowId(0);

/// Symbol whose bytes are not stored yet, although the transport has processed it.
/// A message from the socket contains many symbols.
/// A copy to memory outside the processor's caches can delay the next instructions.
/// So all symbols of a message are copied one after another, and the copies delay only each other.
pub(super) struct Unplaced<'a> {
    flow: FlowId,
    block: u32,
    esi: u32,
    payload: &'a [u8],
}

impl Engine {
    /// Handles a datagram of version 2. After the last datagram of a message, the caller must call [`Self::place`].
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
                // The transport has already processed the earlier symbols.
                // The bytes of these symbols must be stored before the next packet completes or ends the object.
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

    /// Stores the bytes of symbols at their offsets, and then handles the events of the transport.
    pub(super) fn place(&mut self, now: Time, unplaced: &mut Vec<Unplaced<'_>>) {
        if unplaced.is_empty() {
            return;
        }
        for symbol in unplaced.drain(..) {
            if let Some(inbound) = self.incoming.get_mut(&symbol.flow) {
                // The list contains a symbol only if its object has memory. So this call cannot fail.
                inbound.put(symbol.block, symbol.esi, symbol.payload);
            }
        }
        self.process_events(now);
    }

    /// Handles a packet of version 2 after its decryption, or a packet without a key.
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
                let status = (*used, *asks);
                self.on_status(now, incoming, &envelope, status, message, packet.bytes);
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

    /// Returns the local flow number and the connection of a sender.
    /// Returns `None` if the packet did not come from the sender's known address.
    pub(super) fn guest(&self, envelope: &Envelope, from: SocketAddr) -> Option<(FlowId, HostId)> {
        let session = self.incoming_sessions.sessions.get(&envelope.session)?;
        let id = session.connection(envelope.share)?;
        let connection = self.connections.get(id)?;
        (connection.address == from).then_some((session.flow, id))
    }

    /// Returns whether this host validates the addresses of senders.
    fn validates(&self) -> bool {
        self.config.limits.half_open < u32::MAX
    }

    /// Returns the flow, the connection and the port for a packet of a known session.
    /// Returns `None` if the packet must be dropped.
    /// If the packet comes from a new address, `newer` decides whether the connection moves to this address.
    /// `newer` must return whether the packet is later than all earlier packets of the connection.
    fn line_of(
        &mut self,
        incoming: &Incoming<'_>,
        envelope: &Envelope,
        newer: impl FnOnce(&Connection) -> bool,
        bytes: usize,
    ) -> Option<(FlowId, HostId, u16)> {
        let session = self.incoming_sessions.sessions.get(&envelope.session)?;
        let (flow, port, id) = (
            session.flow,
            session.port,
            session.connection(envelope.share)?,
        );
        let validates = self.config.limits.half_open < u32::MAX;
        let connection = self.connections.get_mut(id)?;
        if connection.address != incoming.from {
            // A copy of an old packet must not move the connection to the address of an attacker.
            if !newer(connection) {
                return None;
            }
            connection.address = incoming.from;
            // The bytes of this packet are added below. So the budget begins with 0.
            connection.unvalidated = validates.then_some(Unvalidated::of(0));
            self.counts.moved += 1;
        }
        // A multicast group cannot be the source address of answers.
        connection.local = incoming.ancillary.to.filter(|to| !to.is_multicast());
        if let Some(unvalidated) = &mut connection.unvalidated {
            unvalidated.budget = unvalidated.budget.saturating_add(bytes as u64);
        }
        Some((flow, id, port))
    }

    /// Handles a symbol.
    /// If the list `unplaced` is given, the symbol is added to it, and [`Self::place`] stores its bytes later.
    /// Otherwise the bytes are stored immediately.
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
        let newer = |connection: &Connection| symbol.number > connection.highest;
        let Some((flow, id, port)) = self.line_of(incoming, envelope, newer, bytes) else {
            // A symbol of an unknown session gets no answer.
            // A sender without pulls sends a status, and the status gets an answer.
            self.counts.unknown += 1;
            return;
        };
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        if connection
            .seal
            .as_ref()
            .is_some_and(|seal| !seal.is_proved())
            && port != self.config.port
        {
            // The object has several senders, and this sender has not proved that it has the key.
            // Symbols of this sender must not become part of the object.
            return;
        }
        let mut condition = Condition::Whole;
        // A delivered object has no entry here.
        // The transport still gets late symbols, and sends the final message again.
        if let Some(inbound) = self.incoming.get_mut(&flow) {
            let expected = inbound.payload(symbol.block, symbol.esi);
            let Some(expected) = expected.filter(|expected| payload.len() <= *expected) else {
                self.counts.malformed += 1;
                return;
            };
            if symbol.trimmed || payload.len() < expected {
                // A switch that does not know this header cuts the packet and does not set the flag.
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
                // There is no memory for the bytes. So the symbol counts as lost.
                return;
            }
        }
        // With a key, the header of a trimmed symbol may still be forged.
        if !symbol.trimmed {
            connection.highest = connection.highest.max(symbol.number);
        }
        let Some(header) = Message::Symbol(*symbol).header(envelope.share) else {
            return;
        };
        let tuple = self.incoming_sessions.tuple(id, port);
        let segment = Segment {
            ecn: incoming.class().ecn(),
            priority: symbol.class,
            trimmable: true,
            condition,
            ..Segment::new(tuple, NAMELESS, payload.len() as u32, header)
        };
        self.host.on_segment(now, segment);
        // If symbols wait in the list, `place` handles the events after it has stored their bytes.
        if unplaced.is_none_or(|unplaced| unplaced.is_empty()) {
            self.process_events(now);
        }
    }

    /// Handles a status message, which contains the number of credits that a sender has used.
    /// If `asks` is true, the sender waits for an answer.
    fn on_status(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        envelope: &Envelope,
        (used, asks): (u32, bool),
        message: &Message,
        bytes: usize,
    ) {
        // A status without `asks` answers a pull. The pull was sent to the known address, so the sender has not moved.
        let newer = |connection: &Connection| asks && used > connection.highest;
        let Some((_, id, port)) = self.line_of(incoming, envelope, newer, bytes) else {
            self.counts.unknown += 1;
            // In a known session, the sender may only have changed its address. An answer would end its transfer.
            if asks
                && !self
                    .incoming_sessions
                    .sessions
                    .contains_key(&envelope.session)
            {
                self.answer_stranger(now, incoming, envelope);
            }
            return;
        };
        if let Some(header) = message.header(envelope.share) {
            let tuple = self.incoming_sessions.tuple(id, port);
            let segment = Segment::new(tuple, NAMELESS, 0, header);
            self.host.on_segment(now, segment);
            self.process_events(now);
        }
    }

    /// Answers a status of an unknown session. The session has ended, or this host has restarted.
    fn answer_stranger(&mut self, now: Time, incoming: &Incoming<'_>, envelope: &Envelope) {
        let answer = match self.incoming_sessions.ended.contains(envelope.session) {
            // The hash is 0, because senders do not read it.
            true => Message::Done { hash: 0 },
            false => Message::Close {
                reason: Reason::Unknown.number(),
            },
        };
        self.answer(now, incoming, envelope, &answer);
    }

    /// Answers a packet that belongs to no session, unless the rate limit is reached.
    /// Returns whether an answer was sent.
    fn answer(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        envelope: &Envelope,
        answer: &Message,
    ) -> bool {
        let may = self.incoming_sessions.answers.take(now);
        if may {
            // A multicast group cannot be the source address of the answer.
            let local = incoming.ancillary.to.filter(|to| !to.is_multicast());
            self.staging.put(incoming.from, local, envelope, answer);
        }
        may
    }

    /// Refuses an offer. The sender gets the reason, unless the rate limit is reached.
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
                .incoming_sessions
                .tokens
                .check(now, from, envelope.session, &token)
            {
                self.counts.unknown += 1;
                return;
            }
            is_vouched = true;
        } else if !is_vouched && bytes < usize::from(LEAST_OFFER) {
            // The address may be forged. Without this bound, an answer could be longer than the offer.
            self.counts.malformed += 1;
            return;
        }
        let session = self.incoming_sessions.sessions.get(&envelope.session);
        match session.map(|session| session.connection(envelope.share)) {
            Some(Some(id)) => {
                // A valid token proves that the address is not forged. So the connection may move to this address.
                let Some((_, _, port)) =
                    self.line_of(incoming, envelope, |_| offer.token.is_some(), bytes)
                else {
                    self.counts.unknown += 1;
                    return;
                };
                if offer.token.is_some() {
                    self.on_proof(now, envelope.session, id);
                } else if let Some(header) = Message::Offer(*offer).header(envelope.share) {
                    let tuple = self.incoming_sessions.tuple(id, port);
                    self.host
                        .on_segment(now, Segment::new(tuple, NAMELESS, 0, header));
                    self.process_events(now);
                }
            }
            // The whole object has arrived, but the sender has not received the final message.
            _ if self.incoming_sessions.ended.contains(envelope.session) => {
                self.answer(now, incoming, envelope, &Message::Done { hash: 0 });
            }
            known => {
                let joins = known.is_some();
                self.on_new_sender(now, incoming, packet, offer, (is_vouched, joins));
            }
        }
    }

    /// Marks the address of a connection as validated.
    fn on_proof(&mut self, now: Time, session: u64, id: HostId) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.unvalidated = None;
        }
        let flow = self
            .incoming_sessions
            .sessions
            .get(&session)
            .map(|known| known.flow);
        // The memory for the whole object was allocated when the first address of a sender was validated.
        if !self.incoming_sessions.prove(session) {
            return;
        }
        let inbound = flow.and_then(|flow| self.incoming.get_mut(&flow));
        if inbound.is_some_and(|inbound| !inbound.prove()) {
            self.counts.no_room += 1;
            self.refuse(now, session, Reason::Busy);
        }
    }

    /// Handles the offer of a new sender. `is_vouched` shows whether the sender's address is validated.
    /// `joins` shows whether the session already has other senders.
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
        // The check of the size comes first, because its reason is final.
        // With `Busy`, the sender would offer the object again without effect.
        if self.incoming_sessions.budget.is_too_large(layout.length()) {
            self.turn_away(now, incoming, envelope, Reason::TooLarge);
            return;
        }
        // Sessions that the transport has dropped must not count in the limits.
        self.forget();
        // A further sender of a known session needs memory for its connection. So the limits apply to it too.
        if self.incoming_sessions.active() >= limits.sessions
            || self.incoming_sessions.of(from.ip()) >= limits.sessions_of_peer
        {
            self.turn_away(now, incoming, envelope, Reason::Busy);
            return;
        }
        if !is_vouched && self.incoming_sessions.half_open() >= limits.half_open {
            // `answer` checks the rate limit later. If the limit is reached, this token is not sent.
            let token = self
                .incoming_sessions
                .tokens
                .issue(now, from, envelope.session);
            let given = self.answer(now, incoming, envelope, &Message::Retry(token));
            self.counts.tokens += u64::from(given);
            return;
        }
        let mut seal = None;
        if let (Some(key), Some(peer)) = (&self.connections.key, packet.greeting) {
            let (session, share) = (envelope.session, envelope.share);
            // Without random bytes, the offer gets no answer. The sender then repeats it.
            let Ok(known) = Seal::new(key, session, share, Some(peer)) else {
                return;
            };
            seal = Some(Box::new(known));
        }
        let connection = Connection {
            seal,
            local: incoming.ancillary.to.filter(|to| !to.is_multicast()),
            unvalidated: (!is_vouched).then_some(Unvalidated::of(bytes)),
            ..Connection::new(from, envelope.session, envelope.share)
        };
        if joins {
            self.join(now, envelope, connection, (pushed, header));
            return;
        }
        let early = (!is_vouched).then_some(pushed);
        let Some(inbound) = Inbound::new(layout, early, &self.incoming_sessions.budget) else {
            self.turn_away(now, incoming, envelope, Reason::Busy);
            return;
        };
        let mut port = self.config.port;
        if offer.senders > 1 {
            let Some((flow, free)) = self.incoming_sessions.collect(port) else {
                self.turn_away(now, incoming, envelope, Reason::Busy);
                return;
            };
            port = free;
            // `take_part` fails only if the port is in use. `collect` has returned a free port.
            let _ = self.host.take_part(now, Part::Collect { flow, port });
        }
        let id = self.connections.enter(connection);
        let tuple = self.incoming_sessions.tuple(id, port);
        // This engine counts the half-open sessions. So the transport must not count them again.
        self.host
            .on_vouched(now, Segment::new(tuple, NAMELESS, 0, header));
        // The transport has its own limits and may have refused the session.
        let opened = self.host.receiving(&tuple);
        let Some((flow, _)) = opened.filter(|(flow, _)| !self.incoming.contains_key(flow)) else {
            self.connections.remove(id);
            self.turn_away(now, incoming, envelope, Reason::Busy);
            return;
        };
        self.incoming_sessions.open(
            envelope.session,
            Session {
                flow,
                port,
                connections: vec![(envelope.share, id)],
                is_proven: is_vouched,
                counted: Some(from.ip()),
                waits: false,
            },
        );
        self.incoming.insert(flow, inbound);
        self.process_events(now);
    }

    /// Adds a further sender of an object to its session.
    fn join(
        &mut self,
        now: Time,
        envelope: &Envelope,
        connection: Connection,
        (pushed, header): (u32, Header),
    ) {
        let is_shown = connection.unvalidated.is_none();
        let Some(session) = self.incoming_sessions.sessions.get(&envelope.session) else {
            return;
        };
        let (flow, port) = (session.flow, session.port);
        let id = self.connections.enter(connection);
        let tuple = self.incoming_sessions.tuple(id, port);
        self.host
            .on_vouched(now, Segment::new(tuple, NAMELESS, 0, header));
        // The transport refuses an offer that does not match the offers of the other senders.
        if self.host.receiving(&tuple).is_none_or(|(of, _)| of != flow) {
            self.connections.remove(id);
            self.counts.malformed += 1;
            return;
        }
        if let Some(session) = self.incoming_sessions.sessions.get_mut(&envelope.session) {
            session.connections.push((envelope.share, id));
        }
        if let Some(inbound) = self.incoming.get_mut(&flow) {
            inbound.expect_more(pushed);
        }
        if is_shown {
            self.on_proof(now, envelope.session, id);
        }
        self.process_events(now);
    }

    /// Ends a transfer that this host receives, and sends the reason to all senders.
    pub(super) fn refuse(&mut self, now: Time, session: u64, reason: Reason) {
        let Some(known) = self.incoming_sessions.sessions.get(&session) else {
            return;
        };
        // The list is copied, because `close` needs the whole engine.
        let (flow, connections) = (known.flow, known.connections.clone());
        for (_, id) in connections {
            self.close(id, reason);
        }
        self.host.refuse(now, flow);
        self.end_incoming(flow);
    }

    /// Handles a complete object. With a key, the object waits until its sender has proved that it has the key.
    /// Without this proof, an attacker could replay the packets of an old session.
    pub(super) fn on_completed(&mut self, now: Time, flow: FlowId) {
        let session = self.incoming_sessions.session_of.get(&flow).copied();
        let known = session.and_then(|id| self.incoming_sessions.sessions.get(&id));
        let connection = known.and_then(|known| known.connections.first());
        let connection = connection.and_then(|(_, connection)| self.connections.get(*connection));
        let seal = connection.and_then(|connection| connection.seal.as_ref());
        // If there are several senders, only senders with a proof have contributed.
        // `on_symbol` drops the symbols of all other senders.
        // An object from several senders has a separate port (`collect`). So the usual port means one sender.
        let is_one = known.is_some_and(|known| known.port == self.config.port);
        match (
            session,
            seal.is_some_and(|seal| !seal.is_proved() && is_one),
        ) {
            (Some(id), true) => self.incoming_sessions.wait(now, id),
            _ => self.deliver(flow),
        }
    }

    /// Gives an object to the application.
    pub(super) fn deliver(&mut self, flow: FlowId) {
        let Some(mut inbound) = self.incoming.remove(&flow) else {
            return;
        };
        let route = match self.incoming_sessions.session_of.get(&flow) {
            Some(&id) => {
                self.incoming_sessions.settle(id);
                let session = self.incoming_sessions.sessions.get(&id);
                let connection = session.and_then(|session| session.connections.first());
                let connection =
                    connection.and_then(|(_, connection)| self.connections.get(*connection));
                connection.map(|connection| Route {
                    to: connection.address,
                    from: connection.local,
                })
            }
            None => self.leave_paper(flow).map(Route::from),
        };
        // The address of the sender may not be validated yet.
        // If it is not validated, `prove` allocates the memory of the whole object now.
        if let (Some(route), true) = (route, inbound.prove()) {
            let (bytes, reservation) = inbound.into_bytes();
            self.news.push_back(News::Received {
                route,
                bytes,
                reservation,
            });
        }
    }

    /// Removes a received object and its session.
    pub(super) fn end_incoming(&mut self, flow: FlowId) {
        self.incoming.remove(&flow);
        match self.incoming_sessions.session_of.get(&flow) {
            Some(&id) => {
                for (_, connection) in self.incoming_sessions.remove(id) {
                    self.connections.remove(connection);
                }
            }
            None => {
                self.leave_paper(flow);
            }
        }
    }

    /// Removes the sessions that the transport has dropped.
    fn forget(&mut self) {
        if !self.incoming_sessions.are_many() {
            return;
        }
        let is_known = |session: &Session| {
            // All connections of a session are removed together with the session.
            // So the first connection represents all connections of the session.
            let connection = session.connections.first();
            let tuple = connection.map(|(_, id)| self.incoming_sessions.tuple(*id, session.port));
            let known = tuple.and_then(|tuple| self.host.receiving(&tuple));
            known.is_some_and(|(flow, _)| flow == session.flow)
        };
        let gone: Vec<u64> = self
            .incoming_sessions
            .sessions
            .iter()
            .filter(|(_, session)| !is_known(session))
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            // A failed session was removed when it failed. So the whole object of this session has arrived.
            self.incoming_sessions.ended.insert(id);
            for (_, connection) in self.incoming_sessions.remove(id) {
                self.connections.remove(connection);
            }
        }
        self.incoming_sessions.looked();
    }
}
