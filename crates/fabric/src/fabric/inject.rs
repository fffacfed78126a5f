//! Injection of packets into the network.

use super::{ENTRY, Fabric};
use crate::observer::Observer;
use crate::output::{Hints, Injected};
use crate::packet::{Packet, PacketId};
use crate::queue::DropReason;
use tailcut_units::{HostId, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Sends a packet from a host at time `now`. If the host's uplink is busy, the packet waits behind other packets.
    /// If the host has several uplinks, [`Bonding`](crate::Bonding) chooses one of them.
    ///
    /// If `now` is before the fabric's own time, the packet enters at the fabric's time.
    /// The packet is then counted as late ([`Fabric::lateness`]).
    /// If the host or the destination is unknown, the packet is counted and dropped.
    #[inline]
    pub fn inject(&mut self, now: Time, from: HostId, packet: Packet, body: B) -> Injected {
        self.put(now, from, packet, None, body)
    }

    /// Sends a packet like [`Fabric::inject`], with hints that the packet's header does not contain.
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
        // Usually, `now` equals the fabric's own time, so only the first comparison is needed.
        if now != self.now && self.is_ahead(now) {
            return self.enter_later(now, from, id);
        }
        if !self.knows(from, &packet) {
            return self.refuse(from, id);
        }
        let port = self.uplink_for(from, &packet);
        // If the number of dropped packets grows during the call, the call has dropped packets.
        let before = self.edge.dropped();
        self.arrive_at_port(self.now, port, id);
        let free_at_ps = match self.uplinks[from.0 as usize].others {
            0 => self.network.ports[port as usize].busy_until_ps,
            _ => self.network.all_sent_at_ps(port, self.packets.all()),
        };
        Injected {
            free_at: Time::from_ps(free_at_ps),
            dropped: match self.edge.dropped() == before {
                true => None,
                false => self.edge.reason_after(before, id),
            },
        }
    }

    /// Sends a packet from a switch at the fabric's time, such as a router's answer to a packet whose hop limit ended.
    /// ECMP chooses the port. The packet is counted as injected.
    /// The source of the packet must be a host of the network. This host represents the switch.
    #[cold]
    pub fn inject_at_switch(&mut self, switch: u32, packet: Packet, body: B) {
        self.books.injected.add(packet.size);
        let id = self.packets.insert(packet, body);
        // The slot may contain old hints of an earlier packet. They must be replaced before this packet can be dropped.
        self.note_hints(&packet, id, &Hints::NONE);
        let is_switch = (switch as usize) < self.network.switches.len();
        if is_switch && self.knows(packet.src, &packet) {
            self.forward(self.now, switch, id);
        } else {
            self.drop_packet(self.now, None, id, DropReason::UnknownAddress);
        }
    }

    /// Counts a packet that its host has dropped, because the host's own queue before the network is full.
    /// The packet is counted as injected, and as dropped at the host's first uplink because of a full queue.
    /// [`Fabric::advance`] returns the packet.
    #[cold]
    pub fn drop_at_host(&mut self, from: HostId, packet: Packet, body: B) {
        self.books.injected.add(packet.size);
        let id = self.packets.insert(packet, body);
        // The slot may contain old hints of an earlier packet. They must be replaced before this packet is dropped.
        self.note_hints(&packet, id, &Hints::NONE);
        let uplink = self.uplinks.get(from.0 as usize);
        let uplink = uplink.map(|uplinks| uplinks.first);
        self.drop_packet(self.now, uplink, id, DropReason::QueueFull);
    }

    /// Returns the earliest time at which the host may inject its next packet.
    /// At least one of the host's uplinks is idle at the returned time.
    /// At the returned time, every uplink of the host has at most four full packets left to send.
    /// For an unknown host, returns the fabric's time.
    #[inline(always)]
    pub fn uplink_free_at(&self, host: HostId) -> Time {
        let Some(&uplinks) = self.uplinks.get(host.0 as usize) else {
            return self.now;
        };
        Time::from_ps(match uplinks.others {
            0 => self.network.ports[uplinks.first as usize].busy_until_ps,
            _ => {
                let headers = self.packets.all();
                self.bonds.free_at_ps(uplinks, &self.network, headers)
            }
        })
    }

    /// Returns the uplink through which a packet of the host leaves.
    #[inline(always)]
    fn uplink_for(&mut self, host: HostId, packet: &Packet) -> u32 {
        let uplinks = self.uplinks[host.0 as usize];
        match uplinks.others {
            0 => uplinks.first,
            _ => {
                let headers = self.packets.all();
                self.bonds.choose(uplinks, packet, &self.network, headers)
            }
        }
    }

    /// Returns whether the network has the source and the destination of a packet.
    #[inline]
    fn knows(&self, from: HostId, packet: &Packet) -> bool {
        let hosts = self.uplinks.len() as u32;
        let is_known = |host: HostId| host.0 < hosts;
        is_known(from) && is_known(packet.src) && (is_known(packet.dst) || packet.dst.is_group())
    }

    /// Returns `true` if an event must happen before `now`. Otherwise advances the fabric's time to `now`.
    /// If `now` is in the past, counts a late packet.
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

    /// Stores a packet that was injected early, until its time of entry.
    #[cold]
    fn enter_later(&mut self, at: Time, from: HostId, id: PacketId) -> Injected {
        self.edge.hold(at, id, from);
        self.engine.push(self.behind_links(at, ENTRY, id));
        Injected {
            free_at: self.uplink_free_at(from).max(at),
            dropped: None,
        }
    }

    /// Injects the first early packet whose time of entry has come.
    #[cold]
    pub(super) fn enter_now(&mut self, now: Time) {
        let Some((id, from)) = self.edge.release(now) else {
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

    /// Stores the hints of a packet. Only a network with a chooser, groups or purging packets needs hints.
    #[inline(never)]
    fn note_hints(&mut self, packet: &Packet, id: PacketId, hints: &Hints) {
        if hints.purges != 0 || hints.purge_key != 0 || packet.hop_limit != 0 {
            // After the first packet with hints, the network is special. Networks without hints keep the fast path.
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
