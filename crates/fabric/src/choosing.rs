//! The fabric of designs whose switches choose paths by more than they know themselves: what a
//! [`PathChooser`] is shown, and when.

use crate::fabric::Fabric;
use crate::load_balancer::{BalancerState, Network, Passage, PathChooser};
use crate::packet::{Packet, PacketId, Packets};
use crate::port::PortId;
use crate::queue::DropReason;
use alloc::boxed::Box;
use tailcut_units::{HostId, Time};

/// The chooser, and the rest of the fabric that it works on.
struct Parts<'a, B> {
    chooser: &'a mut Box<PathChooser>,
    packets: &'a mut Packets<B>,
    network: Network<'a>,
}

impl<B: Copy> Fabric<B> {
    /// Like [`Fabric::inject`], for packets of a handshake: `reverse_hash` is the hash of the opposite
    /// direction's five-tuple, by which switches that choose paths know the answer.
    #[inline(never)]
    pub fn inject_handshake(
        &mut self,
        now: Time,
        from: HostId,
        packet: Packet,
        reverse_hash: u32,
        body: B,
    ) -> Time {
        self.enter(now, from, packet, reverse_hash, body)
    }

    /// A packet enters a network that has a chooser or groups.
    #[inline(never)]
    pub(crate) fn enter_specially(&mut self, dst: HostId, reverse_hash: u32, id: PacketId) {
        if dst.is_group() {
            self.multicast.enter(dst, id);
        }
        if let Some(chooser) = &mut self.chooser {
            chooser.enters(id, reverse_hash);
        }
    }

    /// What the load balancer of a switch remembers at `now`.
    pub fn balancer_state(&self, now: Time, switch: u32) -> BalancerState {
        match &self.chooser {
            Some(chooser) => chooser.state(now, switch),
            None => self.switches[switch as usize].balancer.state(now),
        }
    }

    /// What a switch with Expeditus believes of the congestion at one of its ports: of the link that
    /// leads away and of the one that leads back, in levels. `None` at ports that it does not watch.
    pub fn congestion_levels(&self, now: Time, port: PortId) -> Option<(u8, u8)> {
        let chooser = self.chooser.as_ref()?;
        chooser.levels(now, port.0, &self.network())
    }

    const fn network(&self) -> Network<'_> {
        Network {
            ports: self.ports.as_slice(),
            classes: self.classes.as_slice(),
            rings: &self.rings,
            generals: self.generals.as_slice(),
            switches: self.switches.as_slice(),
            far_ends: self.far_ends.as_slice(),
        }
    }

    fn parts(&mut self) -> Option<Parts<'_, B>> {
        Some(Parts {
            chooser: self.chooser.as_mut()?,
            packets: &mut self.packets,
            // Field by field: the chooser and the packets are borrowed beside it.
            network: Network {
                ports: &self.ports,
                classes: &self.classes,
                rings: &self.rings,
                generals: &self.generals,
                switches: &self.switches,
                far_ends: &self.far_ends,
            },
        })
    }

    /// A packet arrives at a switch of a network that has a chooser, groups, or packets that purge.
    #[inline(never)]
    pub(crate) fn arrive_specially(&mut self, now: Time, link: u32, switch: u32, id: PacketId) {
        if self.purge_takes.is_some() && self.packets.header(id).purges {
            self.purge_at(switch, id);
        }
        if self.chooser.is_some() {
            self.arrive_over_link(now, link, switch, id);
        } else {
            self.arrive_at_switch(now, switch, id);
        }
    }

    /// A packet arrives at a switch of a network with a chooser.
    fn arrive_over_link(&mut self, now: Time, link: u32, switch: u32, id: PacketId) {
        if self.packets.header(id).dst.is_group() {
            // Trees are ECMP's.
            return self.branch(now, switch, id);
        }
        if let Some(parts) = self.parts() {
            let mut passage = Passage {
                now,
                switch,
                id,
                packet: parts.packets.header(id),
            };
            parts.chooser.arrives(&mut passage, link, &parts.network);
        }
        match self.chosen_egress(now, switch, id) {
            Some(port) => self.arrive_at_port(now, port, id),
            None => self.drop_packet(None, id, DropReason::NoRoute),
        }
    }

    /// The port through which a packet leaves a switch: as its sender has pinned it, else as the chooser
    /// says, else by ECMP.
    fn chosen_egress(&mut self, now: Time, switch: u32, id: PacketId) -> Option<u32> {
        let Parts {
            chooser,
            packets,
            network,
        } = self.parts()?;
        let mut passage = Passage {
            now,
            switch,
            id,
            packet: packets.header(id),
        };
        let forwarding = network.forwarding(switch);
        let ports = forwarding.towards(passage.packet.dst);
        let count = ports.count();
        let choice = match count {
            0 => return None,
            1 => Some(0),
            n if passage.packet.path != Packet::ANY_PATH => {
                Some(u32::from(passage.packet.path) / forwarding.pin_divisor() % n)
            }
            _ => chooser.choose(&mut passage, &ports, &network),
        };
        let choice = choice.unwrap_or_else(|| network.ecmp(switch, passage.packet, count));
        let port = network.first_port(switch) + ports.port(choice);
        chooser.leaves(&mut passage, port, &network);
        Some(port)
    }

    /// Takes off a packet what switches have put on it, before it leaves the network or turns back.
    pub(crate) fn strip(&mut self, id: PacketId) {
        if let Some(chooser) = &mut self.chooser {
            chooser.strips(id, self.packets.header(id));
        }
    }
}
