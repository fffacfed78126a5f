//! Packets of version 2 that a host sends, and the answers of receivers.

use super::board::Stage;
use super::engine::Engine;
use super::lines::Line;
use super::outgoing::Kind;
use super::reason::Reason;
use super::sealing::OVERHEAD;
use super::staging::{Place, Staged};
use crate::udp::TrafficClass;
use std::net::SocketAddr;
use tailcut_transport::scdp::{ScdpHeader, ScdpKind};
use tailcut_transport::{Header, Segment, Transport};
use tailcut_units::{Duration, FlowId, HostId, Time};
use tailcut_wire::scdp::credit::{Envelope, LEAST_OFFER, Message, Offer};

/// Time that a sender has to answer a token before it gets another one.
const TOKEN_PAUSE: Duration = Duration::from_ms(20);
/// Tokens of one receiver that a sender answers, at most.
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
            self.put(to, class, &message, Place::Nowhere);
            return;
        };
        if header.kind == ScdpKind::Done {
            self.put(to, class, &message, Place::Nowhere);
            return;
        }
        let Some(outbound) = self.outgoing.get_mut(&segment.flow) else {
            return;
        };
        outbound.tuple = Some(segment.tuple);
        let group = outbound.group;
        let place = match header.kind {
            ScdpKind::Credited => match outbound.source(header.block, header.esi) {
                Some(range) => Some(Place::Object(segment.flow, range)),
                None => self.make_repair(segment.flow, header),
            },
            _ => Some(Place::Nowhere),
        };
        let Some(place) = place else {
            return;
        };
        match (to.is_group(), group) {
            (false, _) => self.put_word(now, to, class, &message, place),
            (true, Some(group)) => self.put_word(now, group, class, &message, place),
            (true, None) => {
                let receiver = |engine: &Self, at: usize| {
                    let outbound = engine.outgoing.get(&segment.flow)?;
                    outbound.lines.get(at).copied()
                };
                let mut at = 0;
                while let Some(id) = receiver(self, at) {
                    self.put_word(now, id, class, &message, place.clone());
                    at += 1;
                }
            }
        }
    }

    /// Sends a packet of the object's sender on one line.
    fn put_word(
        &mut self,
        now: Time,
        id: HostId,
        class: TrafficClass,
        message: &Message,
        place: Place,
    ) {
        let is_over = self.lines.get(id).is_none_or(|line| line.is_over);
        match message {
            _ if is_over => {}
            Message::Offer(offer) => self.put_offer(now, id, *offer),
            _ => self.put(id, class, message, place),
        }
    }

    /// Returns the place of a symbol's bytes. A repair symbol is encoded.
    pub(super) fn place_of(&mut self, flow: FlowId, header: &ScdpHeader) -> Option<Place> {
        let outbound = self.outgoing.get(&flow)?;
        match outbound.source(header.block, header.esi) {
            Some(range) => Some(Place::Object(flow, range)),
            None => self.make_repair(flow, header),
        }
    }

    fn make_repair(&mut self, flow: FlowId, header: &ScdpHeader) -> Option<Place> {
        let codes = self.codes();
        let outbound = self.outgoing.get_mut(&flow)?;
        let arena = &mut self.staging.arena;
        let from = arena.len();
        let made = outbound.repair(&codes, header.block, header.esi, arena);
        made.ok()?;
        Some(Place::Arena(from..self.staging.arena.len()))
    }

    fn put_offer(&mut self, now: Time, id: HostId, offer: Offer) {
        let sealed = self.lines.key.as_ref().map_or(0, |_| OVERHEAD as u16);
        let offer = Offer {
            stamp: (now.as_ns() / 100) as u32,
            padded: LEAST_OFFER - sealed,
            ..offer
        };
        if let Some(line) = self.lines.get_mut(id) {
            line.offer = Some(offer);
        }
        let class = TrafficClass::default();
        self.put(id, class, &Message::Offer(offer), Place::Nowhere);
    }

    /// Sends a packet without a payload on a line.
    pub(super) fn say(&mut self, id: HostId, message: &Message) {
        self.put(id, TrafficClass::default(), message, Place::Nowhere);
    }

    /// Sends the proof that this host has the key.
    pub(super) fn prove(&mut self, id: HostId) {
        let seal = self.lines.get(id).and_then(|line| line.seal.as_ref());
        if let Some(proof) = seal.and_then(|seal| seal.proof()) {
            self.say(id, &Message::Proof(proof));
        }
    }

    /// Informs the other end of a line that this host has closed the session.
    pub(super) fn close(&mut self, id: HostId, reason: Reason) {
        let reason = reason.number();
        self.say(id, &Message::Close { reason });
    }

    /// Sends a packet on a line. Drops it if more bytes would go to an address without validation
    /// than came from there.
    fn put(&mut self, id: HostId, class: TrafficClass, message: &Message, place: Place) {
        let Some(line) = self.lines.get_mut(id) else {
            return;
        };
        let envelope = Envelope {
            session: line.session,
            share: line.share,
        };
        let ends = (line.address, line.local);
        if let (Some(seal), Message::Pull(pull)) = (&mut line.seal, message) {
            seal.granted = pull.granted;
        }
        let group = line.seal.as_ref().map(|seal| seal.group);
        let in_doubt = line.doubt.is_some();
        let staged = match group.filter(|_| !matches!(message, Message::Retry(_))) {
            // Tokens are not encrypted, because a host may send them without any state of the
            // session.
            None => Staged::new(ends, class, &envelope, message, place),
            Some(group) => {
                let line = self.lines.get_mut(group.unwrap_or(id));
                let Some(seal) = line.and_then(|line| line.seal.as_mut()) else {
                    return;
                };
                let outgoing = &self.outgoing;
                let object = |flow: FlowId| Some(outgoing.get(&flow)?.bytes());
                let packet = (&envelope, message, place);
                self.staging.seal(seal, ends, class, packet, object)
            }
        };
        let Some(staged) = staged else {
            return;
        };
        if in_doubt && !self.may_send(id, staged.length()) {
            return;
        }
        self.staging.push(staged);
    }

    /// Takes `bytes` from the budget of an address that is not validated. Returns `false` if the
    /// budget is too small.
    fn may_send(&mut self, id: HostId, bytes: usize) -> bool {
        let doubt = self.lines.get_mut(id).and_then(|line| line.doubt.as_mut());
        let Some(doubt) = doubt else { return true };
        let left = doubt.budget.checked_sub(bytes as u64);
        doubt.budget = left.unwrap_or(doubt.budget);
        left.is_some()
    }

    /// Sends a token to a sender whose address is not validated. The sender must repeat its offer
    /// with the token.
    fn ask_for_proof(&mut self, now: Time, id: HostId) {
        let Some(line) = self.lines.get_mut(id) else {
            return;
        };
        let Some(doubt) = line.doubt.as_mut().filter(|doubt| now >= doubt.token_at) else {
            return;
        };
        doubt.token_at = now + TOKEN_PAUSE;
        let (address, session) = (line.address, line.session);
        let token = self.guests.tokens.issue(now, address, session);
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
            // Otherwise the receiver still waits for the proof of the key. It repeats this message
            // after it has checked the proof.
            Message::Done { .. } if self.is_believed(id) => {
                self.on_done(now, flow, id, Stage::Done);
            }
            Message::Pull(pull) => {
                let Some(outbound) = self.outgoing.get(&flow) else {
                    return;
                };
                outbound.note(id, pull.whole);
                outbound.count(id, pull.next, pull.lost);
                let Some(tuple) = outbound.answers_from(id) else {
                    return;
                };
                let header = Header::Credit(*pull);
                self.host
                    .on_segment(now, Segment::new(tuple, flow, 0, header));
                self.hear(now);
                self.watch(now, (flow, id), pull);
            }
            Message::ProbeAck { size, .. } => self.on_probe_ack((flow, id), *size),
            _ => {}
        }
    }

    /// Returns the flow and the line of a receiver, if the packet came from its address.
    pub(super) fn receiver(
        &self,
        envelope: &Envelope,
        from: SocketAddr,
    ) -> Option<(FlowId, HostId)> {
        let &(flow, last) = self.sent_to.get(&(envelope.session, envelope.share))?;
        let is_it = |id: &HostId| {
            let line: Option<&Line> = self.lines.get(*id);
            line.is_some_and(|line| line.address == from && !line.is_over)
        };
        let outbound = self.outgoing.get(&flow)?;
        // All receivers of a multicast group share one session.
        let id = match outbound.group {
            Some(_) => outbound.lines.iter().copied().find(is_it),
            None => Some(last).filter(is_it),
        };
        Some((flow, id?))
    }

    /// Returns whether a receiver has confirmed that this host has the key. Always true without a
    /// key.
    fn is_believed(&self, id: HostId) -> bool {
        let seal = self.lines.get(id).and_then(|line| line.seal.as_ref());
        seal.is_none_or(|seal| seal.is_proved())
    }

    /// Repeats the offer with a token of the receiver.
    fn on_token(&mut self, now: Time, flow: FlowId, id: HostId, token: [u8; 32]) {
        let Some(line) = self.lines.get_mut(id) else {
            return;
        };
        if line.tokens >= MOST_TOKENS {
            return;
        }
        line.tokens += 1;
        let to_group = self.outgoing.get(&flow).and_then(|outbound| outbound.group);
        let lines = [Some(id), to_group].into_iter().flatten();
        let mut offers = lines.filter_map(|id| self.lines.get(id)?.offer);
        let Some(offer) = offers.next() else {
            return;
        };
        let offer = Offer {
            token: Some(token),
            padded: 0,
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
        if let Some(line) = self.lines.get_mut(id) {
            line.is_over = true;
        }
        let header = Header::Scdp(ScdpHeader {
            kind: ScdpKind::Done,
            ..ScdpHeader::default()
        });
        self.host
            .on_segment(now, Segment::new(tuple, flow, 0, header));
        self.hear(now);
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

    /// Handles a sender that sends no more. If there are other senders, the transfer goes on.
    fn lose_sender(&mut self, now: Time, (flow, _): (FlowId, HostId), envelope: &Envelope) {
        let senders = self.guests.sessions.get(&envelope.session);
        let is_only = senders.is_some_and(|session| session.lines.len() == 1);
        if is_only && self.incoming.contains_key(&flow) {
            self.refuse(now, envelope.session, Reason::Cancelled);
        }
    }

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
            // If the receiver has not answered yet, the transport repeats the offer by itself.
            (false, true) if !outbound.was_heard(id) => {}
            (false, _) => self.on_done(now, flow, id, Stage::Failed(failure)),
        }
    }
}
