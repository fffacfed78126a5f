//! Reaction of an engine to datagrams that are too large for a path ([`super::paths`]).

use super::engine::Engine;
use super::outcome::Failure;
use super::outgoing::Kind;
use super::paths::Step;
use super::reason::Reason;
use super::sealing::{OVERHEAD, TRAILER};
use std::net::SocketAddr;
use tailcut_transport::scdp::CreditHeader;
use tailcut_units::{FlowId, HostId, Time};
use tailcut_wire::scdp::credit::{Message, SYMBOL_BYTES};

impl Engine {
    /// Returns the bytes of a symbol's datagram in addition to the symbol.
    fn around_symbol(&self) -> u32 {
        let sealed = self.lines.key.as_ref().map_or(0, |_| TRAILER);
        (SYMBOL_BYTES + sealed) as u32
    }

    /// Returns the bytes of a symbol of an object to these addresses: the largest symbol that all
    /// paths carry.
    pub(super) fn symbol_to(&self, now: Time, to: &[SocketAddr]) -> u32 {
        let (most, around) = (self.config.symbol, self.around_symbol());
        if self.is_paper() {
            return most;
        }
        let full = u16::try_from(most + around).unwrap_or(u16::MAX);
        let sizes = to.iter().map(|to| self.paths().size(now, to.ip(), full));
        let least = sizes.min().unwrap_or(full);
        u32::from(least).saturating_sub(around).clamp(1, most)
    }

    /// Updates the search for the size of a path when a receiver pulls. The pull shows that the
    /// receiver is reachable, but large symbols may still get lost.
    pub(super) fn watch(&mut self, now: Time, (flow, id): (FlowId, HostId), pull: &CreditHeader) {
        let around = self.around_symbol();
        let Some(outbound) = self.outgoing.get_mut(&flow) else {
            return;
        };
        let size = u16::try_from(outbound.symbol() + around).unwrap_or(u16::MAX);
        // All symbols before `next` have arrived or are lost.
        let arrived = pull.next.saturating_sub(pull.lost);
        let search = outbound.searches.entry(id).or_default();
        let step = search.on_pull(size, pull.probe, (arrived, pull.lost));
        match step {
            Step::Wait => {}
            Step::Probe(sizes) => sizes.into_iter().for_each(|size| self.probe(id, size)),
            Step::Shrink(size) => self.shrink(now, (flow, id), size),
        }
    }

    fn probe(&mut self, id: HostId, size: u16) {
        let sealed = self.lines.key.as_ref().map_or(0, |_| OVERHEAD as u16);
        let size = size.saturating_sub(sealed);
        self.say(id, &Message::Probe { size, number: 0 });
    }

    /// Handles the acknowledgement of a probe.
    pub(super) fn on_probe_ack(&mut self, (flow, id): (FlowId, HostId), size: u16) {
        let sealed = self.lines.key.as_ref().map_or(0, |_| OVERHEAD as u16);
        let around = self.around_symbol();
        let Some(outbound) = self.outgoing.get_mut(&flow) else {
            return;
        };
        let own = u16::try_from(outbound.symbol() + around).unwrap_or(u16::MAX);
        if let Some(search) = outbound.searches.get_mut(&id) {
            search.on_ack(own, size.saturating_add(sealed));
        }
    }

    /// Starts the transfer again with smaller symbols, because the path to a receiver carries only
    /// smaller datagrams. All symbols of an object have one size. So the receiver fails instead, if
    /// other senders have a share of the object or if another receiver has the object already.
    fn shrink(&mut self, now: Time, (flow, id): (FlowId, HostId), size: u16) {
        let Some(line) = self.lines.get(id) else {
            return;
        };
        let to = line.address.ip();
        self.paths_mut().shrink(now, to, size);
        let Some(outbound) = self.outgoing.get(&flow) else {
            return;
        };
        let is_over = |id: &HostId| self.lines.get(*id).is_none_or(|line| line.is_over);
        let is_fixed = match outbound.task.kind {
            Kind::Share(..) => true,
            Kind::One => false,
            Kind::All(_) | Kind::Group(..) => outbound.lines.iter().any(is_over),
        };
        self.counts.shrunk += 1;
        if is_fixed {
            self.lose_receiver(now, (flow, id), Reason::TooWide);
            return;
        }
        for id in outbound.lines.clone() {
            self.close(id, Reason::Cancelled);
        }
        self.restart(now, flow, Failure::TooWide);
    }
}
