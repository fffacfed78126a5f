//! Paper mode: version 1 of the header, for networks that trim and hosts that trust each other.
//! The sender's address and flow number identify a session. Addresses are not validated.

use super::connections::Connection;
use super::engine::Engine;
use super::incoming::Inbound;
use super::shared_progress::Stage;
use super::staging::{PayloadSource, Staged};
use crate::udp::{Incoming, TrafficClass};
use std::net::SocketAddr;
use tailcut_transport::scdp::{Object, ScdpHeader, ScdpKind};
use tailcut_transport::{Condition, Header, Segment, Transport};
use tailcut_units::{FiveTuple, FlowId, HostId, Time};
use tailcut_wire::scdp::paper::{SYMBOL_BYTES, SYN_BYTES};
use tailcut_wire::{decode, encode};

/// Smallest number of stored sessions at which the engine searches for sessions that the transport has dropped.
/// A smaller number causes more searches.
const REMEMBERED: usize = 1_024;

/// Rewrites the header of a trimmed symbol that opens a session.
/// A switch trims to the shortest symbol header, so the options of an opening symbol are lost.
/// The result is the header of a symbol that does not open a session. Returns `None` for all other packets.
fn without_options(bytes: &[u8]) -> Option<[u8; SYMBOL_BYTES]> {
    let mut left: [u8; SYMBOL_BYTES] = bytes.try_into().ok()?;
    // The header of a trimmed symbol with options still has the longer header length, kind 0 and the flag SYN.
    let is_cut = usize::from(left[2]) == SYN_BYTES && left[3] == 0 && left[4] & 1 == 1;
    left[2] = SYMBOL_BYTES as u8;
    left[4] &= !1;
    is_cut.then_some(left)
}

