//! Multicast. A packet to a group leaves a switch once through every port that leads to a member, so that no
//! link carries it twice. The tree results hop by hop: if equal-cost ports lead to members, the switch's load
//! balancer chooses one of them for all. So a group has as many trees as there are paths up: one per flow
//! under ECMP, and one per packet under spraying.
//!
//! Each copy stores the members for which it is meant. It is queued, marked, trimmed or dropped on its branch
//! like any packet, without effect on other branches.
//!
//! A member that leaves is removed switch by switch. A switch removes it at the time when a notification from
//! the host that sends it could arrive over the links. Packets that have passed the switch before still
//! arrive. The notification waits in no queue and takes no bytes. Forming a group and joining it take no
//! time.

use crate::members::{Members, WORD};
use crate::packet::PacketId;
use alloc::vec::Vec;
use tailcut_units::{HostId, Time};

/// Largest number of members of a group. Each copy of a packet carries one bit for every member: 128 bytes
/// for a group of this size, and eight bytes for up to 64 members.
pub const MAX_MEMBERS: usize = 1_024;

/// Reason why hosts cannot form a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GroupError {
    /// There are no members, or more than [`MAX_MEMBERS`].
    #[error("group: found {0} members; allowed are 1 to {MAX_MEMBERS}")]
    Members(usize),
    /// One member appears twice.
    #[error("group: {0} is in it twice; allowed is once")]
    Repeated(HostId),
    /// There is no group with this address, or it is dissolved.
    #[error(
        "group: found no group {}; allowed are groups that were formed",
        .0.group_number().unwrap_or(.0.0)
    )]
    Unknown(HostId),
    /// A host that cannot be a member: it does not exist, or it is the sender.
    #[error("group: found {0}; allowed are the network's hosts except the sender")]
    Excluded(HostId),
}

/// Notification that a member leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leave {
    /// Place of the member.
    pub place: usize,
    /// Host that sends the notification.
    pub told_by: HostId,
    pub at: Time,
}

#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Hosts by their places. A host that has left keeps its place until another takes it.
    pub hosts: Vec<HostId>,
    /// Places of all members, including those that are leaving.
    pub members: Members,
    pub leaves: Vec<Leave>,
    /// Number of packets in the network.
    pub packets: u32,
    pub dissolved: bool,
}

impl Group {
    /// Returns whether packets may enter: the group was formed and is not dissolved.
    pub fn is_open(&self) -> bool {
        !self.hosts.is_empty() && !self.dissolved
    }

    /// Returns the place of a member.
    pub fn place_of(&self, host: HostId) -> Option<usize> {
        let mut places = self.hosts.iter().enumerate();
        let found = places.find(|&(place, its)| *its == host && self.members.contains(place));
        found.map(|(place, _)| place)
    }

    /// Returns whether one more member requires another word in the set that each packet carries.
    pub fn fills_its_words(&self) -> bool {
        let vacant = self.members.vacant();
        vacant >= self.hosts.len() && vacant.is_multiple_of(WORD)
    }

    /// Gives a host the lowest vacant place.
    ///
    /// # Errors
    /// The group is full.
    pub fn add(&mut self, host: HostId) -> Result<(), GroupError> {
        let place = self.members.vacant();
        if place >= MAX_MEMBERS {
            // The error contains the size that the group would have.
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

/// Port of a switch, numbered within the switch, and the members whose copy leaves through it.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub port: u32,
    pub members: Members,
}

/// Groups, and the receivers of each packet to a group.
#[derive(Debug, Default)]
pub(crate) struct Multicast {
    pub groups: Vec<Group>,
    pub free: Vec<u32>,
    /// Receivers of a packet, by its slot in the pool; only for packets to groups.
    pub members: Vec<Members>,
    /// Buffer that is used again for every packet.
    pub branches: Vec<Branch>,
}

impl Multicast {
    pub fn group(&mut self, address: HostId) -> Option<&mut Group> {
        let number = address.group_number()?;
        self.groups.get_mut(number as usize)
    }

    /// Returns whether members are leaving a group.
    #[inline]
    pub fn has_leaves(&self, address: HostId) -> bool {
        let number = address.group_number();
        let group = number.and_then(|number| self.groups.get(number as usize));
        group.is_some_and(|group| !group.leaves.is_empty())
    }

    /// Returns the group of a packet, and its receivers.
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

    /// Returns the receiving host of a packet to a group, if there is only one.
    #[inline]
    pub fn sole_host(&self, address: HostId, id: PacketId) -> Option<HostId> {
        let group = self.groups.get(address.group_number()? as usize)?;
        let place = self.members.get(id.0 as usize)?.sole()?;
        group.hosts.get(place).copied()
    }

    /// Records that a packet to a group enters the network.
    #[cold]
    pub fn enter(&mut self, address: HostId, id: PacketId) {
        let members = self.group(address).map_or_else(Members::default, |group| {
            group.packets += 1;
            match group.is_open() {
                true => group.members.clone(),
                // A dissolved group accepts no packet: without receivers it is dropped at the first switch.
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

    /// Records that a packet to a group has left the network.
    #[cold]
    pub fn leave_network(&mut self, address: HostId) {
        if let Some(group) = self.group(address) {
            group.packets -= 1;
            self.forget(address);
        }
    }

    /// Frees the number of a group that is dissolved and has no packets left.
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
