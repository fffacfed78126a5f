//! Packets of version 2 that a sender sends, and the answers of receivers.

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

/// Time after which a receiver sends another token to a sender that has not answered.
/// With a shorter time, the receiver would send tokens while the first answer is still on the path.
/// With a longer time, a lost token delays the object more.
const TOKEN_PAUSE: Duration = Duration::from_ms(20);
/// Largest number of tokens that a sender answers for each receiver. A receiver sends at most one token in 20 ms.
/// So this number is enough for round trips of more than a second.
const MOST_TOKENS: u32 = 64;

impl Engine {
    /// Encodes a segment as a datagram of version 2. If this fails, the segment is dropped.
    pub(super) fn stage(&mut self, now: Time, segment: &Segment) {
        let Some(message) = Message::of(&segment.header, segment.priority) else {
            return;
        };
        let class = TrafficClass::default().with_ecn(segment.ecn);
        let to = segment.tuple.dst;
        let Header::Scdp(header) = &segment.header else {
            // This segment grants credits. The token must be sent first.
            // If the symbols for these credits arrive long before the answer to the token, the receiver drops them.
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
        // The transport always treats several receivers as one group.
        // Without a multicast address, each receiver gets its own copy.
        match (to.is_group(), group) {
            (false, _) => self.put_word(now, to, class, &message, payload),
            (true, Some(group)) => self.put_word(now, group, class, &message, payload),
            (true, None) => {
                // `put_word` needs the whole engine. So each step of the loop looks up the next receiver.
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

    /// Sends a packet from the sender of an object on one connection.
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

    /// Returns the source of a symbol's bytes. Encodes the symbol if it is a repair symbol.
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
            // The stamp counts units of 100 ns modulo 2^32. So the upper bits are dropped.
            stamp: (now.as_ns() / 100) as u32,
            // The encrypted datagram must have the smallest size of an offer.
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

    /// Sends the proof that this host has the key, on a connection.
    pub(super) fn prove(&mut self, id: HostId) {
        let seal = self
            .connections
            .get(id)
            .and_then(|connection| connection.seal.as_ref());
        if let Some(proof) = seal.and_then(|seal| seal.proof()) {
            self.say(id, &Message::Proof(proof));
        }
    }

    /// Sends a close message with a reason to the other end of a connection.
    pub(super) fn close(&mut self, id: HostId, reason: Reason) {
        let reason = reason.number();
        self.say(id, &Message::Close { reason });
    }

    /// Sends a packet on a connection. An address that is not validated must not get more bytes than it has sent.
    /// The packet is dropped if it would exceed this limit.
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
            // `on_hint` needs this number. It accepts a trimmed symbol only if its credit was granted.
            seal.granted = pull.granted;
        }
        let group = connection.seal.as_ref().map(|seal| seal.group);
        let is_unvalidated = connection.unvalidated.is_some();
        let staged = match group.filter(|_| !matches!(message, Message::Retry(_))) {
            // Tokens are not encrypted, because a host may send a token without any state of the session.
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
        // The budget is checked last, because the length is known only after the encryption.
        if is_unvalidated && !self.may_send(id, staged.length()) {
            return;
        }
        self.staging.push(staged);
    }

    /// Subtracts `bytes` from the budget of an address that is not validated.
    /// Returns `false` if the budget is too small.
    fn may_send(&mut self, id: HostId, bytes: usize) -> bool {
        let unvalidated = self
            .connections
            .get_mut(id)
            .and_then(|connection| connection.unvalidated.as_mut());
        let Some(unvalidated) = unvalidated else {
            return true;
        };
        // A packet that exceeds the budget will be dropped. So it does not reduce the budget.
        let left = unvalidated.budget.checked_sub(bytes as u64);
        unvalidated.budget = left.unwrap_or(unvalidated.budget);
        left.is_some()
    }

    /// Sends a token to a sender whose address is not validated. The sender must send its offer again with this token.
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
            // If the receiver still waits for the proof of the key, this message is ignored.
            // The receiver repeats the message after it has checked the proof.
            Message::Done { .. } if self.is_believed(id) => {
                self.on_done(now, flow, id, Stage::Done);
            }
            Message::Pull(pull) => {
                let Some(outbound) = self.outgoing.get(&flow) else {
                    return;
                };
                // The progress is stored first, because the transport may end the transfer.
                outbound.note(id, pull.whole);
                outbound.count(id, pull.next, pull.lost);
                let Some(tuple) = outbound.answers_from(id) else {
                    return;
                };
                // A single receiver cannot delay another one.
                if outbound.connections.len() > 1
                    && let Some(held) = self.host.held_up_by(&tuple)
                {
                    outbound.hold(id, held);
                }
                let header = Header::Credit(*pull);
                self.host
                    .on_segment(now, Segment::new(tuple, flow, 0, header));
                self.process_events(now);
                // `watch` is called last, because it may restart the transfer with smaller symbols.
                self.watch(now, (flow, id), pull);
            }
            Message::ProbeAck { size, .. } => self.on_probe_ack((flow, id), *size),
            _ => {}
        }
    }

    /// Stops sending an object to the receiver with index `at`, so that the others need not wait for it.
    /// Has no effect before the first packet.
    pub(super) fn leave_out(&mut self, now: Time, flow: FlowId, at: usize) {
        let now = self.at(now);
        let outbound = self.outgoing.get(&flow);
        // Without a tuple, no packet was sent, so no receiver knows the session.
        let outbound = outbound.filter(|outbound| outbound.tuple.is_some());
        let id = outbound.and_then(|outbound| outbound.connections.get(at).copied());
        if let Some(id) = id {
            self.close(id, Reason::Cancelled);
            self.on_done(now, flow, id, Stage::Dropped);
        }
    }

    /// Returns the flow number and the connection of a receiver.
    /// Returns `None` if the packet did not come from its address.
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
        // The receivers of a multicast group have the same session. Their addresses identify them.
        let id = match outbound.group {
            Some(_) => outbound.connections.iter().copied().find(is_it),
            None => Some(last).filter(is_it),
        };
        Some((flow, id?))
    }

