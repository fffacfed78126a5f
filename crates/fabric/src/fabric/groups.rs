//! Operations on multicast groups: form, join, leave and dissolve.

use super::Fabric;
use crate::multicast::{Group, GroupError, Leave, MAX_MEMBERS};
use crate::network::{HOST, Network};
use crate::observer::Observer;
use crate::packet::PacketId;
use alloc::vec::Vec;
use tailcut_units::{Duration, HostId, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Creates a group and returns its address, which senders use as [`Packet::dst`](crate::Packet::dst).
    /// A sender that is also a member receives its own packets.
    ///
    /// # Errors
    /// The list has no members or more than [`MAX_MEMBERS`], or it contains a host twice.
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
        // Networks without groups skip all checks for groups.
        self.is_special = true;
        Ok(HostId::group(number))
    }

    /// Removes `member` from a group. The host `told_by` sends a notification to all switches.
    /// The host `told_by` is the member itself or the sending host.
    /// A switch stops forwarding to the member when the notification would arrive at this switch.
    /// When all switches have the notification, another host may take the member's position in the group.
    pub fn leave_group(&mut self, now: Time, address: HostId, member: HostId, told_by: HostId) {
        let Some(group) = self.multicast.group(address) else {
            return;
        };
        let Some(place) = group.place_of(member) else {
            return;
        };
        let mut told = group.leaves.iter();
        // A second notification from the same host is ignored, because the first one arrives earlier.
        if !told.any(|leave| leave.place == place && leave.told_by == told_by) {
            group.leaves.push(Leave {
                place,
                told_by,
                at: now,
            });
        }
    }

    /// Adds `member` to a group. The member receives every packet that enters the network after this call.
    /// A host that has left the group may join again. Over time, any number of hosts may be members.
    ///
    /// # Errors
    /// The group does not exist, the host is already a member, or the group has [`MAX_MEMBERS`] members.
    /// A host that has left is still counted as a member until every switch has the notification.
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
            // A host that joins cancels its own leave notification if this notification is still on its way.
            group.leaves.retain(|leave| leave.place != place);
            return match group.leaves.len() == before {
                true => Err(GroupError::Repeated(member)),
                false => Ok(()),
            };
        }
        // Every packet stores the set of members. The positions of old members are reused before this set grows.
        if group.fills_its_words() {
            self.free_places(address);
        }
        let group = self.multicast.group(address);
        group.map_or(Err(GroupError::Unknown(address)), |group| group.add(member))
    }

    /// Frees the positions of members that have left, if every switch has the notification.
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
        // A packet in flight stores the positions of its receivers.
        // New members may now get the positions of old members, and must not receive a packet for the old members.
        // The old positions are therefore removed from the packet.
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

    /// Ends a group. Packets to the group that are in the network continue, but no new packet may enter.
    /// When no packet is left, a new group may get the same address.
    pub fn dissolve_group(&mut self, address: HostId) {
        if let Some(group) = self.multicast.group(address)
            && group.is_open()
        {
            group.dissolved = true;
            self.multicast.forget(address);
        }
    }

    /// Removes from a packet all members that have left its group, if the notification has reached this switch.
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

/// Returns whether the notification that a member leaves has reached a switch.
fn knows_of(network: &Network, now: Time, switch: u32, leave: &Leave) -> bool {
    let takes = word_takes(network, switch, leave.told_by);
    takes.is_some_and(|takes| leave.at.saturating_add(takes) <= now)
}

/// Returns the time that a notification needs from a host to a switch, or `None` without a path.
/// The notification uses the reverse of the path from the switch to the host.
fn word_takes(network: &Network, mut switch: u32, from: HostId) -> Option<Duration> {
    let mut takes = Duration::ZERO;
    // A path without a loop has at most this number of switches.
    for _ in 0..network.switches.len() {
        let here = &network.switches[switch as usize];
        let towards = here.forwarding.towards(from);
        if towards.count() == 0 {
            return None;
        }
        // Equal-cost paths usually have equal delays, so the first path represents all of them.
        let port = (here.first_port + towards.port(0)) as usize;
        let class = network.class(&network.ports[port]);
        // Only propagation delays are added.
        // The model assumes that notifications do not wait in queues and have no length.
        takes += Duration::from_ps(class.delay_ps);
        let far_end = network.far_end(port as u32);
        if far_end & HOST != 0 {
            return Some(takes);
        }
        switch = far_end;
    }
    None
}
