//! Time passes: packets move, and leave the network.

use super::{ARRIVAL, Fabric, OUTLET};
use crate::edge::Waste;
use crate::engine::Event;
use crate::network::{HOST, LOSSY, NOWHERE};
use crate::observer::Observer;
use crate::output::{Delivery, Dropped, Output};
use crate::packet::{Packet, PacketId, prefetch};
use crate::port::PortId;
use crate::queue::DropReason;
use tailcut_units::{HostId, Time};

/// What becomes of something that does not simply arrive.
enum Perhaps<B> {
    /// It arrives at a node, as links' ends say which.
    At(u32),
    /// It arrives nowhere.
    Nowhere,
    /// It has left the network.
    Left(Output<B>),
}

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Runs the network up to and including `until`, or until a packet leaves it. `None` when it has come to
    /// `until`: call it until then. [`Time::MAX`] runs until nothing moves any more, and leaves the fabric's
    /// time where that was.
    #[inline]
    pub fn advance(&mut self, until: Time) -> Option<Output<B>> {
        let mut last = self.now;
        while let Some(event) = self.engine.pop_until(until) {
            self.books.events += 1;
            self.prefetch_upcoming();
            let now = event.time();
            last = now;
            let entity = event.entity();
            if entity & ARRIVAL == 0 {
                self.link_free(now, entity);
                continue;
            }
            let mut far_end = self.network.far_ends[(entity ^ ARRIVAL) as usize];
            let id = PacketId(event.payload());
            if far_end >= LOSSY {
                self.now = now;
                match self.arrive_perhaps(now, &event) {
                    Perhaps::At(node) => far_end = node,
                    Perhaps::Nowhere => continue,
                    Perhaps::Left(output) => return Some(output),
                }
            }
            if far_end & HOST == 0 {
                if self.is_special {
                    self.arrive_specially(now, entity ^ ARRIVAL, far_end, id);
                } else {
                    self.forward(now, far_end, id);
                }
            } else {
                let host = HostId(far_end ^ HOST);
                self.now = now;
                let packet = *self.packets.get(id);
                self.count_delivered(now, host, id, &packet);
                if let Some(body) = self.packets.remove(id) {
                    return Some(Output::Delivered(Delivery {
                        time: now,
                        host,
                        packet,
                        body,
                    }));
                }
            }
        }
        self.now = match until {
            Time::MAX => last,
            _ => self.now.max(until),
        };
        None
    }

    /// When `advance` next has something to do. Looking changes nothing.
    #[inline]
    pub fn next_timeout(&mut self) -> Option<Time> {
        self.engine.peek()
    }

    #[inline]
    fn count_delivered(&mut self, time: Time, host: HostId, id: PacketId, packet: &Packet) {
        self.books.delivered.add(packet.size);
        if self.is_special && packet.dst.is_group() {
            self.multicast.leave_network(packet.dst);
        }
        if self.observer.is_on()
            && let Some((packet, body)) = self.packets.seen(id)
        {
            self.observer.delivered(time, host, packet, body);
        }
    }

    /// Something arrives, or does not: a packet over a link that is down or loses some, one that was dropped
    /// and now leaves, or one that was injected ahead of its time and now enters.
    #[cold]
    fn arrive_perhaps(&mut self, now: Time, event: &Event) -> Perhaps<B> {
        let links = self.network.ports.len() as u32;
        let (link, id) = (event.entity() ^ ARRIVAL, PacketId(event.payload()));
        match link.checked_sub(links) {
            None => return self.arrive_over_bad_link(now, link, id),
            Some(OUTLET) => {
                if let Some(output) = self.leave(now) {
                    return Perhaps::Left(output);
                }
            }
            Some(_) => self.enter_now(now, id),
        }
        Perhaps::Nowhere
    }

    /// A packet has come over a link that is down or loses some.
    fn arrive_over_bad_link(&mut self, now: Time, link: u32, id: PacketId) -> Perhaps<B> {
        let reason = match self.network.far_ends[link as usize] {
            NOWHERE => DropReason::LinkDown,
            _ => match self.network.lossy.get_mut(&link) {
                Some(lossy) => match lossy.loses() {
                    true => DropReason::LinkLoss,
                    false => return Perhaps::At(lossy.far_end),
                },
                None => DropReason::LinkDown,
            },
        };
        self.drop_packet(now, None, id, reason);
        Perhaps::Nowhere
    }

    /// A packet that was dropped leaves the network.
    fn leave(&mut self, time: Time) -> Option<Output<B>> {
        let Waste {
            id,
            port,
            ended_at,
            reason,
        } = self.edge.next_dropped()?;
        let packet = *self.packets.get(id);
        let body = self.packets.remove(id)?;
        Some(Output::Dropped(Dropped {
            time,
            port: port.map(PortId),
            ended_at,
            reason,
            packet,
            body,
        }))
    }

    /// A packet goes no further.
    #[cold]
    pub(super) fn drop_packet(
        &mut self,
        now: Time,
        port: Option<u32>,
        id: PacketId,
        reason: DropReason,
    ) {
        self.discard(now, port, None, id, reason);
    }

    /// A packet has passed as many switches as it may, and ends at this one.
    #[cold]
    pub(super) fn end_at(&mut self, now: Time, switch: u32, id: PacketId) {
        self.discard(now, None, Some(switch), id, DropReason::HopLimit);
    }

    fn discard(
        &mut self,
        now: Time,
        port: Option<u32>,
        ended_at: Option<u32>,
        id: PacketId,
        reason: DropReason,
    ) {
        self.strip(id);
        let packet = *self.packets.get(id);
        if packet.dst.is_group() {
            self.multicast.leave_network(packet.dst);
        }
        if let Some(port) = port {
            self.network.dropped[port as usize] += 1;
        }
        self.books.drops.count(reason).add(packet.size);
        if let Some((packet, body)) = self.packets.seen(id) {
            let port = port.map(PortId);
            self.observer.dropped(now, port, reason, packet, body);
        }
        self.edge.drop(Waste {
            id,
            port,
            ended_at,
            reason,
        });
        self.engine.push(self.behind_links(now, OUTLET, id));
    }

    /// Loads early what the next events will touch: large networks do not fit the cache.
    #[inline]
    fn prefetch_upcoming(&self) {
        if let Some(event) = self.engine.upcoming(3) {
            let entity = event.entity();
            if entity & ARRIVAL == 0 {
                let place = self.network.ports[entity as usize].place as usize;
                prefetch(&self.network.generals, place);
                return;
            }
            let id = PacketId(event.payload());
            self.packets.prefetch(id);
            let far_end = self.network.far_ends[(entity ^ ARRIVAL) as usize];
            if far_end & HOST == 0 {
                prefetch(&self.network.switches, far_end as usize);
            } else {
                self.packets.prefetch_body(id);
            }
        }
        if let Some(event) = self.engine.upcoming(6)
            && event.entity() & ARRIVAL == 0
        {
            prefetch(&self.network.ports, event.entity() as usize);
        }
    }
}
