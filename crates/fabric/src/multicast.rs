//! Multicast: a packet to a group leaves a switch once through every port that leads to a member, so
//! that no link carries it twice. The tree is made hop by hop: where equal-cost ports lead to members,
//! the switch's load balancer chooses one of them for all, so a group has as many trees as there are
//! ways up, one a flow under ECMP and one a packet under spraying.
//!
//! Each copy knows the members that it is for; it is queued, marked, trimmed or dropped on its branch
//! as any packet is, and its other branches go on.
//!
//! A member that leaves is cut off switch by switch: each switch knows of it when a word from the host
//! that says so could be there, at the speed of the links. What has passed a switch before arrives.
//! The word waits in no queue and takes no bytes. Groups are formed in advance, in no time.

use crate::fabric::{Fabric, HOST};
use crate::packet::{Packet, PacketId};
use crate::queue::DropReason;
use alloc::vec::Vec;
use core::fmt;
use tailcut_units::{Duration, HostId, Time};

/// The most members of a group: a copy's members are bits of a word.
pub const MAX_MEMBERS: usize = 64;

/// Why hosts do not make a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupError {
    /// None, or more than [`MAX_MEMBERS`].
    Members(usize),
    /// One of them twice.
    Repeated(HostId),
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Members(found) => {
                write!(
                    f,
                    "group: found {found} members; allowed are 1 to {MAX_MEMBERS}"
                )
            }
            Self::Repeated(host) => write!(f, "group: {host} is in it twice; allowed is once"),
        }
    }
}

impl core::error::Error for GroupError {}

/// A member that leaves.
#[derive(Clone, Copy, Debug)]
struct Leave {
    /// Its bit.
    member: u64,
    /// The host that tells the switches.
    told_by: HostId,
    at: Time,
}

#[derive(Debug, Default)]
struct Group {
    members: Vec<HostId>,
    leaves: Vec<Leave>,
    /// Packets in the network.
    packets: u32,
    dissolved: bool,
}

/// A port of a switch, numbered within it, and the members whose copy leaves through it.
#[derive(Clone, Copy, Debug)]
struct Branch {
    port: u32,
    members: u64,
}

/// The groups, and what each packet to a group is for.
#[derive(Debug, Default)]
pub(crate) struct Multicast {
    groups: Vec<Group>,
    free: Vec<u32>,
    /// The members that a packet goes to, by its place in the pool; for packets to groups only.
    members: Vec<u64>,
    /// Room to work in.
    branches: Vec<Branch>,
}

impl Multicast {
    fn group(&mut self, address: HostId) -> Option<&mut Group> {
        let number = address.group_number()?;
        self.groups.get_mut(number as usize)
    }

    /// A packet to a group enters the network.
    #[cold]
    pub fn enter(&mut self, address: HostId, id: PacketId) {
        let members = self.group(address).map_or(0, |group| {
            group.packets += 1;
            let others = (MAX_MEMBERS - group.members.len()) as u32;
            let all = u64::MAX.checked_shr(others).unwrap_or(0);
            if group.dissolved { 0 } else { all }
        });
        self.set(id, members);
    }

    fn set(&mut self, id: PacketId, members: u64) {
        let slot = id.0 as usize;
        if self.members.len() <= slot {
            self.members.resize(slot + 1, 0);
        }
        self.members[slot] = members;
    }

    /// A packet to a group is in the network no more.
    #[cold]
    pub fn leave_network(&mut self, address: HostId) {
        if let Some(group) = self.group(address) {
            group.packets -= 1;
            self.forget(address);
        }
    }

    /// Frees the number of a group that is dissolved and has no packets any more.
    fn forget(&mut self, address: HostId) {
        let Some(number) = address.group_number() else {
            return;
        };
        if let Some(group) = self.groups.get_mut(number as usize)
            && group.dissolved
            && group.packets == 0
        {
            *group = Group::default();
            self.free.push(number);
        }
    }
}

/// The numbers of the bits that are set, from the lowest.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lowest < u64::BITS).then_some(lowest as usize)
    })
}

impl<B: Copy> Fabric<B> {
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

    /// How long a word from a host takes to a switch, the way that packets to the host take back; `None`
    /// without a way.
    fn word_takes(&self, mut switch: u32, from: HostId) -> Option<Duration> {
        let mut takes = Duration::ZERO;
        for _ in 0..self.switches.len() {
            let here = &self.switches[switch as usize];
            let towards = here.forwarding.towards(from);
            if towards.count() == 0 {
                return None;
            }
            let port = (here.first_port + towards.port(0)) as usize;
            let class = &self.classes[usize::from(self.ports[port].class)];
            takes += Duration::from_ps(class.delay_ps);
            let far_end = self.far_ends[port];
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
        let first_port = self.switches[switch as usize].first_port;
        let others = branches.len().saturating_sub(1);
        if let Err(reason) = found {
            self.drop_packet(None, id, reason);
        }
        for (number, branch) in branches.drain(..).enumerate() {
            let copy = if number == others {
                id
            } else {
                let copy = self.packets.duplicate(id);
                let packet = *self.packets.header(copy);
                self.books.copied.add(packet.size);
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
        let packet = *self.packets.header(id);
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
        let switch = &mut self.switches[switch as usize];
        let choices = switch.forwarding.towards(host);
        let count = choices.count();
        if count == 0 || (count == 1) != only {
            return;
        }
        if let Some(taken) = branches.iter_mut().find(|b| choices.contains(b.port)) {
            taken.members |= bit;
            return;
        }
        let choice = match count {
            1 => 0,
            n if packet.path != Packet::ANY_PATH => {
                u32::from(packet.path) / switch.forwarding.pin_divisor() % n
            }
            n => {
                let towards_member = Packet {
                    dst: host,
                    ..*packet
                };
                let (ports, classes) = (&self.ports, &self.classes);
                let (rings, generals) = (&self.rings, &self.generals);
                let first_port = switch.first_port;
                switch.balancer.select(now, &towards_member, n, |choice| {
                    let port = choices.port(choice);
                    let of_fabric = &ports[(first_port + port) as usize];
                    let class = &classes[usize::from(of_fabric.class)];
                    crate::load_balancer::PortView {
                        port,
                        backlog_bytes: crate::books::backlog_of(
                            now, of_fabric, class, rings, generals,
                        )
                        .bytes,
                    }
                })
            }
        };
        branches.push(Branch {
            port: choices.port(choice),
            members: bit,
        });
    }
}
