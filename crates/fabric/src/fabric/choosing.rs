//! Forwarding at switches, also with load balancers that use the state of several switches (choosers).

use super::Fabric;
use crate::load_balancer::BalancerState;
use crate::load_balancer::carried::Passage;
use crate::network::forced;
use crate::observer::Observer;
use crate::packet::PacketId;
use crate::port::PortId;
use crate::queue::DropReason;
use tailcut_units::Time;

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    #[inline]
    pub(super) fn arrive_at_switch(&mut self, now: Time, switch: u32, id: PacketId) {
        if self.packets.get(id).dst.is_group() {
            return self.branch(now, switch, id);
        }
        self.forward(now, switch, id);
    }

    /// Forwards a packet to one host.
    #[inline]
    pub(super) fn forward(&mut self, now: Time, switch: u32, id: PacketId) {
        match self.network.egress(now, switch, self.packets.get(id)) {
            Some(port) => self.arrive_at_port(now, port, id),
            None => self.drop_packet(now, None, id, DropReason::NoRoute),
        }
    }

    /// Returns the state of a switch's load balancer at `now`.
    pub fn balancer_state(&self, now: Time, switch: u32) -> BalancerState {
        match &self.chooser {
            Some(chooser) => chooser.state(now, switch),
            None => {
                let switch = self.network.switches.get(switch as usize);
                switch.map_or_else(BalancerState::default, |switch| switch.balancer.state(now))
            }
        }
    }

    /// Returns the congestion levels that Expeditus measures at the switch of a port.
    /// The first level is for the sending direction of the link, and the second for the opposite direction.
    /// Returns `None` for a port that Expeditus does not measure.
    pub fn congestion_levels(&self, now: Time, port: PortId) -> Option<(u8, u8)> {
        let chooser = self.chooser.as_ref()?;
        chooser.levels(now, port.0, &self.network)
    }

    /// Handles an arrival at a switch of a special network.
    /// A special network has a chooser, groups, purging packets, or hop limits.
    #[inline(never)]
    pub(super) fn arrive_specially(&mut self, now: Time, link: u32, switch: u32, id: PacketId) {
        let packet = self.packets.get(id);
        if packet.hop_limit != 0 && packet.hops >= packet.hop_limit && !packet.dst.is_group() {
            // A packet that ends at this switch has no further effect, so it purges no other packets here.
            return self.end_at(now, switch, id);
        }
        let purges = self.purge_keys.purges(id);
        if purges != 0 {
            self.purge_at(now, switch, purges);
        }
        if self.chooser.is_some() {
            self.arrive_over_link(now, link, switch, id);
        } else {
            self.arrive_at_switch(now, switch, id);
        }
    }

    /// Handles an arrival at a switch of a network with a chooser.
    fn arrive_over_link(&mut self, now: Time, link: u32, switch: u32, id: PacketId) {
        if self.packets.get(id).dst.is_group() {
            // Packets to a group do not use the chooser. ECMP always forwards these packets.
            return self.branch(now, switch, id);
        }
        if let Some(chooser) = &mut self.chooser {
            let packet = self.packets.header(id);
            let mut passage = Passage {
                now,
                switch,
                id,
                packet,
            };
            chooser.arrives(&mut passage, link, &self.network);
        }
        match self.chosen_egress(now, switch, id) {
            Some(port) => self.arrive_at_port(now, port, id),
            None => self.drop_packet(now, None, id, DropReason::NoRoute),
        }
    }

    /// Returns the port through which a packet leaves a switch. A pinned packet has a fixed port.
    /// For any other packet, the chooser decides. If the chooser has no choice for the packet, ECMP decides.
    fn chosen_egress(&mut self, now: Time, switch: u32, id: PacketId) -> Option<u32> {
        let chooser = self.chooser.as_mut()?;
        let network = &self.network;
        let mut passage = Passage {
            now,
            switch,
            id,
            packet: self.packets.header(id),
        };
        let forwarding = network.forwarding(switch);
        let ports = forwarding.towards(passage.packet.dst);
        let count = ports.count();
        let choice = match forced(passage.packet, count, forwarding.pin_divisor())? {
            Some(choice) => Some(choice),
            None => chooser.choose(&mut passage, &ports, network),
        };
        let choice = choice.unwrap_or_else(|| network.ecmp(switch, passage.packet, count));
        let port = network.first_port(switch) + ports.port(choice);
        // Pinned packets are counted too, because the chooser's estimators measure all packets of a link.
        chooser.leaves(&mut passage, port, network);
        Some(port)
    }

    /// Removes the headers that switches have added to a packet.
    /// The headers must be removed before the packet leaves the network or returns to its sender.
    pub(super) fn strip(&mut self, id: PacketId) {
        if let Some(chooser) = &mut self.chooser {
            chooser.strips(id, self.packets.header(id));
        }
    }
}
