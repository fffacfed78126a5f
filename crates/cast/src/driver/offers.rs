//! Offers of objects, and the limits under which this host accepts them.

use super::connections::{Connection, Unvalidated};
use super::engine::Engine;
use super::incoming::Inbound;
use super::incoming_sessions::Session;
use super::reason::Reason;
use super::receiving::NAMELESS;
use super::sealing::Seal;
use super::unsealing::Packet;
use crate::udp::Incoming;
use tailcut_transport::scdp::Object;
use tailcut_transport::{Header, Part, Segment, Transport};
use tailcut_units::{HostId, Time};
use tailcut_wire::scdp::credit::{Envelope, LEAST_OFFER, Message, Offer};

impl Engine {
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
    pub(super) fn on_offer(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        packet: Packet,
        offer: &Offer,
    ) {
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
                let line = self.line_of(incoming, envelope, |_| offer.token.is_some(), bytes);
                let Some((flow, _, port)) = line else {
                    // The sender may have a new address before it has got the first answer.
                    self.give_token(now, incoming, envelope);
                    return;
                };
                if offer.token.is_some() {
                    self.on_proof(now, envelope.session, id);
                }
                if !self.incoming.contains_key(&flow) {
                    // The whole object has arrived, but the sender has not received the final message.
                    self.say(id, &Message::Done { hash: 0 });
                } else if offer.token.is_none()
                    && let Some(header) = Message::Offer(*offer).header(envelope.share)
                {
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
        // Only now the session counts for its address.
        let is_over = self
            .incoming_sessions
            .is_over_limit(session, &self.config.limits);
        let inbound = flow.and_then(|flow| self.incoming.get_mut(&flow));
        if is_over || inbound.is_some_and(|inbound| !inbound.prove()) {
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
            self.give_token(now, incoming, envelope);
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
        let reserve =
            |engine: &Self| Inbound::new(now, layout, early, &engine.incoming_sessions.budget);
        let mut inbound = reserve(self);
        // A sender whose address may be forged must not end the object of another one.
        if inbound.is_none() && is_vouched && self.make_room_for_new(now) {
            inbound = reserve(self);
        }
        let Some(inbound) = inbound else {
            if !is_vouched {
                // With a token, the sender may take the memory of a slower one.
                self.give_token(now, incoming, envelope);
                return;
            }
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

    /// Sends a token to an unknown sender, and stores nothing. The token must come back from the sender's address.
    fn give_token(&mut self, now: Time, incoming: &Incoming<'_>, envelope: &Envelope) {
        // `answer` checks the rate limit later. If the limit is reached, this token is not sent.
        let token = self
            .incoming_sessions
            .tokens
            .issue(now, incoming.from, envelope.session);
        let given = self.answer(now, incoming, envelope, &Message::Retry(token));
        self.counts.tokens += u64::from(given);
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
}
