//! Checks (docs/wire/scdp.md). An endpoint answers checks of other hosts and keeps no state for
//! them. It also sends checks to multicast groups to find out which endpoints receive from the
//! group.

use super::engine::Engine;
use super::sealing::Seal;
use super::staging::{Place, Staged, ZEROS};
use super::unsealing::Packet;
use super::words::{Asker, Hearers, Words};
use crate::udp::{Incoming, TrafficClass};
use std::net::SocketAddr;
use tailcut_units::Time;
use tailcut_wire::scdp::credit::{self, Check, Echo, Envelope, Message};

/// Buffer size for the header of an echo, in bytes.
const HEAD: usize = 64;

impl Engine {
    /// Answers a check with an echo. The endpoint keeps no state for the sender of a check. So an
    /// answer is never longer than the check, and a check under another key gets no answer.
    pub(super) fn on_check(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        packet: Packet,
        check: &Check,
    ) {
        let local = incoming.told.to.filter(|to| !to.is_multicast());
        let is_group = local.is_none() && incoming.told.to.is_some();
        let answers = match is_group {
            true => &mut self.guests.group_answers,
            false => &mut self.guests.answers,
        };
        if !answers.take(now) {
            return;
        }
        let echo = Message::Echo(Echo {
            number: check.number,
            seen: incoming.from,
            buffer: self.guests.receive_buffer,
            class: incoming.class().0,
            is_group,
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
        let staged = match (&self.lines.key, packet.greeting) {
            (None, _) => Staged::of(ends, class, Place::Zeros(zeros.len()), |header| {
                credit::encode(&packet.envelope, &echo, header)
            }),
            (Some(_), None) => None,
            (Some(key), Some(peer)) => {
                let Envelope { session, share } = packet.envelope;
                let seal = Seal::new(key, session, share, Some(peer)).ok();
                let arena = &mut self.staging.arena;
                let sealed = seal.and_then(|mut seal| seal.seal(head, zeros, arena));
                sealed.and_then(|range| Staged::of(ends, class, Place::Arena(range), |_| Ok(0)))
            }
        };
        self.staging.answer(staged);
    }

    /// Sends a check to a multicast group. Answers are added to `hearers`.
    pub(super) fn ask(&mut self, group: SocketAddr, hearers: Hearers) {
        if self.is_paper() {
            return;
        }
        if self.lines.asker.is_none() {
            let Ok(words) = Words::new(self.lines.key.as_ref()) else {
                return;
            };
            self.lines.asker = Some(Asker::new(words, hearers));
        }
        let asker = self.lines.asker.as_mut();
        let Some(datagram) = asker.and_then(Asker::next) else {
            return;
        };
        let from = self.staging.arena.len();
        self.staging.arena.extend_from_slice(&datagram);
        let place = Place::Arena(from..self.staging.arena.len());
        let class = TrafficClass::default();
        let staged = Staged::of((group, None), class, place, |_| Ok(0));
        self.staging.answer(staged);
    }

    /// Handles an echo, which is another endpoint's answer to a check.
    pub(super) fn on_echo(&mut self, from: SocketAddr, envelope: &Envelope, echo: &Echo) {
        match &self.lines.asker {
            Some(asker) if asker.words.is_of(envelope.session) && echo.is_group => {
                asker.hearers.add(from);
            }
            _ => self.counts.unknown += 1,
        }
    }
}
