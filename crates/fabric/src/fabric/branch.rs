//! Copies of packets to groups. Switches make copies where the paths to the members separate.

use super::Fabric;
use crate::members::Members;
use crate::multicast::Branch;
use crate::observer::Observer;
use crate::packet::{Packet, PacketId};
use crate::queue::DropReason;
use alloc::vec::Vec;
use tailcut_units::{HostId, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Handles a packet to a group at a switch. One copy leaves through every port that leads to members.
    /// If the packet is for only one member, it is forwarded like a packet to that host.
    #[cold]
    pub(crate) fn branch(&mut self, now: Time, switch: u32, id: PacketId) {
        let mut packet = *self.packets.get(id);
        if self.multicast.has_leaves(packet.dst) {
            self.keep_from_gone(now, switch, packet.dst, id);
        }
        let Some(host) = self.multicast.sole_host(packet.dst, id) else {
            return self.spread(now, switch, id);
        };
        // Only this copy of the header gets the host's address. The copy is used to choose the port.
        // The packet in the pool keeps the address of its group.
        packet.dst = host;
        match self.network.egress(now, switch, &packet) {
            Some(port) => self.arrive_at_port(now, port, id),
            None => self.drop_packet(now, None, id, DropReason::NoRoute),
        }
    }

    /// Copies a packet for several members. Every port that leads to some of the members gets one copy.
    fn spread(&mut self, now: Time, switch: u32, id: PacketId) {
        let mut branches = core::mem::take(&mut self.multicast.branches);
        let found = self.find_branches(now, switch, id, &mut branches);
        let first_port = self.network.first_port(switch);
        let others = branches.len().saturating_sub(1);
        if let Err(reason) = found {
            self.drop_packet(now, None, id, reason);
        }
        for (number, branch) in branches.drain(..).enumerate() {
            // The last branch gets the original packet, so a packet with only one branch is never copied.
            let copy = if number == others {
                id
            } else {
                let Some(copy) = self.packets.duplicate(id) else {
                    continue;
                };
                let packet = *self.packets.get(copy);
                self.books.copied.add(packet.size);
                self.purge_keys.copy(id, copy);
                if let Some(group) = self.multicast.group(packet.dst) {
                    group.packets += 1;
                }
                copy
            };
            self.multicast.set(copy, branch.members);
            self.arrive_at_port(now, first_port + branch.port, copy);
        }
        self.multicast.branches = branches;
    }

    /// Groups the members of a packet by the port through which their copy leaves.
    ///
    /// # Errors
    /// The reason why the packet has no branch.
    fn find_branches(
        &mut self,
        now: Time,
        switch: u32,
        id: PacketId,
        branches: &mut Vec<Branch>,
    ) -> Result<(), DropReason> {
        let packet = *self.packets.get(id);
        let members = core::mem::take(&mut self.multicast.members[id.0 as usize]);
        let Some(group) = self.multicast.group(packet.dst) else {
            return Err(DropReason::NoMember);
        };
        // The list of hosts is moved out of the group during the loop, because `join_branch` borrows the whole fabric.
        let hosts = core::mem::take(&mut group.hosts);
        let mut finding = Finding {
            now,
            switch,
            packet,
            members: &members,
            some_have_choices: false,
            branches,
        };
        // The first pass adds members that only one port reaches.
        // In the second pass, a member with several equal ports can then use a port that already has a copy.
        let mut only = true;
        loop {
            members.for_each(|place| self.join_branch(&mut finding, place, hosts[place], only));
            if !only || !finding.some_have_choices {
                break;
            }
            only = false;
        }
        if let Some(group) = self.multicast.group(packet.dst) {
            group.hosts = hosts;
        }
        // The order of copies must not depend on the order of members.
        // The order of copies is drawn at random, because copies may share a buffer.
        // The port with the lowest number must not always use the buffer first.
        if branches.len() > 1 {
            let first_port = self.network.first_port(switch);
            let draw = |port| self.engine.draw(now, first_port + port);
            branches.sort_unstable_by_key(|branch| (draw(branch.port), branch.port));
        }
        match (branches.is_empty(), members.is_empty()) {
            (false, _) => Ok(()),
            (true, false) => Err(DropReason::NoRoute),
            (true, true) => Err(DropReason::NoMember),
        }
    }

    /// Adds a member to the branch that leads to it. If `only` is true, only members with exactly one port are added.
    /// If `only` is false, only members with several ports are added.
    #[inline]
    fn join_branch(&mut self, finding: &mut Finding<'_>, place: usize, host: HostId, only: bool) {
        let choices = self.network.forwarding(finding.switch).towards(host);
        let count = choices.count();
        finding.some_have_choices |= count > 1;
        // A member without a port gets no copy from this switch. All members with a port get their copies.
        if count == 0 || (count == 1) != only {
            return;
        }
        if let Some(taken) = finding
            .branches
            .iter_mut()
            .find(|branch| choices.contains(branch.port))
        {
            taken.members.insert(place);
            return;
        }
        let towards_member = Packet {
            dst: host,
            ..finding.packet
        };
        if let Some(port) = self
            .network
            .egress(finding.now, finding.switch, &towards_member)
        {
            let mut members = Members::none_of(finding.members);
            members.insert(place);
            finding.branches.push(Branch {
                port: port - self.network.first_port(finding.switch),
                members,
            });
        }
    }
}

/// State of the search for the branches of a packet at a switch.
struct Finding<'a> {
    now: Time,
    switch: u32,
    packet: Packet,
    /// Members that this packet must reach.
    members: &'a Members,
    /// Whether any of the members has several ports that lead to it.
    some_have_choices: bool,
    branches: &'a mut Vec<Branch>,
}
