//! Packets to groups, branched at switches.

use super::Fabric;
use crate::members::Members;
use crate::multicast::Branch;
use crate::observer::Observer;
use crate::packet::{Packet, PacketId};
use crate::queue::DropReason;
use alloc::vec::Vec;
use tailcut_units::{HostId, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// A packet to a group reaches a switch: a copy leaves through every port that leads to members. One
    /// that is for a single member goes on as a packet to it does.
    #[cold]
    pub(crate) fn branch(&mut self, now: Time, switch: u32, id: PacketId) {
        let mut packet = *self.packets.get(id);
        if self.multicast.has_leaves(packet.dst) {
            self.keep_from_gone(now, switch, packet.dst, id);
        }
        let Some(host) = self.multicast.sole_host(packet.dst, id) else {
            return self.spread(now, switch, id);
        };
        packet.dst = host;
        match self.network.egress(now, switch, &packet) {
            Some(port) => self.arrive_at_port(now, port, id),
            None => self.drop_packet(now, None, id, DropReason::NoRoute),
        }
    }

    /// A packet for several members is copied to every port that leads to some.
    fn spread(&mut self, now: Time, switch: u32, id: PacketId) {
        let mut branches = core::mem::take(&mut self.multicast.branches);
        let found = self.find_branches(now, switch, id, &mut branches);
        let first_port = self.network.first_port(switch);
        let others = branches.len().saturating_sub(1);
        if let Err(reason) = found {
            self.drop_packet(now, None, id, reason);
        }
        for (number, branch) in branches.drain(..).enumerate() {
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

    /// Splits a packet's members by the port through which their copy leaves.
    ///
    /// # Errors
    /// Why there is none.
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
        let hosts = core::mem::take(&mut group.hosts);
        let mut finding = Finding {
            now,
            switch,
            packet,
            members: &members,
            some_have_choices: false,
            branches,
        };
        // Where there is no choice first: a port that is taken anyway is the best of several.
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
        if branches.len() > 1 {
            branches.sort_unstable_by_key(|branch| branch.port);
        }
        match (branches.is_empty(), members.is_empty()) {
            (false, _) => Ok(()),
            (true, false) => Err(DropReason::NoRoute),
            (true, true) => Err(DropReason::NoMember),
        }
    }

    /// Adds a member to the branch that leads to it, if the number of ports towards it is one as
    /// `only` says or else several.
    #[inline]
    fn join_branch(&mut self, finding: &mut Finding<'_>, place: usize, host: HostId, only: bool) {
        let choices = self.network.forwarding(finding.switch).towards(host);
        let count = choices.count();
        finding.some_have_choices |= count > 1;
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

/// A packet at a switch whose branches are looked for.
struct Finding<'a> {
    now: Time,
    switch: u32,
    packet: Packet,
    /// Whom it is for.
    members: &'a Members,
    /// Whether several ports lead to some of them.
    some_have_choices: bool,
    branches: &'a mut Vec<Branch>,
}
