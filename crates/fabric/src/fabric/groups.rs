//! Groups: formed, joined, left, dissolved.

use super::Fabric;
use crate::multicast::{Group, GroupError, Leave, MAX_MEMBERS};
use crate::network::{HOST, Network};
use crate::observer::Observer;
use crate::packet::PacketId;
use alloc::vec::Vec;
use tailcut_units::{Duration, HostId, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Makes a group and gives its address, for [`Packet::dst`](crate::Packet::dst). A sender that is a member
    /// gets its own packets back.
    ///
    /// # Errors
    /// No members, more than [`MAX_MEMBERS`], or one twice.
    pub fn form_group(&mut self, members: &[HostId]) -> Result<HostId, GroupError> {
        if members.is_empty() || members.len() > MAX_MEMBERS {
            return Err(GroupError::Members(members.len()));
        }
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(GroupError::Repeated(pair[0]));
        }
        let mut group = Group::default();
        for host in members {
            group.add(*host)?;
        }
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
    /// sends. No switch passes a packet on to it once the word is there. Its place is free for another when
    /// the word is at every switch.
    pub fn leave_group(&mut self, now: Time, address: HostId, member: HostId, told_by: HostId) {
        let Some(group) = self.multicast.group(address) else {
            return;
        };
        let Some(place) = group.place_of(member) else {
            return;
        };
        let mut told = group.leaves.iter();
        if !told.any(|leave| leave.place == place && leave.told_by == told_by) {
            group.leaves.push(Leave {
                place,
                told_by,
                at: now,
            });
        }
    }

    /// `member` joins a group: every packet that enters the network from now on goes to it, too. A host that
    /// has left may come back. A group may see any number of hosts over time.
    ///
    /// # Errors
    /// No such group, one that has [`MAX_MEMBERS`] members, those counted of which some switch does not
    /// know yet that they have left, or a host that is in it.
    pub fn join_group(&mut self, address: HostId, member: HostId) -> Result<(), GroupError> {
        let Some(group) = self
            .multicast
            .group(address)
            .filter(|group| group.is_open())
        else {
            return Err(GroupError::Unknown(address));
        };
        if let Some(place) = group.place_of(member) {
            let before = group.leaves.len();
            group.leaves.retain(|leave| leave.place != place);
            return match group.leaves.len() == before {
                true => Err(GroupError::Repeated(member)),
                false => Ok(()),
            };
        }
        if group.fills_its_words() {
            self.free_places(address);
        }
        let group = self.multicast.group(address);
        group.map_or(Err(GroupError::Unknown(address)), |group| group.add(member))
    }

    /// Frees the places of members of which every switch knows that they have left.
    fn free_places(&mut self, address: HostId) {
        let Some(group) = self.multicast.group(address) else {
            return;
        };
        let mut leaves = core::mem::take(&mut group.leaves);
        let switches = 0..self.network.switches.len() as u32;
        let known_to_all = |leave: &Leave| {
            let mut switches = switches.clone();
            switches.all(|switch| knows_of(&self.network, self.now, switch, leave))
        };
        let known = leaves.iter().filter(|leave| known_to_all(leave));
        let free: Vec<usize> = known.map(|leave| leave.place).collect();
        leaves.retain(|leave| !free.contains(&leave.place));
        // The switches would keep packets that are on their way from these members, but not from those who
        // take their places.
        for (slot, members) in (0..).zip(&mut self.multicast.members) {
            if self.packets.get(PacketId(slot)).dst == address {
                free.iter().for_each(|place| members.remove(*place));
            }
        }
        if let Some(group) = self.multicast.group(address) {
            free.iter().for_each(|place| group.members.remove(*place));
            group.leaves = leaves;
        }
    }

    /// Ends a group: its packets in the network go on, none enters. The address may come back with
    /// another group once they have left.
    pub fn dissolve_group(&mut self, address: HostId) {
        if let Some(group) = self.multicast.group(address)
            && group.is_open()
        {
            group.dissolved = true;
            self.multicast.forget(address);
        }
    }

    /// Takes the members off a packet that have left its group as far as a switch knows.
    #[inline]
    pub(super) fn keep_from_gone(&mut self, now: Time, switch: u32, address: HostId, id: PacketId) {
        let (group, members) = self.multicast.group_and_members(address, id);
        let Some(group) = group else { return };
        for leave in &group.leaves {
            if members.contains(leave.place) && knows_of(&self.network, now, switch, leave) {
                members.remove(leave.place);
            }
        }
    }
}

/// Whether the word that a member leaves is at a switch.
fn knows_of(network: &Network, now: Time, switch: u32, leave: &Leave) -> bool {
    let takes = word_takes(network, switch, leave.told_by);
    takes.is_some_and(|takes| leave.at.saturating_add(takes) <= now)
}

/// How long a word from a host takes to a switch, the way that packets to the host take back; `None`
/// without a way.
fn word_takes(network: &Network, mut switch: u32, from: HostId) -> Option<Duration> {
    let mut takes = Duration::ZERO;
    for _ in 0..network.switches.len() {
        let here = &network.switches[switch as usize];
        let towards = here.forwarding.towards(from);
        if towards.count() == 0 {
            return None;
        }
        let port = (here.first_port + towards.port(0)) as usize;
        let class = network.class(&network.ports[port]);
        takes += Duration::from_ps(class.delay_ps);
        let far_end = network.far_end(port as u32);
        if far_end & HOST != 0 {
            return Some(takes);
        }
        switch = far_end;
    }
    None
}
