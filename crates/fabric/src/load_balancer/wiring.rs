//! Fixed properties of the network that path choosers use.
//! Examples are ports that lead up, the opposite direction of each link, and the racks and pods of hosts.

use crate::topology::{Node, Topology};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use tailcut_units::HostId;

/// Value that means "no port", "no link" or "no switch".
pub(crate) const NONE: u32 = u32::MAX;

/// Fixed properties of ports, switches and hosts.
///
/// Uplinks have *slots*. If uplinks of two switches have the same slot, their levels can be compared.
///
/// - Edge switches: all edges use the same slots. There is one slot for each aggregation switch of a pod.
///   Aggregation switches of different pods that reach the same cores have the same slot.
/// - Aggregation switches: all aggregation switches that reach the same cores use the same slots, one for each core.
/// - Each of several parallel links has its own slot.
#[derive(Debug)]
pub(crate) struct Wiring {
    /// Number of each port among all uplinks, in the order of the switches. [`NONE`] for a port that does not lead up.
    uplink: Vec<u32>,
    /// Range of uplink numbers of each switch.
    uplinks: Vec<Range<u32>>,
    /// Port of each uplink.
    ports: Vec<u32>,
    /// Slot of each uplink.
    slots: Vec<u32>,
    /// Number of slots of each switch. Some slots may be used only by other switches with the same slots.
    slot_counts: Vec<u32>,
    /// Port in the opposite direction of each link. [`NONE`] for the link of a host.
    back: Vec<u32>,
    /// Range of ports of each switch.
    ports_of: Vec<Range<u32>>,
    /// Switch to which each host is connected.
    racks: Vec<u32>,
    /// Tier of each switch.
    tiers: Vec<u8>,
    /// Number of each switch's pod. A pod is a part of the network that is connected by its two lowest tiers.
    pods: Vec<u32>,
}

impl Wiring {
    pub fn of(topology: &Topology) -> Self {
        let tiers: Vec<u8> = topology.switches.iter().map(|spec| spec.tier).collect();
        let tier = |switch: u32| tiers[switch as usize];
        let links = topology.links.iter();
        let ends: Vec<(u32, u32)> = links
            .map(|link| (switch_of(link.from), switch_of(link.to)))
            .collect();
        let mut uplink = alloc::vec![NONE; ends.len()];
        let mut uplinks = alloc::vec![0..0; tiers.len()];
        let mut ports = Vec::new();
        // The n-th link from a to b and the n-th link from b to a are the two directions of the same cable.
        let mut between: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (port, &(from, to)) in ends.iter().enumerate() {
            if from == NONE || to == NONE {
                continue;
            }
            between.entry((from, to)).or_default().push(port as u32);
            if tier(to) > tier(from) {
                let number = ports.len() as u32;
                let its = &mut uplinks[from as usize];
                // A switch has consecutive ports, so its uplinks also have consecutive numbers.
                let first = if its.end == 0 { number } else { its.start };
                *its = first..number + 1;
                uplink[port] = number;
                ports.push(port as u32);
            }
        }
        let mut back = alloc::vec![NONE; ends.len()];
        for (&(from, to), there) in &between {
            let empty = Vec::new();
            let and_back = between.get(&(to, from)).unwrap_or(&empty);
            for (&port, &its_back) in there.iter().zip(and_back) {
                back[port as usize] = its_back;
            }
        }
        let pods = connected(&tiers, &ends, |tier| tier <= 1);
        let uplinks_between = ports.iter().map(|&port| ends[port as usize]);
        let (slots, slot_counts) = slots(&tiers, &pods, &ends, uplinks_between);
        Self {
            uplink,
            uplinks,
            ports,
            slots,
            slot_counts,
            back,
            ports_of: ports_of(topology),
            racks: topology.racks.clone(),
            pods,
            tiers,
        }
    }

    /// Returns the number of a port among all uplinks, or [`NONE`] for a port that does not lead up.
    #[inline]
    pub fn uplink(&self, port: u32) -> u32 {
        self.uplink[port as usize]
    }

    /// Returns the range of uplink numbers of a switch.
    pub fn uplinks(&self, switch: u32) -> Range<u32> {
        self.uplinks[switch as usize].clone()
    }

    /// Returns the number of uplinks of the whole network.
    pub fn uplink_count(&self) -> usize {
        self.ports.len()
    }

    /// Returns the port of an uplink.
    pub fn port(&self, uplink: u32) -> u32 {
        self.ports[uplink as usize]
    }

    /// Returns the slot of an uplink.
    pub fn slot(&self, uplink: u32) -> usize {
        self.slots[uplink as usize] as usize
    }

