//! Multicast groups and broadcast. Hosts join and leave groups by IGMP (IPv4) and MLD (IPv6).

use crate::emulator::frames::{Arrival, Destination};
use std::collections::HashMap;
use std::net::IpAddr;
use tailcut_fabric::{Fabric, MAX_MEMBERS, Observer};
use tailcut_units::{HostId, Time};
use tailcut_wire::foreign::{Change, Membership};

/// Maximum number of groups that a host may join.
const MOST_OF_HOST: usize = 64;

/// Members of all multicast groups.
#[derive(Debug)]
pub struct Groups {
    hosts: u32,
    groups: HashMap<IpAddr, Group>,
    /// Fabric address of the group of all hosts, for broadcasts; `None` until the first broadcast creates the group.
    everybody: Option<HostId>,
}

#[derive(Debug)]
struct Group {
    address: HostId,
    members: Vec<HostId>,
}

impl Groups {
    /// Creates the groups of a network with `hosts` hosts. At first, no host is a member of a group.
    pub fn new(hosts: u32) -> Self {
        Self {
            hosts,
            groups: HashMap::new(),
            everybody: None,
        }
    }

    /// Applies a membership report of a host. Other messages have no effect.
    pub fn on_membership<B: Clone, O: Observer<B>>(
        &mut self,
        now: Time,
        host: HostId,
        word: &Membership<'_>,
        fabric: &mut Fabric<B, O>,
    ) {
        let Membership::Report(records) = word else {
            return;
        };
        for record in *records {
            match record.change {
                Change::Join => self.join(host, record.group, fabric),
                Change::Leave => self.leave(now, host, record.group, fabric),
                Change::Neither => {}
            }
        }
    }

    fn join<B: Clone, O: Observer<B>>(
        &mut self,
        host: HostId,
        group: IpAddr,
        fabric: &mut Fabric<B, O>,
    ) {
        let groups = self.groups.values();
        let of_host = groups.filter(|group| group.members.contains(&host)).count();
        if of_host >= MOST_OF_HOST {
            return;
        }
        match self.groups.get_mut(&group) {
            Some(group) if group.members.contains(&host) => {}
            Some(group) if fabric.join_group(group.address, host).is_ok() => {
                group.members.push(host);
            }
            Some(_) => {}
            None => {
                if let Ok(address) = fabric.form_group(&[host]) {
                    let members = vec![host];
                    self.groups.insert(group, Group { address, members });
                }
            }
        }
    }

    fn leave<B: Clone, O: Observer<B>>(
        &mut self,
        now: Time,
        host: HostId,
        group: IpAddr,
        fabric: &mut Fabric<B, O>,
    ) {
        let Some(known) = self.groups.get_mut(&group) else {
            return;
        };
        known.members.retain(|member| *member != host);
        fabric.leave_group(now, known.address, host, host);
        if known.members.is_empty() {
            fabric.dissolve_group(known.address);
            self.groups.remove(&group);
        }
    }

    /// Returns the fabric address of a frame's destination; `None` for a group without members.
    pub fn address<B: Clone, O: Observer<B>>(
        &mut self,
        arrival: &Arrival,
        fabric: &mut Fabric<B, O>,
    ) -> Option<HostId> {
        match arrival.to {
            Destination::Host(host) => Some(host),
            Destination::Group(group) => self.groups.get(&group).map(|group| group.address),
            Destination::Everybody => {
                if self.everybody.is_none() && self.hosts as usize <= MAX_MEMBERS {
                    let all: Vec<HostId> = (0..self.hosts).map(HostId).collect();
                    self.everybody = fabric.form_group(&all).ok();
                }
                self.everybody
            }
        }
    }
}
