//! Checks test whether an endpoint can be reached (docs/wire/scdp.md).
//! An endpoint answers the checks of other hosts without storing anything about them.
//! An endpoint sends checks to a multicast group to find the endpoints that receive from the group.

use super::check_codec::{CheckCodec, GroupChecker, GroupListeners};
use super::engine::Engine;
use super::sealing::Seal;
use super::staging::{PayloadSource, Staged, ZEROS};
use super::unsealing::Packet;
use crate::udp::{Incoming, TrafficClass};
use std::net::SocketAddr;
use tailcut_units::Time;
use tailcut_wire::scdp::credit::{self, Check, Echo, Envelope, Message};

/// Size of the buffer for an echo's header in bytes. An echo without padding needs 40 bytes.
const HEAD: usize = 64;

impl Engine {
    /// Answers a check with an echo. The endpoint stores nothing about the sender, whose address may be forged.
    /// So an answer is never longer than the check. A check with another key gets no answer.
    pub(super) fn on_check(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        packet: Packet,
        check: &Check,
    ) {
        let local = incoming.ancillary.to.filter(|to| !to.is_multicast());
        // The kernel reports the destination of each packet.
        // The filter above removes the address only if it is a group.
        let is_group = local.is_none() && incoming.ancillary.to.is_some();
        let answers = match is_group {
            true => &mut self.incoming_sessions.group_answers,
            false => &mut self.incoming_sessions.answers,
        };
        if !answers.take(now) {
            return;
        }
        let echo = Message::Echo(Echo {
            number: check.number,
            seen: incoming.from,
            buffer: self.incoming_sessions.receive_buffer,
            class: incoming.class().0,
            is_group,
            // The padding is sent as a payload of zeros. So the header has no padding.
            padded: 0,
        });
        let mut head = [0; HEAD];
        let Ok(length) = credit::encode(&packet.envelope, &echo, &mut head) else {
            return;
        };
        let zeros = match check.is_full {
            true => usize::from(check.size).saturating_sub(length),
            false => 0,
        };
        let (Some(head), Some(zeros)) = (head.get(..length), ZEROS.get(..zeros)) else {
            return;
        };
        let ends = (incoming.from, local);
        let class = TrafficClass(check.class);
        let staged = match (&self.connections.key, packet.greeting) {
            (None, _) => Staged::of(ends, class, PayloadSource::Zeros(zeros.len()), |header| {
                credit::encode(&packet.envelope, &echo, header)
            }),
            // This case does not occur. With a key, `unseal` accepts only checks with a greeting.
            (Some(_), None) => None,
            (Some(key), Some(peer)) => {
                let Envelope { session, share } = packet.envelope;
                let seal = Seal::new(key, session, share, Some(peer)).ok();
                let arena = &mut self.staging.arena;
                let sealed = seal.and_then(|mut seal| seal.seal(head, zeros, arena));
                sealed.and_then(|range| {
                    Staged::of(ends, class, PayloadSource::Arena(range), |_| Ok(0))
                })
            }
        };
        self.staging.answer(staged);
    }

    /// Sends a check to a multicast group. Answers are added to `listeners`.
    pub(super) fn check_group(&mut self, group: SocketAddr, listeners: GroupListeners) {
        // Paper mode uses version 1 of the header, which has no checks.
        if self.is_paper() {
            return;
        }
        // An endpoint uses the same list in all calls. So the list of the first call is kept.
        if self.connections.group_checker.is_none() {
            let Ok(codec) = CheckCodec::new(self.connections.key.as_ref()) else {
                return;
            };
            self.connections.group_checker = Some(GroupChecker::new(codec, listeners));
        }
        let group_checker = self.connections.group_checker.as_mut();
        let Some(datagram) = group_checker.and_then(GroupChecker::next) else {
            return;
        };
        let from = self.staging.arena.len();
        self.staging.arena.extend_from_slice(&datagram);
        let payload = PayloadSource::Arena(from..self.staging.arena.len());
        let class = TrafficClass::default();
        let staged = Staged::of((group, None), class, payload, |_| Ok(0));
        self.staging.answer(staged);
    }

    /// Handles an echo: the answer of another endpoint to a check.
    pub(super) fn on_echo(&mut self, from: SocketAddr, envelope: &Envelope, echo: &Echo) {
        // Without `is_group`, the echo answers a check that did not arrive by the group.
        // So the echo does not show that the endpoint receives from the group.
        match &self.connections.group_checker {
            Some(group_checker) if group_checker.codec.is_of(envelope.session) && echo.is_group => {
                group_checker.listeners.add(from);
            }
            _ => self.counts.unknown += 1,
        }
    }
}
