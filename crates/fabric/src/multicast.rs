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
//! The word waits in no queue and takes no bytes. Groups are formed, and hosts join them, in no time.

use crate::members::{Members, WORD};
use crate::packet::PacketId;
use alloc::vec::Vec;
use tailcut_units::{HostId, Time};

/// The most members of a group. Each copy of a packet carries a bit for every member, so that a copy to
/// such a group carries 128 bytes; up to 64 members it carries eight.
pub const MAX_MEMBERS: usize = 1_024;

/// Why hosts do not make a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GroupError {
    /// None, or more than [`MAX_MEMBERS`].
    #[error("group: found {0} members; allowed are 1 to {MAX_MEMBERS}")]
    Members(usize),
    /// One of them twice.
    #[error("group: {0} is in it twice; allowed is once")]
    Repeated(HostId),
    /// There is no group with this address, or it is dissolved.
    #[error(
        "group: found no group {}; allowed are groups that were formed",
        .0.group_number().unwrap_or(.0.0)
    )]
    Unknown(HostId),
    /// A host that cannot be in it: there is none with this number, or it is the one that sends.
    #[error("group: found {0}; allowed are the network's hosts but for the sender")]
    Excluded(HostId),
}

/// A member that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leave {
    /// Its place.
    pub place: usize,
    /// The host that tells the switches.
    pub told_by: HostId,
    pub at: Time,
}

#[derive(Debug, Default)]
pub(crate) struct Group {
    /// The hosts by their places. One that has left keeps its place until another takes it.
    pub hosts: Vec<HostId>,
    /// The places of members, of those that leave, too.
    pub members: Members,
    pub leaves: Vec<Leave>,
    /// Packets in the network.
    pub packets: u32,
    pub dissolved: bool,
}

impl Group {
    /// Whether it is there for packets to enter: it was formed, and is not dissolved.
    pub fn is_open(&self) -> bool {
        !self.hosts.is_empty() && !self.dissolved
    }

    /// The place of a member.
    pub fn place_of(&self, host: HostId) -> Option<usize> {
        let mut places = self.hosts.iter().enumerate();
        let found = places.find(|&(place, its)| *its == host && self.members.contains(place));
        found.map(|(place, _)| place)
    }

    /// Whether one member more needs a word more in the set that each packet carries.
    pub fn fills_its_words(&self) -> bool {
        let vacant = self.members.vacant();
        vacant >= self.hosts.len() && vacant.is_multiple_of(WORD)
    }

    /// Gives a host the lowest place that is vacant.
    ///
    /// # Errors
    /// A group that is full.
    pub fn add(&mut self, host: HostId) -> Result<(), GroupError> {
        let place = self.members.vacant();
        if place >= MAX_MEMBERS {
            return Err(GroupError::Members(MAX_MEMBERS + 1));
        }
        self.members.insert(place);
        match self.hosts.get_mut(place) {
            Some(former) => *former = host,
            None => self.hosts.push(host),
        }
        Ok(())
    }
}

/// A port of a switch, numbered within it, and the members whose copy leaves through it.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub port: u32,
    pub members: Members,
}

/// The groups, and what each packet to a group is for.
#[derive(Debug, Default)]
pub(crate) struct Multicast {
    pub groups: Vec<Group>,
    pub free: Vec<u32>,
    /// The members that a packet goes to, by its place in the pool; for packets to groups only.
    pub members: Vec<Members>,
    /// Room to work in.
    pub branches: Vec<Branch>,
}

impl Multicast {
    pub fn group(&mut self, address: HostId) -> Option<&mut Group> {
        let number = address.group_number()?;
        self.groups.get_mut(number as usize)
    }

    /// Whether members leave a group.
    #[inline]
    pub fn has_leaves(&self, address: HostId) -> bool {
        let number = address.group_number();
        let group = number.and_then(|number| self.groups.get(number as usize));
        group.is_some_and(|group| !group.leaves.is_empty())
    }

    /// A packet's group and the members that it goes to.
    #[inline]
    pub fn group_and_members(
        &mut self,
        address: HostId,
        id: PacketId,
    ) -> (Option<&Group>, &mut Members) {
        let number = address.group_number();
        let group = number.and_then(|number| self.groups.get(number as usize));
        (group, &mut self.members[id.0 as usize])
    }

    /// The host that a packet to a group is for, where that is a single one.
    #[inline]
    pub fn sole_host(&self, address: HostId, id: PacketId) -> Option<HostId> {
        let group = self.groups.get(address.group_number()? as usize)?;
        let place = self.members.get(id.0 as usize)?.sole()?;
        group.hosts.get(place).copied()
    }

    /// A packet to a group enters the network.
    #[cold]
    pub fn enter(&mut self, address: HostId, id: PacketId) {
        let members = self.group(address).map_or_else(Members::default, |group| {
            group.packets += 1;
            match group.is_open() {
                true => group.members.clone(),
                false => Members::default(),
            }
        });
        self.set(id, members);
    }

    #[inline]
    pub fn set(&mut self, id: PacketId, members: Members) {
        let slot = id.0 as usize;
        if self.members.len() <= slot {
            self.members.resize(slot + 1, Members::default());
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
    #[inline]
    pub fn forget(&mut self, address: HostId) {
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