impl Engine {
    /// Handles a datagram of version 1.
    pub(super) fn on_paper(&mut self, now: Time, incoming: &Incoming<'_>, bytes: &[u8]) {
        let ecn = incoming.class().ecn();
        // The header has no host numbers, so the addresses of the connection are added later.
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
            // These kinds exist only in version 2 of the header.
            ScdpKind::Credited | ScdpKind::Offer | ScdpKind::Status => self.counts.malformed += 1,
        }
    }

    /// Handles a pull or a completion message from a receiver.
    fn on_feedback(&mut self, now: Time, from: SocketAddr, segment: Segment, header: &ScdpHeader) {
        let outbound = self.outgoing.get(&segment.flow);
        let answers = outbound.and_then(|outbound| {
            // Version 1 has no tokens and no keys. So only the address shows which receiver has sent the packet.
            let is_from = |id: &&HostId| {
                self.connections
                    .get(**id)
                    .is_some_and(|connection| connection.address == from)
            };
            let id = outbound.connections.iter().find(is_from)?;
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
        self.process_events(now);
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
        let mut known = self.incoming_sessions.paper.get(&name).copied();
        if let Some((id, flow)) = known.filter(|(_, flow)| !self.incoming.contains_key(flow)) {
            // If the transport has dropped the session, a symbol with the same flow number belongs to another object.
            let tuple = self.incoming_sessions.tuple(id, self.config.port);
            if self.host.receiving(&tuple).is_none_or(|(at, _)| at != flow) {
                self.incoming_sessions.paper.remove(&name);
                self.connections.remove(id);
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
        let tuple = self.incoming_sessions.tuple(id, self.config.port);
        self.host.on_segment(now, Segment { tuple, ..segment });
        self.process_events(now);
    }

    /// Handles a symbol of an unknown session. The symbol may open the session.
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
        // Sessions that the transport has dropped must not count towards the limit.
        self.forget_paper();
        // The transport limits the number of all sessions.
        // The transport does not use addresses, so the limit for one address is checked here.
        let is_full = self.incoming_sessions.of(from.ip()) >= self.config.limits.sessions_of_peer;
        // Paper mode does not validate addresses. So the memory for the whole object is allocated now.
        let inbound =
            Inbound::new(now, layout, None, &self.incoming_sessions.budget).filter(|_| !is_full);
        let inbound = inbound.and_then(|mut inbound| inbound.reserve_all().then_some(inbound));
        let Some(mut inbound) = inbound else {
            self.counts.no_room += 1;
            return;
        };
        if inbound.payload(header.block, header.esi) != Some(segment.payload as usize) {
            self.counts.malformed += 1;
            return;
        }
        let connection = Connection {
            local: incoming.ancillary.to.filter(|to| !to.is_multicast()),
            ..Connection::new(from, segment.flow.0.into(), 0)
        };
        let id = self.connections.enter(connection);
        let tuple = self.incoming_sessions.tuple(id, self.config.port);
        self.host.on_segment(now, Segment { tuple, ..segment });
        let opened = self.host.receiving(&tuple);
        let Some((flow, _)) = opened.filter(|(flow, _)| !self.incoming.contains_key(flow)) else {
            self.counts.unknown += 1;
            self.connections.remove(id);
            return;
        };
        match segment.condition {
            Condition::Whole => {
                inbound.put(header.block, header.esi, payload);
            }
            _ => self.counts.trimmed += 1,
        }
        self.incoming_sessions.enter(from.ip());
        self.incoming_sessions
            .paper
            .insert((from, segment.flow), (id, flow));
        self.incoming.insert(flow, inbound);
        self.process_events(now);
    }

    /// Removes a received object from the session count of its sender. Returns the sender's address.
    pub(super) fn leave_paper(&mut self, flow: FlowId) -> Option<SocketAddr> {
        let mut known = self.incoming_sessions.paper.iter();
        let from = known
            .find(|(_, (_, of))| *of == flow)
            .map(|((from, _), _)| *from)?;
        // The entry in `paper` stays, so that the transport can answer late symbols of the session.
        self.incoming_sessions.leave(from.ip());
        Some(from)
    }

    /// Removes sessions that the transport has dropped.
    fn forget_paper(&mut self) {
        if self.incoming_sessions.paper.len() < REMEMBERED.max(2 * self.incoming.len()) {
            return;
        }
        let mut gone = Vec::new();
        for (name, (id, flow)) in &self.incoming_sessions.paper {
            let tuple = self.incoming_sessions.tuple(*id, self.config.port);
            if self
                .host
                .receiving(&tuple)
                .is_none_or(|(at, _)| at != *flow)
            {
                gone.push((*name, *id));
            }
        }
        for (name, id) in gone {
            self.incoming_sessions.paper.remove(&name);
            self.connections.remove(id);
        }
    }

    /// Encodes a segment as a datagram of version 1. If this fails, the segment is dropped.
    pub(super) fn stage_paper(&mut self, segment: &Segment) {
        let Header::Scdp(header) = segment.header else {
            return;
        };
        let to = segment.tuple.dst;
        let mut payload = PayloadSource::Nowhere;
        let mut receivers = vec![to];
        if header.kind == ScdpKind::Symbol {
            let Some(outbound) = self.outgoing.get_mut(&segment.flow) else {
                return;
            };
            outbound.tuple = Some(segment.tuple);
            // The transport always treats several receivers as one group.
            // Without a multicast address, each receiver gets its own copy.
            match (to.is_group(), outbound.group) {
                (true, Some(group)) => receivers = vec![group],
                (true, None) => receivers.clone_from(&outbound.connections),
                (false, _) => {}
            }
            match self.payload_of(segment.flow, &header) {
                Some(found) => payload = found,
                None => return,
            }
        }
        for id in receivers {
            let Some(connection) = self
                .connections
                .get(id)
                .filter(|connection| !connection.is_over)
            else {
                continue;
            };
            let class = TrafficClass::default().with_ecn(segment.ecn);
            let to = (connection.address, connection.local);
            let staged = Staged::of(to, class, payload.clone(), |header| encode(segment, header));
            if let Some(staged) = staged {
                self.staging.push(staged);
            }
        }
    }
}
