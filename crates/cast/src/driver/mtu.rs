//! What an engine does about datagrams that are too large for a path ([`super::paths`]).

use super::engine::Engine;
use super::outcome::Failure;
use super::outgoing::Kind;
use super::paths::Step;
use super::reason::Reason;
use super::sealing::{OVERHEAD, TRAILER};
use std::net::SocketAddr;
use tailcut_transport::scdp::CreditHeader;
use tailcut_units::{FlowId, HostId, Time};
use tailcut_wire::cast::{Message, SYMBOL_BYTES};

impl Engine {
    /// Bytes of a datagram that a symbol takes beside its own.
    fn around_symbol(&self) -> u32 {
        let sealed = self.lines.key.as_ref().map_or(0, |_| TRAILER);
        (SYMBOL_BYTES + sealed) as u32
    }

    /// Bytes of a symbol of an object to these addresses: what the least of their paths takes.
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

    /// A receiver pulls: its symbols may not arrive.
    pub(super) fn watch(&mut self, now: Time, (flow, id): (FlowId, HostId), pull: &CreditHeader) {
        let around = self.around_symbol();
        let Some(outbound) = self.outgoing.get_mut(&flow) else {
            return;
        };
        let size = u16::try_from(outbound.symbol() + around).unwrap_or(u16::MAX);
        // Those before `next` have arrived or are lost.
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

    /// A probe has arrived.
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

    /// Datagrams to a receiver have to be smaller: its object starts again, with smaller symbols. One of
    /// which other senders have a share, or that another receiver has already, cannot: all have symbols
    /// of one size.
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
