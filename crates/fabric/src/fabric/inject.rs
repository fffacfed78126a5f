//! Packets enter the network.

use super::{ENTRY, Fabric};
use crate::observer::Observer;
use crate::output::{Hints, Injected};
use crate::packet::{Packet, PacketId};
use crate::queue::DropReason;
use tailcut_units::{HostId, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Puts a packet on a host's uplink at `now`, behind others if the uplink is not free; of several
    /// uplinks on the one that [`Bonding`](crate::Bonding) says.
    ///
    /// A time before the fabric's own counts as now, and the packet as late ([`Fabric::lateness`]). A host
    /// or a destination that the network does not have is counted, and the packet dropped.
    #[inline]
    pub fn inject(&mut self, now: Time, from: HostId, packet: Packet, body: B) -> Injected {
        self.put(now, from, packet, None, body)
    }

    /// Like [`Fabric::inject`], with what its driver knows of the packet beside its header.
    #[inline]
    pub fn inject_with(
        &mut self,
        now: Time,
        from: HostId,
        packet: Packet,
        hints: Hints,
        body: B,
    ) -> Injected {
        self.put(now, from, packet, Some(&hints), body)
    }

    #[inline(always)]
    fn put(
        &mut self,
        now: Time,
        from: HostId,
        packet: Packet,
        hints: Option<&Hints>,
        body: B,
    ) -> Injected {
        self.books.injected.add(packet.size);
        let id = self.packets.insert(packet, body);
        if self.is_special || hints.is_some() || packet.hop_limit != 0 {
            self.note_hints(&packet, id, hints.unwrap_or(&Hints::NONE));
        }
        if now != self.now && self.is_ahead(now) {
            return self.enter_later(now, from, id);
        }
        if !self.knows(from, &packet) {
            return self.refuse(from, id);
        }
        let port = self.uplink_for(from, &packet);
        let before = self.edge.dropped();
        self.arrive_at_port(self.now, port, id);
        Injected {
            free_at: Time::from_ps(self.network.ports[port as usize].busy_until_ps),
            dropped: match self.edge.dropped() == before {
                true => None,
                false => self.edge.reason_after(before, id),
            },
        }
    }

    /// A switch sends a packet of its own at the fabric's time, such as a router's answer to a packet whose
    /// hop limit has ended there. It takes the port that ECMP says, and counts as injected. Its source is
    /// a host that the network has: the one that the sender stands for.
    #[cold]
    pub fn inject_at_switch(&mut self, switch: u32, packet: Packet, body: B) {
        self.books.injected.add(packet.size);
        let id = self.packets.insert(packet, body);
        self.note_hints(&packet, id, &Hints::NONE);
        let is_switch = (switch as usize) < self.network.switches.len();
        if is_switch && self.knows(packet.src, &packet) {
            self.forward(self.now, switch, id);
        } else {
            self.drop_packet(self.now, None, id, DropReason::UnknownAddress);
        }
    }

    /// A host has dropped a packet that found no room behind those that it cannot inject yet. It counts as
    /// injected, and as dropped by the host's first uplink for want of room; [`Fabric::advance`] gives it back.
    #[cold]
    pub fn drop_at_host(&mut self, from: HostId, packet: Packet, body: B) {
        self.books.injected.add(packet.size);
        let id = self.packets.insert(packet, body);
        self.note_hints(&packet, id, &Hints::NONE);
        let uplink = self.uplinks.get(from.0 as usize);
        let uplink = uplink.map(|uplinks| uplinks.first);
        self.drop_packet(self.now, uplink, id, DropReason::QueueFull);
    }

    /// When the host may inject the next packet: when an uplink has sent everything that was injected on
    /// it, unless too much is queued for another one of the host's. Now for a host that there is not.
    #[inline(always)]
    pub fn uplink_free_at(&self, host: HostId) -> Time {
        let Some(&uplinks) = self.uplinks.get(host.0 as usize) else {
            return self.now;
        };
        Time::from_ps(match uplinks.others {
            0 => self.network.ports[uplinks.first as usize].busy_until_ps,
            _ => self.bonds.free_at_ps(uplinks, &self.network),
        })
    }

    /// The uplink that a packet of the host takes.
    #[inline(always)]
    fn uplink_for(&mut self, host: HostId, packet: &Packet) -> u32 {
        let uplinks = self.uplinks[host.0 as usize];
        match uplinks.others {
            0 => uplinks.first,
            _ => self.bonds.choose(uplinks, packet, &self.network),
        }
    }

    /// Whether the network has both ends of a packet.
    #[inline]
    fn knows(&self, from: HostId, packet: &Packet) -> bool {
        let hosts = self.uplinks.len() as u32;
        let is_known = |host: HostId| host.0 < hosts;
        is_known(from) && is_known(packet.src) && (is_known(packet.dst) || packet.dst.is_group())
    }

    /// Brings the fabric's time to `now` if nothing has to happen before. Counts a packet that is late. True
    /// where there is something to do first.
    #[cold]
    fn is_ahead(&mut self, now: Time) -> bool {
        if now < self.now {
            self.books.late.add(self.now.since(now));
            return false;
        }
        if self.engine.peek().is_some_and(|next| next < now) {
            return true;
        }
        self.now = now;
        false
    }

    /// A packet that is ahead of the network's time enters when that has come.
    #[cold]
    fn enter_later(&mut self, at: Time, from: HostId, id: PacketId) -> Injected {
        self.edge.hold(id, from);
        self.engine.push(self.behind_links(at, ENTRY, id));
        Injected {
            free_at: self.uplink_free_at(from).max(at),
            dropped: None,
        }
    }

    /// The time of such a packet has come.
    #[cold]
    pub(super) fn enter_now(&mut self, now: Time, id: PacketId) {
        let Some(from) = self.edge.release(id) else {
            return;
        };
        let packet = *self.packets.get(id);
        if self.knows(from, &packet) {
            let port = self.uplink_for(from, &packet);
            self.arrive_at_port(now, port, id);
        } else {
            self.refuse(from, id);
        }
    }

    #[cold]
    fn refuse(&mut self, from: HostId, id: PacketId) -> Injected {
        let reason = DropReason::UnknownAddress;
        self.drop_packet(self.now, None, id, reason);
        Injected {
            free_at: self.uplink_free_at(from).max(self.now),
            dropped: Some(reason),
        }
    }

    /// What a packet needs beside its header, in a network that has a chooser or groups or purges.
    #[inline(never)]
    fn note_hints(&mut self, packet: &Packet, id: PacketId, hints: &Hints) {
        if hints.purges != 0 || hints.purge_key != 0 || packet.hop_limit != 0 {
            self.is_special = true;
        }
        self.purge_keys.enter(id, hints);
        if packet.dst.is_group() {
            self.multicast.enter(packet.dst, id);
        }
        if let Some(chooser) = &mut self.chooser {
            chooser.enters(id, hints.reverse_hash);
        }
    }
}
