//! Progress of time: packets move through the network and leave it.

use super::{ARRIVAL, Fabric, OUTLET, PrefetchHosts};
use crate::edge::Waste;
use crate::engine::Event;
use crate::network::{HOST, LOSSY, NOWHERE};
use crate::observer::Observer;
use crate::output::{Delivery, Dropped, Output};
use crate::packet::{Packet, PacketId};
use crate::port::PortId;
use crate::queue::DropReason;
use tailcut_units::{HostId, Time};

/// Result of an arrival over a link that is down, lossy or virtual.
enum Arrival<B> {
    /// The packet arrives at the node with this number in `far_ends`.
    At(u32),
    /// The packet does not arrive at a node.
    Ended,
    /// A packet has left the network, and `advance` returns it.
    Left(Output<B>),
}

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Runs the network until a packet leaves it, and returns this packet.
    /// Returns `None` when the network has reached `until`. The caller repeats the call until it returns `None`.
    /// With [`Time::MAX`], the network runs until no event is left, and its time is then the time of the last event.
    #[inline]
    pub fn advance(&mut self, until: Time) -> Option<Output<B>> {
        self.advance_with(until, &())
    }

    /// Runs the network like [`advance`](Self::advance).
    /// In a large network, the fabric also reports packets that soon arrive at a host.
    /// The owner of the hosts can then prefetch their state.
    #[inline]
    pub fn advance_with(
        &mut self,
        until: Time,
        hosts: &impl PrefetchHosts<B>,
    ) -> Option<Output<B>> {
        let mut last = self.now;
        while let Some(event) = self.engine.pop_until(until) {
            self.books.events += 1;
            self.prefetch_upcoming(hosts);
            let now = event.time();
            last = now;
            let number = self.engine.number(event);
            if event.entity() < ARRIVAL {
                self.link_free(now, number);
                continue;
            }
            let mut far_end = self.network.far_ends[number as usize];
            let id = PacketId(event.payload());
            // One comparison finds links that are down or lossy, and also the two virtual links.
            if far_end >= LOSSY {
                // `self.now` is only updated in branches where `advance` may return.
                // All other functions get the time as an argument.
                self.now = now;
                match self.check_arrival(now, &event) {
                    Arrival::At(node) => far_end = node,
                    Arrival::Ended => continue,
                    Arrival::Left(output) => return Some(output),
                }
            }
            if far_end & HOST == 0 {
                if self.is_special {
                    self.arrive_specially(now, number, far_end, id);
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
            // A call with an earlier `until` must not set the time back.
            _ => self.now.max(until),
        };
        None
    }

    /// Returns the time of the next event. The network does not change.
    #[inline]
    pub fn next_timeout(&mut self) -> Option<Time> {
        self.engine.peek()
    }

    #[inline]
    fn count_delivered(&mut self, time: Time, host: HostId, id: PacketId, packet: &Packet) {
        self.books.delivered.add(packet.size);
        // `is_special` is true in every network with groups, so other networks do not check the address.
        if self.is_special && packet.dst.is_group() {
            self.multicast.leave_network(packet.dst);
        }
        if self.observer.is_on()
            && let Some((packet, body)) = self.packets.seen(id)
        {
            self.observer.delivered(time, host, packet, body);
        }
    }

    /// Handles an arrival that needs a check.
    /// The packet may be on a link that is down or loses packets.
    /// The packet may also be a dropped packet that leaves now, or an early packet that enters now.
    #[cold]
    fn check_arrival(&mut self, now: Time, event: &Event) -> Arrival<B> {
        let links = self.network.ports.len() as u32;
        let (link, id) = (self.engine.number(*event), PacketId(event.payload()));
        // The numbers of the two virtual links follow the numbers of the real links.
        match link.checked_sub(links) {
            None => return self.arrive_over_bad_link(now, link, id),
            Some(OUTLET) => {
                if let Some(output) = self.leave(now) {
                    return Arrival::Left(output);
                }
            }
            Some(_) => self.enter_now(now),
        }
        Arrival::Ended
    }

    /// Handles a packet at the end of a link that is down or loses packets.
    fn arrive_over_bad_link(&mut self, now: Time, link: u32, id: PacketId) -> Arrival<B> {
        let reason = match self.network.far_ends[link as usize] {
            NOWHERE => DropReason::LinkDown,
            _ => match self.network.lossy.get_mut(&link) {
                Some(lossy) => match lossy.loses() {
                    true => DropReason::LinkLoss,
                    false => return Arrival::At(lossy.far_end),
                },
                // Every link that loses packets has an entry, so a link without an entry cannot lose a packet.
                None => DropReason::LinkDown,
            },
        };
        self.drop_packet(now, None, id, reason);
        Arrival::Ended
    }

    /// Returns the dropped packet that leaves the network now.
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

    /// Drops a packet. `port` is the port that drops the packet, or `None` if no port does.
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

    /// Drops a packet at a switch, because the packet has passed the allowed number of switches.
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
        // The headers that switches have added leave the packet first. Such headers are neither counted nor returned.
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
        // An event at the same time returns the body, so that every packet leaves through `advance`.
        self.edge.drop(Waste {
            id,
            port,
            ended_at,
            reason,
        });
        self.engine.push(self.behind_links(now, OUTLET, id));
    }
}