    /// Returns the number of slots that the uplinks of a switch use.
    pub fn slot_count(&self, switch: u32) -> usize {
        self.slot_counts[switch as usize] as usize
    }

    /// Returns the port in the opposite direction of a link. This port belongs to the switch at which the link ends.
    /// Returns [`NONE`] for the link of a host.
    #[inline]
    pub fn back(&self, link: u32) -> u32 {
        self.back[link as usize]
    }

    /// Returns whether a port leads from one switch to another.
    #[inline]
    pub fn is_between_switches(&self, port: u32) -> bool {
        self.back[port as usize] != NONE
    }

    /// Returns the range of ports of a switch.
    pub fn ports_of(&self, switch: u32) -> Range<u32> {
        self.ports_of[switch as usize].clone()
    }

    /// Returns the switch to which a host is connected.
    #[inline]
    pub fn rack(&self, host: HostId) -> u32 {
        self.racks[host.0 as usize]
    }

    /// Returns the tier of a switch.
    pub fn tier(&self, switch: u32) -> u8 {
        self.tiers[switch as usize]
    }

    /// Returns whether a switch is in the pod of a host.
    pub fn is_in_pod_of(&self, switch: u32, host: HostId) -> bool {
        self.pods[switch as usize] == self.pods[self.rack(host) as usize]
    }

    /// Returns the number of switches in the network.
    pub fn switches(&self) -> usize {
        self.tiers.len()
    }
}

/// Returns a label for each switch. Switches with the same label are connected by switches of the selected tiers.
/// The label is the lowest number among the connected switches. A switch of another tier has its own label.
fn connected(tiers: &[u8], ends: &[(u32, u32)], of: impl Fn(u8) -> bool) -> Vec<u32> {
    let mut parts: Vec<u32> = (0..tiers.len() as u32).collect();
    let within = |switch: u32| switch != NONE && of(tiers[switch as usize]);
    loop {
        // Labels are copied along the links until no label changes.
        let mut changed = false;
        for &(from, to) in ends {
            if within(from) && within(to) && parts[from as usize] < parts[to as usize] {
                parts[to as usize] = parts[from as usize];
                changed = true;
            }
        }
        if !changed {
            return parts;
        }
    }
}

/// Returns the slot of each uplink, and the number of slots of each switch (see [`Wiring`]).
fn slots(
    tiers: &[u8],
    pods: &[u32],
    ends: &[(u32, u32)],
    uplinks: impl Iterator<Item = (u32, u32)>,
) -> (Vec<u32>, Vec<u32>) {
    // A plane is a group of aggregation switches, with the cores that connect them.
    let planes = connected(tiers, ends, |tier| tier >= 1);
    let mut met: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut places = Vec::with_capacity(tiers.len());
    // A pod may have several aggregation switches in one plane. Each of them gets a different number.
    for (&pod, &plane) in pods.iter().zip(&planes) {
        let met = met.entry((pod, plane)).or_default();
        places.push(*met);
        *met += 1;
    }
    // Number of the group of switches that share slots. All edges form one group. Each plane forms another group.
    let sharers = |switch: u32| match tiers[switch as usize] {
        0 => NONE,
        _ => planes[switch as usize],
    };
    let mut side_by_side: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let keys: Vec<(u32, [u32; 3])> = uplinks
        .map(|(from, to)| {
            let link_number = side_by_side.entry((from, to)).or_default();
            *link_number += 1;
            let end = match tiers[from as usize] {
                0 => [planes[to as usize], places[to as usize]],
                _ => [to, 0],
            };
            (sharers(from), [end[0], end[1], *link_number])
        })
        .collect();
    let mut known: BTreeMap<u32, BTreeMap<[u32; 3], u32>> = BTreeMap::new();
    for &(sharers, key) in &keys {
        known.entry(sharers).or_default().insert(key, 0);
    }
    for slots in known.values_mut() {
        for (number, slot) in (0..).zip(slots.values_mut()) {
            *slot = number;
        }
    }
    let slots = keys.iter().map(|(sharers, key)| known[sharers][key]);
    let count = |switch| known.get(&sharers(switch)).map_or(0, BTreeMap::len) as u32;
    let counts = (0..tiers.len() as u32).map(count);
    (slots.collect(), counts.collect())
}

/// Returns the range of ports of each switch. A switch has consecutive ports.
fn ports_of(topology: &Topology) -> Vec<Range<u32>> {
    let first = topology.switches.iter().map(|spec| spec.first_port);
    let ends = first.clone().skip(1).chain([topology.links.len() as u32]);
    first.zip(ends).map(|(first, end)| first..end).collect()
}

const fn switch_of(node: Node) -> u32 {
    match node {
        Node::Switch(switch) => switch,
        Node::Host(_) => NONE,
    }
}
