//! Decryption of packets that other hosts have encrypted with the same key.

use super::engine::Engine;
use super::sealing::{Greeting, is_sealed, open_first, trimmed};
use crate::seal::Direction;
use crate::udp::Incoming;
use std::net::SocketAddr;
use tailcut_units::Time;
use tailcut_wire::scdp::credit::{self, Envelope, Message, PREFIX_BYTES, Symbol};

/// Packet kind of an offer. An offer, a check or an echo may arrive without a session.
const OFFER: u8 = 2;
/// Packet kind of a check. An endpoint answers a check without a session.
const CHECK: u8 = 10;
/// Packet kind of an echo, which answers a check.
const ECHO: u8 = 11;

/// Data about a packet that is not part of its message.
pub(super) struct Packet {
    pub(super) envelope: Envelope,
    /// Size of the datagram in bytes, including the bytes that encryption has added.
    pub(super) bytes: usize,
    /// Origin of the packet, if it is the first packet of a sender with a key.
    pub(super) greeting: Option<Greeting>,
}

impl Engine {
    /// Handles a datagram at an endpoint with a key.
    pub(super) fn on_sealed(&mut self, now: Time, incoming: &Incoming<'_>, bytes: &[u8]) {
        if bytes.len() < PREFIX_BYTES {
            self.counts.malformed += 1;
            return;
        }
        if !is_sealed(bytes) {
            // A host that stores nothing about the session sends tokens and close messages without encryption.
            // Such packets may be forged, so they count only as hints.
            match credit::decode(bytes) {
                Ok((envelope, Message::Retry(_) | Message::Close { .. }, _))
                    if self
                        .sent_to
                        .contains_key(&(envelope.session, envelope.share)) =>
                {
                    self.on_packet(now, incoming, bytes, &mut Vec::new());
                }
                _ => self.counts.malformed += 1,
            }
            return;
        }
        if let Some(header) = trimmed(bytes) {
            match credit::decode(&header) {
                Ok((envelope, Message::Symbol(symbol), _)) => {
                    self.on_hint(now, incoming, &envelope, &symbol);
                }
                _ => self.counts.malformed += 1,
            }
            return;
        }
        // `take` needs the whole engine. So the buffer is moved out of it and put back afterwards.
        let mut plain = std::mem::take(&mut self.connections.plain);
        if let Some((envelope, greeting)) = self.unseal(incoming.from, bytes, &mut plain) {
            match credit::decode(&plain) {
                Ok((_, message, length)) => {
                    let payload = plain.get(length..).unwrap_or_default();
                    let packet = Packet {
                        envelope,
                        bytes: bytes.len(),
                        greeting,
                    };
                    self.take(now, incoming, packet, &message, payload);
                }
                Err(_) => self.counts.malformed += 1,
            }
        }
        self.connections.plain = plain;
    }

    /// Decrypts a packet of a connection, or the first packet of a session.
    fn unseal(
        &mut self,
        from: SocketAddr,
        bytes: &[u8],
        plain: &mut Vec<u8>,
    ) -> Option<(Envelope, Option<Greeting>)> {
        let &[first, _, s0, s1, ref session @ ..] = bytes.first_chunk::<PREFIX_BYTES>()?;
        let kind = first & 0x0f;
        let envelope = Envelope {
            session: u64::from_be_bytes(*session),
            share: u16::from_be_bytes([s0, s1]),
        };
        let name = (envelope.session, envelope.share);
        let sessions = &self.incoming_sessions.sessions;
        let guest = sessions
            .get(&envelope.session)
            .and_then(|session| session.connection(envelope.share));
        let receiver = self.receiver(&envelope, from).map(|(_, id)| id);
        if kind == ECHO {
            // An echo belongs to no session of an object. The sender of the checks decrypts it.
            let group_checker = self.connections.group_checker.as_ref()?;
            group_checker.codec.open(envelope.session, bytes, plain)?;
            return Some((envelope, None));
        }
        // The kinds 0, 2, 4, 7 and 9 (symbol, offer, status, probe, proof) come from a sender.
        // Kind 6 (close) comes from either end. All other kinds come from a receiver.
        let candidates = match kind {
            // A check belongs to no session. So it is always the first packet of its origin.
            CHECK => [None; 2],
            0 | 2 | 4 | 7 | 9 => [guest, None],
            6 => [guest, receiver],
            _ => [None, receiver],
        };
        for id in candidates.into_iter().flatten() {
            let seal = self
                .connections
                .get_mut(id)
                .and_then(|connection| connection.seal.as_mut());
            if let Some(lacks_proof) = seal.and_then(|seal| seal.open(bytes, plain)) {
                if lacks_proof {
                    self.prove(id);
                }
                return Some((envelope, None));
            }
        }
        // In a known session, the packet must have the known salt. So it is not tried as a first packet.
        let is_first = matches!(kind, OFFER | CHECK) && candidates == [None; 2];
        let greeting = is_first.then(|| {
            let key = self.connections.key.as_ref()?;
            let (session, share) = name;
            open_first(key, session, share, Direction::Forward, bytes, plain)
        });
        match greeting.flatten() {
            Some(greeting) => Some((envelope, Some(greeting))),
            None => {
                self.counts.unknown += 1;
                None
            }
        }
    }

    /// Handles the header of a trimmed symbol. Any host that sees the packets of the session can forge this header.
    /// So the effect of the header must not be worse than the loss of the symbol.
    fn on_hint(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        envelope: &Envelope,
        symbol: &Symbol,
    ) {
        let known = self.guest(envelope, incoming.from);
        let is_due = known.is_some_and(|(_, id)| {
            let seal = self
                .connections
                .get(id)
                .and_then(|connection| connection.seal.as_ref());
            seal.is_some_and(|seal| symbol.number < seal.granted)
        });
        match is_due {
            true => self.on_symbol(now, incoming, envelope, symbol, &[], None),
            false => self.counts.unknown += 1,
        }
    }

    /// Handles the proof of a sender that it has the key.
    pub(super) fn on_proof_of_key(
        &mut self,
        now: Time,
        from: SocketAddr,
        envelope: &Envelope,
        proof: &[u8; 32],
    ) {
        let Some((flow, id)) = self.guest(envelope, from) else {
            self.counts.unknown += 1;
            return;
        };
        let seal = self
            .connections
            .get_mut(id)
            .and_then(|connection| connection.seal.as_mut());
        if !seal.is_some_and(|seal| seal.check(proof)) {
            self.counts.malformed += 1;
            return;
        }
        let session = self.incoming_sessions.sessions.get_mut(&envelope.session);
        // If the proof arrives a second time, the object must not be delivered again.
        if session.is_some_and(|session| std::mem::take(&mut session.waits)) {
            self.deliver(flow);
            self.say(id, &Message::Done { hash: 0 });
        }
        self.process_events(now);
    }
}
