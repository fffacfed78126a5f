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

use crate::packet::PacketId;
use alloc::vec::Vec;
use core::fmt;
use tailcut_units::{HostId, Time};

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
pub(crate) struct Leave {
    /// Its bit.
    pub member: u64,
    /// The host that tells the switches.
    pub told_by: HostId,
    pub at: Time,
}

#[derive(Debug, Default)]
pub(crate) struct Group {
    pub members: Vec<HostId>,
    pub leaves: Vec<Leave>,
    /// Packets in the network.
    pub packets: u32,
    pub dissolved: bool,
}

/// A port of a switch, numbered within it, and the members whose copy leaves through it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    pub port: u32,
    pub members: u64,
}

/// The groups, and what each packet to a group is for.
#[derive(Debug, Default)]
pub(crate) struct Multicast {
    pub groups: Vec<Group>,
    pub free: Vec<u32>,
    /// The members that a packet goes to, by its place in the pool; for packets to groups only.
    pub members: Vec<u64>,
    /// Room to work in.
    pub branches: Vec<Branch>,
}

impl Multicast {
    pub fn group(&mut self, address: HostId) -> Option<&mut Group> {
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

    pub fn set(&mut self, id: PacketId, members: u64) {
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

/// The numbers of the bits that are set, from the lowest.
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lowest < u64::BITS).then_some(lowest as usize)
    })
}
