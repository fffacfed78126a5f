//! Purge: a packet that ends a connection removes the connection's other packets.
//! No receiver waits for packets of an ended connection.
//! The purging packet removes the other packets from the queues of every switch that it passes.

use super::Fabric;
use crate::observer::Observer;
use crate::queue::DropReason;
use alloc::vec::Vec;
use tailcut_units::Time;

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Executes the purge of a packet at `switch`.
    /// All packets with the packet's purge key ([`Hints`](crate::Hints)) are removed from all queues of the switch.
    /// Removed packets are dropped as purged. The following packets are not removed:
    ///
    /// - packets in service or on a link;
    /// - packets at a port with one event per packet, because their departures are already computed;
    /// - packets in a discipline that cannot remove packets.
    #[cold]
    pub(super) fn purge_at(&mut self, now: Time, switch: u32, key: u64) {
        let network = &mut self.network;
        let next = network.switches.get(switch as usize + 1);
        let end = next.map_or(network.ports.len() as u32, |next| next.first_port);
        // The packets are dropped after the loop, because `drop_packet` borrows the whole fabric.
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
