//! Packets to groups: formed, left, and branched at switches.

use super::Fabric;
use crate::multicast::{Branch, Group, GroupError, Leave, MAX_MEMBERS, bits};
use crate::network::HOST;
use crate::observer::Observer;
use crate::packet::{Packet, PacketId};
use crate::queue::DropReason;
use alloc::vec::Vec;
use tailcut_units::{Duration, HostId, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Makes a group and gives its address, for [`Packet::dst`]. A sender that is a member gets its
    /// own packets back.
    ///
    /// # Errors
    /// No members, too many, or one twice.
    pub fn form_group(&mut self, members: &[HostId]) -> Result<HostId, GroupError> {
        if members.is_empty() || members.len() > MAX_MEMBERS {
            return Err(GroupError::Members(members.len()));
        }
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(GroupError::Repeated(pair[0]));
        }
        let group = Group {
            members: members.to_vec(),
            ..Group::default()
        };
        let groups = &mut self.multicast.groups;
        let number = self.multicast.free.pop().unwrap_or_else(|| {
            groups.push(Group::default());
            (groups.len() - 1) as u32
        });
        groups[number as usize] = group;
        self.is_special = true;
        Ok(HostId::group(number))
    }

    /// `member` leaves a group, or is put out of it: `told_by` says so, the member itself or the host that
    /// sends. No switch passes a packet on to it once the word is there.
    pub fn leave_group(&mut self, now: Time, address: HostId, member: HostId, told_by: HostId) {
        if let Some(group) = self.multicast.group(address)
            && let Some(place) = group.members.iter().position(|host| *host == member)
        {
            group.leaves.push(Leave {
                member: 1 << place,
                told_by,
                at: now,
            });
        }
    }

    /// `member` joins a group: every packet that enters the network from now on goes to it, too. A host that
    /// has left may come back.
    ///
    /// # Errors
    /// A group that is full, or a host that is in it.
    pub fn join_group(&mut self, address: HostId, member: HostId) -> Result<(), GroupError> {
        let Some(group) = self.multicast.group(address) else {
            return Err(GroupError::Members(0));
        };
        if let Some(place) = group.members.iter().position(|host| *host == member) {
            let bit = 1 << place;
            let before = group.leaves.len();
            group.leaves.retain(|leave| leave.member != bit);
            return match group.leaves.len() == before {
                true => Err(GroupError::Repeated(member)),
                false => Ok(()),
            };
        }
        if group.members.len() == MAX_MEMBERS {
            return Err(GroupError::Members(MAX_MEMBERS + 1));
        }
        group.members.push(member);
        Ok(())
    }

    /// How long a word from a host takes to a switch, the way that packets to the host take back; `None`
    /// without a way.
    fn word_takes(&self, mut switch: u32, from: HostId) -> Option<Duration> {
        let mut takes = Duration::ZERO;
        for _ in 0..self.network.switches.len() {
            let here = &self.network.switches[switch as usize];
            let towards = here.forwarding.towards(from);
            if towards.count() == 0 {
                return None;
            }
            let port = (here.first_port + towards.port(0)) as usize;
            let class = self.network.class(&self.network.ports[port]);
            takes += Duration::from_ps(class.delay_ps);
            let far_end = self.network.far_ends[port];
            if far_end & HOST != 0 {
                return Some(takes);
            }
            switch = far_end;
        }
        None
    }

    /// The members among those of a packet that have left as far as a switch knows, a bit each.
    fn gone(&self, now: Time, switch: u32, address: HostId, members: u64) -> u64 {
        let group = address.group_number();
        let group = group.and_then(|number| self.multicast.groups.get(number as usize));
        let leaves = group.map_or(&[][..], |group| &group.leaves);
        let known = leaves.iter().filter(|leave| {
            let knows_at = |takes| leave.at.saturating_add(takes);
            let word_takes = || self.word_takes(switch, leave.told_by);
            leave.member & members != 0 && word_takes().is_some_and(|takes| knows_at(takes) <= now)
        });
        known.fold(0, |gone, leave| gone | leave.member)
    }

    /// Ends a group: its packets in the network go on, none enters. The address may come back with
    /// another group once they have left.
    pub fn dissolve_group(&mut self, address: HostId) {
        if let Some(group) = self.multicast.group(address) {
            group.dissolved = true;
            self.multicast.forget(address);
        }
    }

    /// A packet to a group reaches a switch: a copy leaves through every port that leads to members.
    #[cold]
    pub(crate) fn branch(&mut self, now: Time, switch: u32, id: PacketId) {
        let mut branches = core::mem::take(&mut self.multicast.branches);
        let found = self.find_branches(now, switch, id, &mut branches);
        let first_port = self.network.switches[switch as usize].first_port;
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
        let mut members = self.multicast.members[id.0 as usize];
        let Some(group) = self.multicast.group(packet.dst) else {
            return Err(DropReason::NoMember);
        };
        let hosts = core::mem::take(&mut group.members);
        if !group.leaves.is_empty() {
            members &= !self.gone(now, switch, packet.dst, members);
        }
        let reason = match members {
            0 => DropReason::NoMember,
            _ => DropReason::NoRoute,
        };
        // Where there is no choice first: a port that is taken anyway is the best of several.
        for only in [true, false] {
            for place in bits(members) {
                self.join_branch(
                    now,
                    switch,
                    &packet,
                    (hosts[place], 1 << place),
                    only,
                    branches,
                );
            }
        }
        if let Some(group) = self.multicast.group(packet.dst) {
            group.members = hosts;
        }
        branches.sort_unstable_by_key(|branch| branch.port);
        match branches.is_empty() {
            true => Err(reason),
            false => Ok(()),
        }
    }

    /// Adds a member to the branch that leads to it, if the number of ports towards it is one as
    /// `only` says or else several.
    fn join_branch(
        &mut self,
        now: Time,
        switch: u32,
        packet: &Packet,
        (host, bit): (HostId, u64),
        only: bool,
        branches: &mut Vec<Branch>,
    ) {
        let choices = self.network.forwarding(switch).towards(host);
        let count = choices.count();
        if count == 0 || (count == 1) != only {
            return;
        }
        if let Some(taken) = branches.iter_mut().find(|b| choices.contains(b.port)) {
            taken.members |= bit;
            return;
        }
        let towards_member = Packet {
            dst: host,
            ..*packet
        };
        if let Some(port) = self.network.egress(now, switch, &towards_member) {
            branches.push(Branch {
                port: port - self.network.first_port(switch),
                members: bit,
            });
        }
    }
}
