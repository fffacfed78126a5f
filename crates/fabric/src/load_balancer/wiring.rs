//! What switches know of the network that does not change: which of their ports lead up, which of
//! them a link arrives on, and which hosts are in which rack and pod.

use crate::topology::{Node, Topology};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use tailcut_units::HostId;

/// No such thing.
pub(crate) const NONE: u32 = u32::MAX;

/// The facts, by port, switch and host.
///
/// Uplinks have *slots*, so that what one switch says of its uplinks another can put beside its own. Those of
/// all edges share their slots: one for each aggregation switch of a pod, the same in every pod for those
/// that reach the same cores. Those of aggregation switches that reach the same cores share theirs: one for
/// each core. Of links side by side, each has its own.
#[derive(Debug)]
pub(crate) struct Wiring {
    /// Each port that leads up, numbered over the network, switch by switch; [`NONE`] for others.
    uplink: Vec<u32>,
    /// The uplinks of each switch.
    uplinks: Vec<Range<u32>>,
    /// The ports of the uplinks.
    ports: Vec<u32>,
    /// The slots of the uplinks.
    slots: Vec<u32>,
    /// How many slots the uplinks of each switch have together with those that they share them with.
    slot_counts: Vec<u32>,
    /// By link: the port that leads back to where the link comes from; [`NONE`] for a host's.
    back: Vec<u32>,
    /// The ports of each switch.
    ports_of: Vec<Range<u32>>,
    /// Each host's switch.
    racks: Vec<u32>,
    /// Each switch's tier.
    tiers: Vec<u8>,
    /// Each switch's pod: what the two lowest tiers connect.
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
        // The n-th link from a to b and the n-th from b to a are the two directions of one.
        let mut between: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (port, &(from, to)) in ends.iter().enumerate() {
            if from == NONE || to == NONE {
                continue;
            }
            between.entry((from, to)).or_default().push(port as u32);
            if tier(to) > tier(from) {
                let number = ports.len() as u32;
                let its = &mut uplinks[from as usize];
                // A switch's ports are without a gap, so its uplinks are too.
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

    /// The number of a port among all that lead up; [`NONE`] for one that does not.
    #[inline]
    pub fn uplink(&self, port: u32) -> u32 {
        self.uplink[port as usize]
    }

    /// The numbers of a switch's uplinks.
    pub fn uplinks(&self, switch: u32) -> Range<u32> {
        self.uplinks[switch as usize].clone()
    }

    /// How many uplinks there are in the network.
    pub fn uplink_count(&self) -> usize {
        self.ports.len()
    }

    /// The port of an uplink.
    pub fn port(&self, uplink: u32) -> u32 {
        self.ports[uplink as usize]
    }

    /// An uplink's slot.
    pub fn slot(&self, uplink: u32) -> usize {
        self.slots[uplink as usize] as usize
    }

    /// How many slots there are for the uplinks of a switch.
    pub fn slot_count(&self, switch: u32) -> usize {
        self.slot_counts[switch as usize] as usize
    }

    /// The port, of the switch where a link arrives, that leads back; [`NONE`] on a host's link.
    #[inline]
    pub fn back(&self, link: u32) -> u32 {
        self.back[link as usize]
    }

    /// Whether a port leads from one switch to another.
    #[inline]
    pub fn is_between_switches(&self, port: u32) -> bool {
        self.back[port as usize] != NONE
    }

    /// A switch's ports.
    pub fn ports_of(&self, switch: u32) -> Range<u32> {
        self.ports_of[switch as usize].clone()
    }

    /// A host's switch.
    #[inline]
    pub fn rack(&self, host: HostId) -> u32 {
        self.racks[host.0 as usize]
    }

    /// A switch's tier.
    pub fn tier(&self, switch: u32) -> u8 {
        self.tiers[switch as usize]
    }

    /// Whether a switch is in the pod of a host.
    pub fn is_in_pod_of(&self, switch: u32, host: HostId) -> bool {
        self.pods[switch as usize] == self.pods[self.rack(host) as usize]
    }

    /// How many switches there are.
    pub fn switches(&self) -> usize {
        self.tiers.len()
    }
}

/// Each switch's part of the network of `tiers` alone, by the lowest number among the switches that these
/// connect; a switch of another tier is its own part.
fn connected(tiers: &[u8], ends: &[(u32, u32)], of: impl Fn(u8) -> bool) -> Vec<u32> {
    let mut parts: Vec<u32> = (0..tiers.len() as u32).collect();
    let within = |switch: u32| switch != NONE && of(tiers[switch as usize]);
    loop {
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

/// The slots of uplinks, in their order, and how many there are for each switch: see [`Wiring`].
fn slots(
    tiers: &[u8],
    pods: &[u32],
    ends: &[(u32, u32)],
    uplinks: impl Iterator<Item = (u32, u32)>,
) -> (Vec<u32>, Vec<u32>) {
    // Aggregation switches with the cores that connect them.
    let planes = connected(tiers, ends, |tier| tier >= 1);
    let mut met: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut places = Vec::with_capacity(tiers.len());
    for (&pod, &plane) in pods.iter().zip(&planes) {
        let met = met.entry((pod, plane)).or_default();
        places.push(*met);
        *met += 1;
    }
    // Who shares slots with whom, and what tells the slots apart.
    let sharers = |switch: u32| match tiers[switch as usize] {
        0 => NONE,
        _ => planes[switch as usize],
    };
    let mut side_by_side: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let keys: Vec<(u32, [u32; 3])> = uplinks
        .map(|(from, to)| {
            let beside = side_by_side.entry((from, to)).or_default();
            *beside += 1;
            let end = match tiers[from as usize] {
                0 => [planes[to as usize], places[to as usize]],
                _ => [to, 0],
            };
            (sharers(from), [end[0], end[1], *beside])
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

/// Each switch's ports: they follow each other, switch by switch.
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
