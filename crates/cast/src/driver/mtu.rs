//! Reaction of an engine to paths that drop large datagrams ([`super::paths`]).

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
    /// Returns the number of bytes in a symbol's datagram that are not part of the symbol.
    fn around_symbol(&self) -> u32 {
        let sealed = self.connections.key.as_ref().map_or(0, |_| TRAILER);
        (SYMBOL_BYTES + sealed) as u32
    }

    /// Returns the size of an object's symbols in bytes: the largest size that the paths to all these addresses carry.
    pub(super) fn symbol_to(&self, now: Time, to: &[SocketAddr]) -> u32 {
        let (most, around) = (self.config.symbol, self.around_symbol());
        // Probes exist only in version 2 of the header. So the sizes of paths are unknown in paper mode.
        if self.is_paper() {
            return most;
        }
        let full = u16::try_from(most + around).unwrap_or(u16::MAX);
        let sizes = to.iter().map(|to| self.paths().size(now, to.ip(), full));
        // All receivers get symbols of the same size. So the path with the smallest datagrams decides.
        let least = sizes.min().unwrap_or(full);
        // A symbol has at least one byte. It is never larger than configured, even if the path carries more.
        u32::from(least).saturating_sub(around).clamp(1, most)
    }

    /// Updates the search for the datagram size of a path when the receiver sends a pull.
    /// The pull shows that the receiver is reachable, but large symbols may still get lost.
    pub(super) fn watch(&mut self, now: Time, (flow, id): (FlowId, HostId), pull: &CreditHeader) {
        let around = self.around_symbol();
        let Some(outbound) = self.outgoing.get_mut(&flow) else {
            return;
        };
        let size = u16::try_from(outbound.symbol() + around).unwrap_or(u16::MAX);
        // All symbols before `next` have arrived or are lost. Both numbers come from the peer.
        // If they are wrong, `lost` may be larger than `next`.
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
        // The size in a probe does not include the bytes that encryption adds, so they are subtracted.
        let sealed = self.connections.key.as_ref().map_or(0, |_| OVERHEAD as u16);
        let size = size.saturating_sub(sealed);
        // The search identifies a probe by its size. So the probe needs no number.
        self.say(id, &Message::Probe { size, number: 0 });
    }

    /// Handles the acknowledgement of a probe.
    pub(super) fn on_probe_ack(&mut self, (flow, id): (FlowId, HostId), size: u16) {
        let sealed = self.connections.key.as_ref().map_or(0, |_| OVERHEAD as u16);
        let around = self.around_symbol();
        let Some(outbound) = self.outgoing.get_mut(&flow) else {
            return;
        };
        let own = u16::try_from(outbound.symbol() + around).unwrap_or(u16::MAX);
        if let Some(search) = outbound.searches.get_mut(&id) {
            // The size in an acknowledgement does not include the bytes that encryption adds, so they are added.
            search.on_ack(own, size.saturating_add(sealed));
        }
    }

    /// Starts the transfer again with smaller symbols, because the path to a receiver carries only smaller datagrams.
    /// All symbols of an object have the same size.
    /// The size cannot change if other senders take part, or if another receiver already has the object.
    /// In these cases, the transfer to this receiver fails.
    fn shrink(&mut self, now: Time, (flow, id): (FlowId, HostId), size: u16) {
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        let to = connection.address.ip();
        // The size is stored first, because the restart reads it in `symbol_to`.
        self.paths_mut().shrink(now, to, size);
        let Some(outbound) = self.outgoing.get(&flow) else {
            return;
        };
        let is_over = |id: &HostId| {
            self.connections
                .get(*id)
                .is_none_or(|connection| connection.is_over)
        };
        let is_fixed = match outbound.task.kind {
            Kind::Share(..) => true,
            Kind::One => false,
            Kind::All(_) | Kind::Group(..) => outbound.connections.iter().any(is_over),
        };
        self.counts.shrunk += 1;
        if is_fixed {
            self.lose_receiver(now, (flow, id), Reason::TooWide);
            return;
        }
        // Symbols of the new size cannot be combined with the symbols that the receivers have. So the old sessions end.
        for id in outbound.connections.clone() {
            self.close(id, Reason::Cancelled);
        }
        self.restart(now, flow, Failure::TooWide);
    }
}