    /// Returns whether a receiver has confirmed that this host has the key. Always `true` if there is no key.
    fn is_believed(&self, id: HostId) -> bool {
        let seal = self
            .connections
            .get(id)
            .and_then(|connection| connection.seal.as_ref());
        seal.is_none_or(|seal| seal.is_proved())
    }

    /// Answers a token of a receiver: sends the offer again with the token.
    fn on_token(&mut self, now: Time, flow: FlowId, id: HostId, token: [u8; 32]) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        // Any host can forge tokens, and each answer costs a packet. So the number of answers is limited.
        if connection.tokens >= MOST_TOKENS {
            return;
        }
        connection.tokens += 1;
        // The offer to a multicast group is stored at the connection of the group.
        let to_group = self.outgoing.get(&flow).and_then(|outbound| outbound.group);
        let connections = [Some(id), to_group].into_iter().flatten();
        let mut offers = connections.filter_map(|id| self.connections.get(id)?.offer);
        let Some(offer) = offers.next() else {
            return;
        };
        let offer = Offer {
            token: Some(token),
            // The token validates the address, so the offer needs no padding.
            padded: 0,
            // The stamp counts units of 100 ns, as in `put_offer`.
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
        // After a failure, too, the transport must stop sending to this receiver.
        // The failure is stored in `progress`, and `on_closed` reads it there.
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

    /// Handles a sender that has stopped. If there are other senders, the transfer continues.
    /// If all of several senders stop, the timeouts of the transport end the session.
    fn lose_sender(&mut self, now: Time, (flow, _): (FlowId, HostId), envelope: &Envelope) {
        let senders = self.incoming_sessions.sessions.get(&envelope.session);
        let is_only = senders.is_some_and(|session| session.connections.len() == 1);
        // A delivered object has no entry in `incoming` any more.
        if is_only && self.incoming.contains_key(&flow) {
            self.refuse(now, envelope.session, Reason::Cancelled);
        }
    }

    /// Handles a receiver that has refused the object.
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
            // Before the receiver's first answer, the transport itself repeats the offer.
            (false, true) if !outbound.was_heard(id) => {}
            (false, _) => self.on_done(now, flow, id, Stage::Failed(failure)),
        }
    }
}
