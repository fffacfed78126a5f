//! Taking packets that nobody waits for any more out of the queues where they are.

use crate::books::Count;
use crate::fabric::Fabric;
use crate::packet::Packet;
use crate::queue::DropReason;
use alloc::vec::Vec;

impl<B: Copy> Fabric<B> {
    /// Drops every packet that waits at a port and that `matches`, as purged. Packets that are being sent
    /// or are on a link go on, and so does what waits at a one-event FIFO port, whose departures are
    /// settled, or in a discipline that gives nothing back. Gives what was dropped.
    pub fn purge(&mut self, mut matches: impl FnMut(&Packet, &B) -> bool) -> Count {
        let mut purged = Count::default();
        let mut removed = Vec::new();
        for port_id in 0..self.ports.len() as u32 {
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
                &mut |id| matches(&headers[id.0 as usize], &bodies[id.0 as usize]),
                &mut removed,
            );
            if let Some(pool) = general.pool {
                self.pools[pool as usize].change(before, general.queue.backlog_bytes());
            }
            for id in removed.drain(..) {
                purged.add(self.packets.header(id).size);
                self.drop_packet(Some(port_id), id, DropReason::Purged);
            }
        }
        purged
    }
}
