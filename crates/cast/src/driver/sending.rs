//! Packets of version 2 that a host sends, and the answers from receivers.

use super::connections::Connection;
use super::engine::Engine;
use super::outgoing::Kind;
use super::reason::Reason;
use super::sealing::OVERHEAD;
use super::shared_progress::Stage;
use super::staging::{PayloadSource, Staged};
use crate::udp::TrafficClass;
use std::net::SocketAddr;
use tailcut_transport::scdp::{ScdpHeader, ScdpKind};
use tailcut_transport::{Header, Segment, Transport};
use tailcut_units::{Duration, FlowId, HostId, Time};
use tailcut_wire::scdp::credit::{Envelope, LEAST_OFFER, Message, Offer};

/// Time that a sender has for its answer to a token. After this time it gets another token. With a shorter
/// time, a receiver would send tokens while the answer to the first one is on its way. With a longer time,
/// a lost token delays the object more.
const TOKEN_PAUSE: Duration = Duration::from_ms(20);
/// Largest number of tokens of one receiver that a sender answers. A receiver sends at most one token
/// in 20 ms, so this number covers round trips of more than a second.
const MOST_TOKENS: u32 = 64;

impl Engine {
    /// Encodes the header of a segment and finds its payload. If that fails, the segment is
    /// dropped.
    pub(super) fn stage(&mut self, now: Time, segment: &Segment) {
        let Some(message) = Message::of(&segment.header, segment.priority) else {
            return;
        };
        let class = TrafficClass::default().with_ecn(segment.ecn);
        let to = segment.tuple.dst;
        let Header::Scdp(header) = &segment.header else {
            // This segment grants credits. The token must leave first: a receiver drops the symbols
            // for these credits if they arrive long before the answer to the token.
            self.ask_for_proof(now, to);
            self.put(to, class, &message, PayloadSource::Nowhere);
            return;
        };
        if header.kind == ScdpKind::Done {
            self.put(to, class, &message, PayloadSource::Nowhere);
            return;
        }
        let Some(outbound) = self.outgoing.get_mut(&segment.flow) else {
            return;
        };
        outbound.tuple = Some(segment.tuple);
        let group = outbound.group;
        let payload = match header.kind {
            ScdpKind::Credited => match outbound.source(header.block, header.esi) {
                Some(range) => Some(PayloadSource::Object(segment.flow, range)),
                None => self.make_repair(segment.flow, header),
            },
            _ => Some(PayloadSource::Nowhere),
        };
        let Some(payload) = payload else {
            return;
        };
        // For the transport, several receivers are always one group. Without a multicast address, each receiver
        // gets its own copy.
        match (to.is_group(), group) {
            (false, _) => self.put_word(now, to, class, &message, payload),
            (true, Some(group)) => self.put_word(now, group, class, &message, payload),
            (true, None) => {
                // `put_word` changes the engine, so the loop looks up each receiver anew.
                let receiver = |engine: &Self, at: usize| {
                    let outbound = engine.outgoing.get(&segment.flow)?;
                    outbound.connections.get(at).copied()
                };
                let mut at = 0;
                while let Some(id) = receiver(self, at) {
                    self.put_word(now, id, class, &message, payload.clone());
                    at += 1;
                }
            }
        }
    }

    /// Sends a packet of the object's sender on one connection.
    fn put_word(
        &mut self,
        now: Time,
        id: HostId,
        class: TrafficClass,
        message: &Message,
        payload: PayloadSource,
    ) {
        let is_over = self
            .connections
            .get(id)
            .is_none_or(|connection| connection.is_over);
        match message {
            _ if is_over => {}
            Message::Offer(offer) => self.put_offer(now, id, *offer),
            _ => self.put(id, class, message, payload),
        }
    }

    /// Returns the source of a symbol's bytes. A repair symbol is encoded.
    pub(super) fn payload_of(
        &mut self,
        flow: FlowId,
        header: &ScdpHeader,
    ) -> Option<PayloadSource> {
        let outbound = self.outgoing.get(&flow)?;
        match outbound.source(header.block, header.esi) {
            Some(range) => Some(PayloadSource::Object(flow, range)),
            None => self.make_repair(flow, header),
        }
    }

    fn make_repair(&mut self, flow: FlowId, header: &ScdpHeader) -> Option<PayloadSource> {
        let codes = self.codes();
        let outbound = self.outgoing.get_mut(&flow)?;
        let arena = &mut self.staging.arena;
        let from = arena.len();
        let made = outbound.repair(&codes, header.block, header.esi, arena);
        made.ok()?;
        Some(PayloadSource::Arena(from..self.staging.arena.len()))
    }

    fn put_offer(&mut self, now: Time, id: HostId, offer: Offer) {
        let sealed = self.connections.key.as_ref().map_or(0, |_| OVERHEAD as u16);
        let offer = Offer {
            // The stamp has units of 100 ns, modulo 2^32, so the conversion drops the upper bits.
            stamp: (now.as_ns() / 100) as u32,
            // The datagram must have the least size with its encryption.
            padded: LEAST_OFFER - sealed,
            ..offer
        };
        if let Some(connection) = self.connections.get_mut(id) {
            connection.offer = Some(offer);
        }
        let class = TrafficClass::default();
        self.put(id, class, &Message::Offer(offer), PayloadSource::Nowhere);
    }

