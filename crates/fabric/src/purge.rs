//! Packets that nobody waits for any more leave the queues where they are: a packet that ends a
//! connection takes them along at every switch that it passes.

use crate::fabric::Fabric;
use crate::packet::PacketId;
use crate::queue::DropReason;
use alloc::vec::Vec;

impl<B: Copy> Fabric<B> {
    /// From now on a packet that [`purges`](crate::Packet::purges) takes what waits with it at each switch
    /// that it passes, in all queues there, when it arrives and before it goes on: every packet with a body
    /// for which `takes(its own body, that body)`. They are dropped as purged. Packets that are being sent
    /// or are on a link go on, and so does what waits at a one-event FIFO port, whose departures are
    /// settled, or in a discipline that gives nothing back.
    pub fn purge_in_passing(&mut self, takes: fn(&B, &B) -> bool) {
        self.purge_takes = Some(takes);
        self.is_special = true;
    }

    /// A packet that purges is at `switch`.
    #[cold]
    pub(crate) fn purge_at(&mut self, switch: u32, purger: PacketId) {
        let Some(takes) = self.purge_takes else {
            return;
        };
        let next = self.switches.get(switch as usize + 1);
        let end = next.map_or(self.ports.len() as u32, |next| next.first_port);
        let mut removed = Vec::new();
        for port_id in self.switches[switch as usize].first_port..end {
            let port = &self.ports[port_id as usize];
            if self.classes[usize::from(port.class)].drop_tail.is_some() {
                continue;
            }
            let general = &mut self.generals[port.place as usize];
            let before = general.queue.backlog_bytes();
            if before == 0 {
                continue;
            }
            let (headers, bodies) = self.packets.all();
            general.queue.remove(
                headers,
                &mut |id| takes(&bodies[purger.0 as usize], &bodies[id.0 as usize]),
                &mut removed,
            );
            if let Some(pool) = general.pool {
                self.pools[pool as usize].change(before, general.queue.backlog_bytes());
            }
            for id in removed.drain(..) {
                self.drop_packet(Some(port_id), id, DropReason::Purged);
            }
        }
    }
}
