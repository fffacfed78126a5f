//! Packets that nobody waits for any more leave the queues where they are: a packet that ends a
//! connection takes them along at every switch that it passes.

use super::Fabric;
use crate::observer::Observer;
use crate::queue::DropReason;
use alloc::vec::Vec;
use tailcut_units::Time;

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// A packet that purges is at `switch`: before it goes on it takes what is queued there with the key that
    /// it names ([`Hints`](crate::Hints)), in all queues. These packets are dropped as purged. Packets that
    /// are being sent or are on a link go on, and so does what is queued at a port with one event for each
    /// packet, whose departures are settled, or in a discipline that gives nothing back.
    #[cold]
    pub(super) fn purge_at(&mut self, now: Time, switch: u32, key: u64) {
        let network = &mut self.network;
        let next = network.switches.get(switch as usize + 1);
        let end = next.map_or(network.ports.len() as u32, |next| next.first_port);
        let mut removed = Vec::new();
        for port_id in network.first_port(switch)..end {
            let port = &network.ports[port_id as usize];
            if network.class(port).drop_tail.is_some() {
                continue;
            }
            let general = &mut network.generals[port.place as usize];
            let before = general.queue.backlog_bytes();
            if before == 0 {
                continue;
            }
            let mut ids = Vec::new();
            let keys = &self.purge_keys;
            let headers = self.packets.headers();
            general
                .queue
                .remove(headers, &mut |id| keys.key(id) == key, &mut ids);
            if let Some(pool) = general.pool {
                network.pools[pool as usize].change(before, general.queue.backlog_bytes());
            }
            removed.extend(ids.into_iter().map(|id| (port_id, id)));
        }
        for (port, id) in removed {
            self.drop_packet(now, Some(port), id, DropReason::Purged);
        }
    }
}