    /// Sends a packet without a payload on a connection.
    pub(super) fn say(&mut self, id: HostId, message: &Message) {
        self.put(id, TrafficClass::default(), message, PayloadSource::Nowhere);
    }

    /// Sends the proof that this host has the key.
    pub(super) fn prove(&mut self, id: HostId) {
        let seal = self
            .connections
            .get(id)
            .and_then(|connection| connection.seal.as_ref());
        if let Some(proof) = seal.and_then(|seal| seal.proof()) {
            self.say(id, &Message::Proof(proof));
        }
    }

    /// Informs the other end of a connection that this host has closed the session.
    pub(super) fn close(&mut self, id: HostId, reason: Reason) {
        let reason = reason.number();
        self.say(id, &Message::Close { reason });
    }

    /// Sends a packet on a connection. Drops it if more bytes would go to an address without
    /// validation than came from there.
    fn put(&mut self, id: HostId, class: TrafficClass, message: &Message, payload: PayloadSource) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        let envelope = Envelope {
            session: connection.session,
            share: connection.share,
        };
        let ends = (connection.address, connection.local);
        if let (Some(seal), Message::Pull(pull)) = (&mut connection.seal, message) {
            // `on_hint` accepts a trimmed symbol only if its credit was granted.
            seal.granted = pull.granted;
        }
        let group = connection.seal.as_ref().map(|seal| seal.group);
        let is_unvalidated = connection.unvalidated.is_some();
        let staged = match group.filter(|_| !matches!(message, Message::Retry(_))) {
            // A host may send a token without any state of the session, so tokens are not encrypted.
            None => Staged::new(ends, class, &envelope, message, payload),
            Some(group) => {
                let connection = self.connections.get_mut(group.unwrap_or(id));
                let Some(seal) = connection.and_then(|connection| connection.seal.as_mut()) else {
                    return;
                };
                let outgoing = &self.outgoing;
                let object = |flow: FlowId| Some(outgoing.get(&flow)?.bytes());
                let packet = (&envelope, message, payload);
                self.staging.seal(seal, ends, class, packet, object)
            }
        };
        let Some(staged) = staged else {
            return;
        };
        // The length is known only after the encryption, so this check comes last.
        if is_unvalidated && !self.may_send(id, staged.length()) {
            return;
        }
        self.staging.push(staged);
    }

    /// Takes `bytes` from the budget of an address that is not validated. Returns `false` if the
    /// budget is too small.
    fn may_send(&mut self, id: HostId, bytes: usize) -> bool {
        let unvalidated = self
            .connections
            .get_mut(id)
            .and_then(|connection| connection.unvalidated.as_mut());
        let Some(unvalidated) = unvalidated else {
            return true;
        };
        // A packet that exceeds the budget is dropped, so it takes nothing from the budget.
        let left = unvalidated.budget.checked_sub(bytes as u64);
        unvalidated.budget = left.unwrap_or(unvalidated.budget);
        left.is_some()
    }

    /// Sends a token to a sender whose address is not validated. The sender must repeat its offer
    /// with the token.
    fn ask_for_proof(&mut self, now: Time, id: HostId) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        let Some(unvalidated) = connection
            .unvalidated
            .as_mut()
            .filter(|unvalidated| now >= unvalidated.token_at)
        else {
            return;
        };
        unvalidated.token_at = now + TOKEN_PAUSE;
        let (address, session) = (connection.address, connection.session);
        let token = self.incoming_sessions.tokens.issue(now, address, session);
        self.counts.tokens += 1;
        self.say(id, &Message::Retry(token));
    }

    /// Handles an answer of a receiver.
    pub(super) fn on_answer(
        &mut self,
        now: Time,
        from: SocketAddr,
        envelope: &Envelope,
        message: &Message,
    ) {
        let Some((flow, id)) = self.receiver(envelope, from) else {
            self.counts.unknown += 1;
            return;
        };
        match message {
            Message::Retry(token) => self.on_token(now, flow, id, *token),
            // Without `is_believed`, the receiver still waits for the proof of the key. It repeats this
            // message after it has checked the proof.
            Message::Done { .. } if self.is_believed(id) => {
                self.on_done(now, flow, id, Stage::Done);
            }
            Message::Pull(pull) => {
                let Some(outbound) = self.outgoing.get(&flow) else {
                    return;
                };
                // The progress is recorded first, because the transport may end the transfer.
                outbound.note(id, pull.whole);
                outbound.count(id, pull.next, pull.lost);
                let Some(tuple) = outbound.answers_from(id) else {
                    return;
                };
                let header = Header::Credit(*pull);
                self.host
                    .on_segment(now, Segment::new(tuple, flow, 0, header));
                self.process_events(now);
                // This comes last, because it may restart the transfer with smaller symbols.
                self.watch(now, (flow, id), pull);
            }
            Message::ProbeAck { size, .. } => self.on_probe_ack((flow, id), *size),
            _ => {}
        }
    }

    /// Returns the flow and the connection of a receiver, if the packet came from its address.
    pub(super) fn receiver(
        &self,
        envelope: &Envelope,
        from: SocketAddr,
    ) -> Option<(FlowId, HostId)> {
        let &(flow, last) = self.sent_to.get(&(envelope.session, envelope.share))?;
        let is_it = |id: &HostId| {
            let connection: Option<&Connection> = self.connections.get(*id);
            connection.is_some_and(|connection| connection.address == from && !connection.is_over)
        };
        let outbound = self.outgoing.get(&flow)?;
        // All receivers of a multicast group share one session.
        let id = match outbound.group {
            Some(_) => outbound.connections.iter().copied().find(is_it),
            None => Some(last).filter(is_it),
        };
        Some((flow, id?))
    }

    /// Returns whether a receiver has confirmed that this host has the key. Always true without a
    /// key.
    fn is_believed(&self, id: HostId) -> bool {
        let seal = self
            .connections
            .get(id)
            .and_then(|connection| connection.seal.as_ref());
        seal.is_none_or(|seal| seal.is_proved())
    }

    /// Repeats the offer with a token of the receiver.
    fn on_token(&mut self, now: Time, flow: FlowId, id: HostId, token: [u8; 32]) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        // Anyone can forge a token, and each answer costs a packet.
        if connection.tokens >= MOST_TOKENS {
            return;
        }
        connection.tokens += 1;
        // An offer to a multicast group was sent on the group's connection.
        let to_group = self.outgoing.get(&flow).and_then(|outbound| outbound.group);
        let connections = [Some(id), to_group].into_iter().flatten();
        let mut offers = connections.filter_map(|id| self.connections.get(id)?.offer);
        let Some(offer) = offers.next() else {
            return;
        };
        let offer = Offer {
            token: Some(token),
            // An offer with a token may be short, because the token validates the address.
            padded: 0,
            // The stamp has units of 100 ns, as in `put_offer`.
            stamp: (now.as_ns() / 100) as u32,
            ..offer
        };
        self.say(id, &Message::Offer(offer));
    }

    /// Handles the end of the transfer to one receiver.
    fn on_done(&mut self, now: Time, flow: FlowId, id: HostId, stage: Stage) {
        let Some(outbound) = self.outgoing.get(&flow) else {
            return;
        };
        let all = (stage == Stage::Done).then(|| outbound.bytes().len() as u64);
        outbound.set(id, all, stage);
        let Some(tuple) = outbound.answers_from(id) else {
            return;
        };
        if let Some(connection) = self.connections.get_mut(id) {
            connection.is_over = true;
        }
        // Also after a failure, the transport only has to stop sending to this receiver. `progress` keeps
        // the failure, and `on_closed` reads it.
        let header = Header::Scdp(ScdpHeader {
            kind: ScdpKind::Done,
            ..ScdpHeader::default()
        });
        self.host
            .on_segment(now, Segment::new(tuple, flow, 0, header));
        self.process_events(now);
    }

    /// Handles a close message of the other end.
    pub(super) fn on_close(
        &mut self,
        now: Time,
        from: SocketAddr,
        envelope: &Envelope,
        reason: Reason,
    ) {
        if let Some((flow, id)) = self.guest(envelope, from) {
            self.lose_sender(now, (flow, id), envelope);
        } else if let Some((flow, id)) = self.receiver(envelope, from) {
            self.lose_receiver(now, (flow, id), reason);
        } else {
            self.counts.unknown += 1;
        }
    }

    /// Handles a sender that stops sending. If there are other senders, the transfer goes on. Lost senders are
    /// not counted: if all of several senders stop, the timeouts of the transport end the session.
    fn lose_sender(&mut self, now: Time, (flow, _): (FlowId, HostId), envelope: &Envelope) {
        let senders = self.incoming_sessions.sessions.get(&envelope.session);
        let is_only = senders.is_some_and(|session| session.connections.len() == 1);
        // An object that is delivered has no entry in `incoming`.
        if is_only && self.incoming.contains_key(&flow) {
            self.refuse(now, envelope.session, Reason::Cancelled);
        }
    }

    /// Handles a receiver that does not accept the object.
    pub(super) fn lose_receiver(
        &mut self,
        now: Time,
        (flow, id): (FlowId, HostId),
        reason: Reason,
    ) {
        let Some(outbound) = self.outgoing.get(&flow) else {
            return;
        };
        let is_one = matches!(outbound.task.kind, Kind::One | Kind::Share(..));
        let failure = reason.failure();
        match (is_one, reason.is_for_now()) {
            (true, true) => self.restart(now, flow, failure),
            (true, false) => {
                outbound.set(id, None, Stage::Failed(failure));
                self.fail(now, flow, failure);
            }
            // Until the receiver's first answer, the transport repeats the offer by itself.
            (false, true) if !outbound.was_heard(id) => {}
            (false, _) => self.on_done(now, flow, id, Stage::Failed(failure)),
        }
    }
}
