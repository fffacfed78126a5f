//! The paper's mode: version 1 of the header, for networks that trim and hosts that trust each
//! other. A session is identified by its address and its flow number. Addresses are not validated.

use super::board::Stage;
use super::engine::Engine;
use super::incoming::Inbound;
use super::lines::Line;
use super::staging::{Place, Staged};
use crate::udp::{Incoming, TrafficClass};
use std::net::SocketAddr;
use tailcut_transport::scdp::{Object, ScdpHeader, ScdpKind};
use tailcut_transport::{Condition, Header, Segment, Transport};
use tailcut_units::{FiveTuple, FlowId, HostId, Time};
use tailcut_wire::scdp::paper::{SYMBOL_BYTES, SYN_BYTES};
use tailcut_wire::{decode, encode};

/// Sessions that may be kept before the engine looks for sessions that the transport has dropped.
const REMEMBERED: usize = 1_024;

/// Rewrites the header of a trimmed symbol that opens a session. A switch trims to the bytes that
/// every symbol has, so the options of the opening symbol are lost. The result is the header of a
/// symbol that does not open a session. Returns `None` for all other packets.
fn without_options(bytes: &[u8]) -> Option<[u8; SYMBOL_BYTES]> {
    let mut left: [u8; SYMBOL_BYTES] = bytes.try_into().ok()?;
    let is_cut = usize::from(left[2]) == SYN_BYTES && left[3] == 0 && left[4] & 1 == 1;
    left[2] = SYMBOL_BYTES as u8;
    left[4] &= !1;
    is_cut.then_some(left)
}

impl Engine {
    /// Handles a datagram of version 1.
    pub(super) fn on_paper(&mut self, now: Time, incoming: &Incoming<'_>, bytes: &[u8]) {
        let ecn = incoming.class().ecn();
        let read = decode(FiveTuple::default(), ecn, bytes);
        let read = read.or_else(|error| {
            let left = without_options(bytes).ok_or(error)?;
            decode(FiveTuple::default(), ecn, &left)
        });
        let Ok((segment, length)) = read else {
            self.counts.malformed += 1;
            return;
        };
        let Header::Scdp(header) = segment.header else {
            self.counts.malformed += 1;
            return;
        };
        let payload = bytes.get(length..).unwrap_or_default();
        match header.kind {
            ScdpKind::Symbol => self.on_paper_symbol(now, incoming, segment, &header, payload),
            ScdpKind::Pull | ScdpKind::Done => {
                self.on_feedback(now, incoming.from, segment, &header)
            }
            // These kinds exist in version 2 only.
            ScdpKind::Credited | ScdpKind::Offer | ScdpKind::Status => self.counts.malformed += 1,
        }
    }

    /// Handles a pull or a completion message from a receiver.
    fn on_feedback(&mut self, now: Time, from: SocketAddr, segment: Segment, header: &ScdpHeader) {
        let outbound = self.outgoing.get(&segment.flow);
        let answers = outbound.and_then(|outbound| {
            let is_from = |id: &&HostId| {
                self.lines
                    .get(**id)
                    .is_some_and(|line| line.address == from)
            };
            let id = outbound.lines.iter().find(is_from)?;
            match header.kind {
                ScdpKind::Done => {
                    let all = outbound.bytes().len() as u64;
                    outbound.set(*id, Some(all), Stage::Done);
                }
                _ => outbound.note(*id, header.blocks),
            }
            outbound.answers_from(*id)
        });
        let Some(tuple) = answers else {
            self.counts.unknown += 1;
            return;
        };
        self.host.on_segment(now, Segment { tuple, ..segment });
        self.hear(now);
    }

    fn on_paper_symbol(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        segment: Segment,
        header: &ScdpHeader,
        payload: &[u8],
    ) {
        let name = (incoming.from, segment.flow);
        let mut known = self.guests.paper.get(&name).copied();
        if let Some((id, flow)) = known.filter(|(_, flow)| !self.incoming.contains_key(flow)) {
            // If the transport has dropped the session, the same flow number means another object.
            let tuple = self.guests.tuple(id, self.config.port);
            if self.host.receiving(&tuple).is_none_or(|(at, _)| at != flow) {
                self.guests.paper.remove(&name);
                self.lines.remove(id);
                known = None;
            }
        }
        let Some((id, flow)) = known else {
            match header.syn {
                true => self.on_paper_session(now, incoming, segment, header, payload),
                false => self.counts.unknown += 1,
            }
            return;
        };
        if let Some(inbound) = self.incoming.get_mut(&flow) {
            if inbound.payload(header.block, header.esi) != Some(segment.payload as usize) {
                self.counts.malformed += 1;
                return;
            }
            match segment.condition {
                Condition::Whole => {
                    inbound.put(header.block, header.esi, payload);
                }
                _ => self.counts.trimmed += 1,
            }
        }
        let tuple = self.guests.tuple(id, self.config.port);
        self.host.on_segment(now, Segment { tuple, ..segment });
        self.hear(now);
    }

