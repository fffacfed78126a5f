//! Multicast: a packet to a group leaves a switch once through every port that leads to a member.
//! No link transports a multicast packet twice. Each switch decides for itself, and the decisions form a tree.
//! If several equal-cost ports lead to members, the switch's load balancer chooses one of them for all these members.
//! Under ECMP, each flow to a group has its own tree. Under spraying, each packet has its own tree.
//!
//! Each copy stores the members that it must reach.
//! A copy is queued, marked, trimmed or dropped like any other packet, without effect on other copies.
//!
//! When a member leaves, each switch removes the member separately.
//! A switch removes the member at the time when a notification from the sending host would arrive over the links.
//! Packets that have already passed the switch still arrive.
//! The notification never waits in a queue and takes no bytes.
//! A group is formed without a delay, and hosts join without a delay.

use crate::members::{Members, WORD};
use crate::packet::PacketId;
use alloc::vec::Vec;
use tailcut_units::{HostId, Time};

/// Largest number of members of a group. Each copy of a packet stores one bit for every member.
/// The bits need 128 bytes in the largest group, and eight bytes in a group of up to 64 members.
pub const MAX_MEMBERS: usize = 1_024;

/// Reason why hosts cannot form a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GroupError {
    /// The group has no members, or more than [`MAX_MEMBERS`].
    #[error("group: found {0} members; allowed are 1 to {MAX_MEMBERS}")]
    Members(usize),
    /// A host is listed twice.
    #[error("group: {0} is in it twice; allowed is once")]
    Repeated(HostId),
    /// No group has this address, or the group is dissolved.
    #[error(
        "group: found no group {}; allowed are groups that were formed",
        .0.group_number().unwrap_or(.0.0)
    )]
    Unknown(HostId),
    /// This host cannot be a member: it does not exist, or it is the sender.
    #[error("group: found {0}; allowed are the network's hosts except the sender")]
    Excluded(HostId),
}

/// Notification that a member leaves its group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leave {
    /// Position of the member in the group.
    pub place: usize,
    /// Host that sends the notification.
    pub told_by: HostId,
    pub at: Time,
}

#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Hosts by position. A host that has left keeps its position until another host gets it.
    pub hosts: Vec<HostId>,
    /// Positions of all members, including members that are leaving.
    pub members: Members,
    pub leaves: Vec<Leave>,
    /// Number of packets to the group that are in the network.
    pub packets: u32,
    pub dissolved: bool,
}

impl Group {
    /// Returns whether packets may enter: only after the group is formed, and before it is dissolved.
    pub fn is_open(&self) -> bool {
        !self.hosts.is_empty() && !self.dissolved
    }

    /// Returns the position of a member in the group.
    pub fn place_of(&self, host: HostId) -> Option<usize> {
        let mut places = self.hosts.iter().enumerate();
        let found = places.find(|&(place, its)| *its == host && self.members.contains(place));
        found.map(|(place, _)| place)
    }

    /// Returns whether the set of members needs another word for one more member. Every packet stores this set.
    pub fn fills_its_words(&self) -> bool {
        let vacant = self.members.vacant();
        vacant >= self.hosts.len() && vacant.is_multiple_of(WORD)
    }

    /// Adds a host at the lowest free position.
    ///
    /// # Errors
    /// The group already has the largest number of members.
    pub fn add(&mut self, host: HostId) -> Result<(), GroupError> {
        let place = self.members.vacant();
        if place >= MAX_MEMBERS {
            // The error contains the number of members that the group would have.
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

/// Port through which a copy leaves a switch, and the members that this copy must reach.
/// Ports are numbered within the switch.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub port: u32,
    pub members: Members,
}

/// All groups, and the receivers of each packet to a group.
#[derive(Debug, Default)]
pub(crate) struct Multicast {
    pub groups: Vec<Group>,
    pub free: Vec<u32>,
    /// Receivers of each packet to a group, by the slot of the packet in the pool.
    pub members: Vec<Members>,
    /// Buffer for branches, which is reused for every packet.
    pub branches: Vec<Branch>,
}

impl Multicast {
    pub fn group(&mut self, address: HostId) -> Option<&mut Group> {
        let number = address.group_number()?;
        self.groups.get_mut(number as usize)
    }

    /// Returns whether any member is leaving a group.
    #[inline]
    pub fn has_leaves(&self, address: HostId) -> bool {
        let number = address.group_number();
        let group = number.and_then(|number| self.groups.get(number as usize));
        group.is_some_and(|group| !group.leaves.is_empty())
    }

    /// Returns the group of a packet, and the receivers of the packet.
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

    /// Returns the receiver of a packet to a group if the packet has exactly one receiver.
    #[inline]
    pub fn sole_host(&self, address: HostId, id: PacketId) -> Option<HostId> {
        let group = self.groups.get(address.group_number()? as usize)?;
        let place = self.members.get(id.0 as usize)?.sole()?;
        group.hosts.get(place).copied()
    }

    /// Records that a packet to a group has entered the network.
    #[cold]
    pub fn enter(&mut self, address: HostId, id: PacketId) {
        let members = self.group(address).map_or_else(Members::default, |group| {
            group.packets += 1;
            match group.is_open() {
                true => group.members.clone(),
                // A dissolved group accepts no packets. A packet without receivers is dropped at the first switch.
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

    /// If a group is dissolved and has no packets left, makes its number available again.
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
