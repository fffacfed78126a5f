//! Packets of version 2 that arrive from the senders of an object, such as symbols and statuses.

use super::connections::{Connection, Unvalidated};
use super::engine::Engine;
use super::reason::Reason;
use super::unsealing::Packet;
use crate::udp::Incoming;
use std::net::SocketAddr;
use tailcut_transport::{Condition, Segment, Transport};
use tailcut_units::{FlowId, HostId, Time};
use tailcut_wire::scdp::credit::{self, Envelope, Message, Symbol};

/// Flow number of all received segments. It can be constant, because the connection already identifies the session.
pub(super) const NAMELESS: FlowId = FlowId(0);

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
    pub(super) fn validates(&self) -> bool {
        self.config.limits.half_open < u32::MAX
    }

    /// Returns the flow, the connection and the port for a packet of a known session.
    /// Returns `None` if the packet must be dropped.
    /// If the packet comes from a new address, `newer` decides whether the connection moves to this address.
    /// `newer` must return whether the packet is later than all earlier packets of the connection.
    pub(super) fn line_of(
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
        let connection = self.connections.get(id);
        let seal = connection.and_then(|connection| connection.seal.as_ref());
        if seal.is_some_and(|seal| !seal.is_proved()) && port != self.config.port {
            // The object has several senders, and this sender has not proved that it has the key.
            // Symbols of this sender must not become part of the object.
            return;
        }
        let mut condition = Condition::Whole;
        // A delivered object has no entry here.
        // The transport still gets late symbols, and sends the final message again.
        if let Some(inbound) = self.incoming.get(&flow) {
            let expected = inbound.payload(symbol.block, symbol.esi);
            let Some(expected) = expected.filter(|expected| payload.len() <= *expected) else {
                self.counts.malformed += 1;
                return;
            };
            if symbol.trimmed || payload.len() < expected {
                // A switch that does not know this header cuts the packet and does not set the flag.
                self.counts.trimmed += 1;
                condition = Condition::Trimmed;
            } else if !self.make_room(now, flow, payload.len()) {
                return;
            } else if let Some(inbound) = self.incoming.get_mut(&flow) {
                if let (Some(unplaced), true) = (&mut unplaced, inbound.has_room()) {
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
        }
        // With a key, the header of a trimmed symbol may still be forged.
        if let (Some(connection), false) = (self.connections.get_mut(id), symbol.trimmed) {
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
    pub(super) fn answer(
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
}