    /// Handles a symbol that may open a session.
    fn on_paper_session(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        segment: Segment,
        header: &ScdpHeader,
        payload: &[u8],
    ) {
        let from = incoming.from;
        let Some(layout) = Object::from_options(header.length, header.symbol, header.blocks) else {
            self.counts.malformed += 1;
            return;
        };
        self.forget_paper();
        let is_full = self.guests.of(from.ip()) >= self.config.limits.sessions_of_peer;
        let inbound = Inbound::new(layout, None, &self.guests.room).filter(|_| !is_full);
        let Some(mut inbound) = inbound else {
            self.counts.no_room += 1;
            return;
        };
        if inbound.payload(header.block, header.esi) != Some(segment.payload as usize) {
            self.counts.malformed += 1;
            return;
        }
        let line = Line {
            local: incoming.told.to.filter(|to| !to.is_multicast()),
            ..Line::new(from, segment.flow.0.into(), 0)
        };
        let id = self.lines.enter(line);
        let tuple = self.guests.tuple(id, self.config.port);
        self.host.on_segment(now, Segment { tuple, ..segment });
        let opened = self.host.receiving(&tuple);
        let Some((flow, _)) = opened.filter(|(flow, _)| !self.incoming.contains_key(flow)) else {
            self.counts.unknown += 1;
            self.lines.remove(id);
            return;
        };
        match segment.condition {
            Condition::Whole => {
                inbound.put(header.block, header.esi, payload);
            }
            _ => self.counts.trimmed += 1,
        }
        self.guests.enter(from.ip());
        self.guests.paper.insert((from, segment.flow), (id, flow));
        self.incoming.insert(flow, inbound);
        self.hear(now);
    }

    /// Removes a received object from its sender's count of sessions. Returns the address of the
    /// sender.
    pub(super) fn leave_paper(&mut self, flow: FlowId) -> Option<SocketAddr> {
        let mut known = self.guests.paper.iter();
        let from = known
            .find(|(_, (_, of))| *of == flow)
            .map(|((from, _), _)| *from)?;
        self.guests.leave(from.ip());
        Some(from)
    }

    /// Removes sessions that the transport has dropped.
    fn forget_paper(&mut self) {
        if self.guests.paper.len() < REMEMBERED.max(2 * self.incoming.len()) {
            return;
        }
        let mut gone = Vec::new();
        for (name, (id, flow)) in &self.guests.paper {
            let tuple = self.guests.tuple(*id, self.config.port);
            if self
                .host
                .receiving(&tuple)
                .is_none_or(|(at, _)| at != *flow)
            {
                gone.push((*name, *id));
            }
        }
        for (name, id) in gone {
            self.guests.paper.remove(&name);
            self.lines.remove(id);
        }
    }

    /// Encodes the header of a segment and finds its payload. If that fails, the segment is
    /// dropped.
    pub(super) fn stage_paper(&mut self, segment: &Segment) {
        let Header::Scdp(header) = segment.header else {
            return;
        };
        let to = segment.tuple.dst;
        let mut place = Place::Nowhere;
        let mut receivers = vec![to];
        if header.kind == ScdpKind::Symbol {
            let Some(outbound) = self.outgoing.get_mut(&segment.flow) else {
                return;
            };
            outbound.tuple = Some(segment.tuple);
            match (to.is_group(), outbound.group) {
                (true, Some(group)) => receivers = vec![group],
                (true, None) => receivers.clone_from(&outbound.lines),
                (false, _) => {}
            }
            match self.place_of(segment.flow, &header) {
                Some(found) => place = found,
                None => return,
            }
        }
        for id in receivers {
            let Some(line) = self.lines.get(id).filter(|line| !line.is_over) else {
                continue;
            };
            let class = TrafficClass::default().with_ecn(segment.ecn);
            let to = (line.address, line.local);
            let staged = Staged::of(to, class, place.clone(), |header| encode(segment, header));
            if let Some(staged) = staged {
                self.staging.push(staged);
            }
        }
    }
}
