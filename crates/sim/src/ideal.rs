//! Ideal completion time of a flow that is alone in the network. No simulated flow can be faster.

use std::collections::HashMap;
use std::sync::Arc;
use tailcut_design::{Choice, Settings, Stack};
use tailcut_fabric::topology::{Node, Topology};
use tailcut_units::{Duration, HostId, Rate};
use tailcut_workload::Framing;

/// Largest number of racks for which all pairs of racks are compared.
/// Larger networks are assumed to look the same from every rack, as regular topologies do.
const RACKS_IN_PAIRS: usize = 64;

/// Returns the longest time from the first bit of a full packet to the last bit of its ACK in the empty network.
/// In each rack, the function considers the host with the slowest link.
pub(crate) fn longest_round_trip(
    topology: &Arc<Topology>,
    settings: &Settings,
    stack: Stack,
) -> Duration {
    let framing = settings.framing;
    let full = u64::from(framing.wire_bytes(framing.payload));
    let cost = |host: usize| {
        let link = &topology.links[topology.uplinks[host] as usize].config;
        link.rate.serialisation(full) + link.delay
    };
    let mut slowest: Vec<Option<usize>> = vec![None; topology.switches.len()];
    for (host, rack) in topology.racks.iter().enumerate() {
        let place = &mut slowest[*rack as usize];
        if place.is_none_or(|other| cost(host) > cost(other)) {
            *place = Some(host);
        }
    }
    let ends: Vec<HostId> = slowest
        .into_iter()
        .flatten()
        .map(|host| HostId(host as u32))
        .collect();
    let from = if ends.len() <= RACKS_IN_PAIRS {
        ends.len()
    } else {
        1
    };
    let mut ideal = Ideal::new(Arc::clone(topology), framing, stack);
    let mut longest = Duration::ZERO;
    for a in &ends[..from] {
        for b in &ends {
            longest = longest.max(ideal.round_trip(*a, *b));
        }
    }
    longest
}

/// Hop of an ideal path.
#[derive(Clone, Copy, Debug)]
struct Hop {
    rate: Rate,
    delay: Duration,
    /// Sum of the rates of all equal-cost ports of this hop, in bits per second.
    together_bps: u64,
}

/// Class of pairs of racks with the same hops between them.
/// A large network has millions of pairs, so their hops are not computed one by one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum PairClass {
    /// Any rack and itself, in a uniform network.
    OneRack,
    /// Any two racks of one pod, in a uniform network.
    OnePod,
    /// Any two racks that share no pod, in a uniform network.
    Apart,
    /// Two racks of a network that is not uniform: the racks of source and destination.
    Pair(u32, u32),
}

fn pair_class(topology: &Topology, is_uniform: bool, from: u32, to: u32) -> PairClass {
    if !is_uniform {
        return PairClass::Pair(from, to);
    }
    let in_pod = topology.tiers.first().map_or(0, |tier| tier.in_pod);
    let pod = |rack: u32| rack.checked_div(in_pod);
    match (from == to, pod(from).is_some() && pod(from) == pod(to)) {
        (true, _) => PairClass::OneRack,
        (false, true) => PairClass::OnePod,
        (false, false) => PairClass::Apart,
    }
}

/// Returns whether the topology is regular, and all links between the same two tiers have the same rate and delay.
/// A link that is slow during the whole run makes a regular topology not uniform.
fn is_uniform(topology: &Topology) -> bool {
    // Only regular topologies have names by position.
    if topology.tiers.is_empty() {
        return false;
    }
    let tier = |node| switch_of(node).map(|switch| topology.switches[switch as usize].tier);
    let tiers = topology.tiers.len();
    let mut wires = vec![None; tiers * tiers];
    topology.links.iter().all(|link| {
        let (Some(from), Some(to)) = (tier(link.from), tier(link.to)) else {
            return true;
        };
        let wire = (link.config.rate, link.config.delay);
        let pair = usize::from(from) * tiers + usize::from(to);
        *wires[pair].get_or_insert(wire) == wire
    })
}

/// Ideal completion times in one topology.
///
/// The ideal time of a flow is one round trip of the handshake, if the transport has one, plus the time of its packets.
/// The packets are sent back to back, and every hop stores and forwards each packet, without window, queue or loss.
/// If equal-cost paths differ, each hop has the highest rate and the shortest delay of its ports.
///
/// If switches choose a path for each packet, packets can overtake each other.
/// If a flow uses all paths at the same time, its ideal time is a lower bound.
/// At every hop, all equal-cost ports together serve all bytes of the flow.
/// Before the service of the flow, one packet must reach the hop. After it, another packet must reach the destination.
/// Every full packet is stored and forwarded on its path. Hosts with several links use all links at the same time.
/// In other designs, a flow uses one link.
pub(crate) struct Ideal {
    topology: Arc<Topology>,
    framing: Framing,
    stack: Stack,
    /// Whether all pairs of racks of one class have the same hops (see [`PairClass`]).
    is_uniform: bool,
    /// Hops between the switches of two racks, by the class of the pair.
    between: HashMap<PairClass, Vec<Hop>>,
    /// All hops between two hosts of which at least one is multi-homed.
    bonded: HashMap<(HostId, HostId), Vec<Hop>>,
}

impl Ideal {
    pub fn new(topology: Arc<Topology>, framing: Framing, stack: Stack) -> Self {
        Self {
            is_uniform: is_uniform(&topology),
            topology,
            framing,
            stack,
            between: HashMap::new(),
            bonded: HashMap::new(),
        }
    }

    /// Returns the ideal completion time of `bytes` from `src` to `dst`, including a handshake.
    pub fn fct(&mut self, src: HostId, dst: HostId, bytes: u64) -> Duration {
        let framing = self.framing;
        let there = self.hops(src, dst);
        let back = self.hops(dst, src);
        let control = u64::from(framing.wire_bytes(0));
        let handshake = if self.stack.design.handshake {
            one_way(&there, 1, control, control) + one_way(&back, 1, control, control)
        } else {
            Duration::ZERO
        };
        let mss = u64::from(framing.payload);
        let packets = bytes.div_ceil(mss).max(1);
        let last = (bytes - (packets - 1) * mss) as u32;
        let [full, last] =
            [framing.payload, last].map(|payload| u64::from(framing.wire_bytes(payload)));
        let choice = there.iter().any(|hop| hop.together_bps > hop.rate.as_bps());
        let data = match self.stack.balancer.choice {
            Choice::Packet | Choice::Sender if choice => over_all_paths,
            // Flowlets profit from a second path only if one path is slower than the host's link.
            Choice::Flowlet if choice && there.iter().any(|hop| hop.rate < there[0].rate) => {
                over_all_paths
            }
            _ => one_way,
        };
        handshake + data(&there, packets, full, last)
    }

    /// Returns the time from the first bit of a full packet to the last bit of its ACK in the empty network.
    pub fn round_trip(&mut self, src: HostId, dst: HostId) -> Duration {
        let framing = self.framing;
        let [control, full] =
            [0, framing.payload].map(|payload| u64::from(framing.wire_bytes(payload)));
        let (there, back) = (self.hops(src, dst), self.hops(dst, src));
        one_way(&there, 1, full, full) + one_way(&back, 1, control, control)
    }

    /// Returns whether one of the hosts has several links.
    fn is_bonded(&self, src: HostId, dst: HostId) -> bool {
        [src, dst]
            .iter()
            .any(|host| self.topology.is_multi_homed(*host))
    }

    fn hops(&mut self, src: HostId, dst: HostId) -> Vec<Hop> {
        if self.is_bonded(src, dst) {
            let hops = || bonded(&self.topology, src, dst);
            return self.bonded.entry((src, dst)).or_insert_with(hops).clone();
        }
        let topology = &*self.topology;
        let (from, to) = (
            topology.racks[src.0 as usize],
            topology.racks[dst.0 as usize],
        );
        let between = self
            .between
            .entry(pair_class(topology, self.is_uniform, from, to))
            .or_insert_with(|| between_racks(topology, from, dst));
        let first = hop(topology, topology.uplinks[src.0 as usize]);
        let last = topology.ports_towards(to, dst, None).first().copied();
        let last = last.map(|port| hop(topology, port));
        std::iter::once(first)
            .chain(between.iter().copied())
            .chain(last)
            .collect()
    }
}

/// Returns the hops between two hosts of which at least one is multi-homed.
/// The number of hops is the length of the shortest path.
/// Each hop has the highest rate and the shortest delay of all links of its kind in the network.
/// No real path is therefore faster.
fn bonded(topology: &Topology, src: HostId, dst: HostId) -> Vec<Hop> {
    let uplinks = topology.uplinks_of(src);
    let mut here: Vec<u32> = uplinks
        .clone()
        .filter_map(|link| switch_of(topology.links[link as usize].to))
        .collect();
    let downlinks = topology.links.iter().zip(0u32..);
    let downlinks = downlinks.filter(|(link, _)| link.to == Node::Host(dst));
    let downlinks: Vec<u32> = downlinks.map(|(_, port)| port).collect();
    let mut hops: Vec<Hop> = best(topology, uplinks).into_iter().collect();
    let last_switches: Vec<Node> = downlinks
        .iter()
        .map(|&port| topology.links[port as usize].from)
        .collect();
    let core = topology.links.iter().zip(0u32..);
    let core =
        core.filter(|(link, _)| matches!((link.from, link.to), (Node::Switch(_), Node::Switch(_))));
    let between = best(topology, core.map(|(_, port)| port));
    while !here
        .iter()
        .any(|&s| last_switches.contains(&Node::Switch(s)))
    {
        let mut next: Vec<u32> = here
            .iter()
            .flat_map(|&switch| topology.ports_towards(switch, dst, None))
            .filter_map(|port| switch_of(topology.links[port as usize].to))
            .collect();
        next.sort_unstable();
        next.dedup();
        if next.is_empty() {
            break;
        }
        hops.extend(between);
        here = next;
    }
    hops.extend(best(topology, downlinks.into_iter()));
    hops
}

const fn switch_of(node: Node) -> Option<u32> {
    match node {
        Node::Switch(switch) => Some(switch),
        Node::Host(_) => None,
    }
}

/// Combines ports into one hop with the highest rate, the shortest delay and the total rate.
fn best(topology: &Topology, ports: impl Iterator<Item = u32>) -> Option<Hop> {
    let hops = ports.map(|port| hop(topology, port));
    hops.reduce(|best, other| Hop {
        rate: best.rate.max(other.rate),
        delay: best.delay.min(other.delay),
        together_bps: best.together_bps.saturating_add(other.together_bps),
    })
}

fn hop(topology: &Topology, port: u32) -> Hop {
    let config = &topology.links[port as usize].config;
    Hop {
        rate: config.rate,
        delay: config.delay,
        together_bps: config.rate.as_bps(),
    }
}

/// Returns the hops from the switch of a rack to the switch of `dst`'s rack.
/// Each hop combines the best values of its ports.
fn between_racks(topology: &Topology, from: u32, dst: HostId) -> Vec<Hop> {
    let rack = topology.racks[dst.0 as usize];
    let mut hops = Vec::new();
    let mut here = vec![from];
    // A shortest path visits each switch at most once, so a visited switch need not be visited again.
    let mut seen = vec![false; topology.switches.len()];
    while !here.contains(&rack) {
        let mut ports = Vec::new();
        let mut next = Vec::new();
        for &switch in &here {
            for port in topology.ports_towards(switch, dst, None) {
                ports.push(port);
                if let Node::Switch(switch) = topology.links[port as usize].to
                    && !std::mem::replace(&mut seen[switch as usize], true)
                {
                    next.push(switch);
                }
            }
        }
        let Some(best) = best(topology, ports.into_iter()) else {
            break;
        };
        hops.push(best);
        here = next;
    }
    hops
}

/// Returns the time until the last of `packets` packets arrives, if they are sent back to back.
/// All packets have `size` bytes, except the last one, which has `last` bytes.
///
/// The time is the longest path through the grid of packets and hops.
/// In this grid, each cell waits for the previous packet and for the previous hop.
/// Equal packets queue at the slowest hop. After some hop, the last packet follows directly after the packet before it.
fn one_way(hops: &[Hop], packets: u64, size: u64, last: u64) -> Duration {
    let delays = hops.iter().fold(Duration::ZERO, |sum, hop| sum + hop.delay);
    let full = |hop: &Hop| hop.rate.serialisation(size);
    let short = |hop: &Hop| hop.rate.serialisation(last);
    if packets == 1 {
        return hops.iter().fold(delays, |sum, hop| sum + short(hop));
    }
    let mut rest: Duration = hops
        .iter()
        .fold(Duration::ZERO, |sum, hop| sum + short(hop));
    let mut longest = Duration::ZERO;
    let mut so_far = Duration::ZERO;
    let mut slowest = Duration::ZERO;
    for hop in hops {
        so_far += full(hop);
        slowest = slowest.max(full(hop));
        longest = longest.max(so_far + slowest * (packets - 2) + rest);
        rest = rest.saturating_sub(short(hop));
    }
    delays + longest
}

/// Returns a lower bound of the time until `packets` packets arrive, if each packet can take a different path.
/// All packets have `size` bytes, except the last one.
/// At the slowest hop, all ports together serve all bytes.
/// Before the service at the slowest hop, one packet must reach the hop.
/// After the service at the slowest hop, one packet must reach the destination.
/// The last packet of a flow is the smallest. At most one of the two packets can be the last packet.
/// The time of the full packets alone is also a lower bound.
fn over_all_paths(hops: &[Hop], packets: u64, size: u64, last: u64) -> Duration {
    let delays = hops.iter().fold(Duration::ZERO, |sum, hop| sum + hop.delay);
    let way = |hops: &[Hop], bytes: u64| {
        let each = hops.iter().map(|hop| hop.rate.serialisation(bytes));
        each.fold(Duration::ZERO, |sum, time| sum + time)
    };
    let work = |hop: &Hop, bytes: u64, least: u64| {
        let together = Rate::from_bps(hop.together_bps).unwrap_or(hop.rate);
        let least = hop.rate.serialisation(least);
        together.serialisation(bytes).max(least)
    };
    let full = (packets - 1) * size;
    let largest = if packets == 1 { last } else { size };
    let at_hop = hops.iter().enumerate().map(|(place, hop)| {
        let (before, after) = (&hops[..place], &hops[place + 1..]);
        let last_goes_first = way(before, last) + way(after, largest);
        let last_comes_last = way(before, largest) + way(after, last);
        let all = last_goes_first.min(last_comes_last) + work(hop, full + last, last);
        let full_alone = match packets {
            1 => Duration::ZERO,
            _ => way(before, size) + way(after, size) + work(hop, full, size),
        };
        all.max(full_alone)
    });
    delays + at_hop.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_fabric::queue::{DropTail, Limit, QueueConfig};
    use tailcut_fabric::topology::{
        CoreOversubscription, FatTree, LeafSpine, LinkFault, Trouble, Wire,
    };
    use tailcut_units::Time;

    const BYTES: [u64; 3] = [1, 50_000, 3_000_000];

    fn wire(gbps: u64, us: u64) -> Wire {
        Wire {
            rate: Rate::from_gbps(gbps),
            delay: Duration::from_us(us),
        }
    }

    fn queue() -> QueueConfig {
        QueueConfig::DropTail(DropTail {
            limit: Limit::Packets(100),
            mark_above: None,
        })
    }

    fn fat_tree(cores: CoreOversubscription) -> Topology {
        let tree = FatTree {
            k: 6,
            tiers: 3,
            edge_downlinks: 4,
            host_links: 1,
            core_oversubscription: cores,
            host_wire: wire(10, 1),
            fabric_wire: wire(25, 2),
            core_wire: wire(40, 3),
            queue: queue(),
            shared_buffer: None,
        };
        tree.build().expect("a fat-tree")
    }

    fn leaf_spine() -> Topology {
        let network = LeafSpine {
            leaves: 4,
            spines: 3,
            hosts_per_leaf: 3,
            host_links: 1,
            host_wire: wire(10, 1),
            spine_wire: wire(40, 2),
            queue: queue(),
            shared_buffer: None,
        };
        network.build().expect("a leaf-spine network")
    }

    /// Returns the ideal times between all pairs of hosts.
    fn all_times(topology: &Topology, by_class: bool) -> Vec<Duration> {
        let stack: Stack = "dctcp".parse().expect("a design");
        let mut ideal = Ideal::new(Arc::new(topology.clone()), Framing::ETHERNET_TCP, stack);
        ideal.is_uniform &= by_class;
        let hosts = 0..topology.hosts();
        let pairs = hosts
            .clone()
            .flat_map(|a| hosts.clone().map(move |b| (HostId(a), HostId(b))));
        let pairs = pairs.filter(|(a, b)| a != b);
        pairs
            .flat_map(|(a, b)| BYTES.map(|bytes| (a, b, bytes)))
            .map(|(a, b, bytes)| ideal.fct(a, b, bytes))
            .collect()
    }

    #[test]
    fn pairs_of_one_class_have_the_times_of_each_pair_alone() {
        let trees = [
            fat_tree(CoreOversubscription::None),
            fat_tree(CoreOversubscription::CoresPerAggregation(2)),
            leaf_spine(),
        ];
        for topology in trees {
            assert!(is_uniform(&topology));
            assert_eq!(all_times(&topology, true), all_times(&topology, false));
        }
    }

    #[test]
    fn a_network_with_a_slow_link_is_not_uniform() {
        let mut topology = leaf_spine();
        let slow = LinkFault {
            a: Node::Switch(0),
            b: Node::Switch(4),
            number: None,
            trouble: Trouble::Slow(Rate::from_gbps(1)),
            from: Time::ZERO,
            until: Time::MAX,
            reconvergence: Duration::ZERO,
        };
        topology.add_faults(&[slow]).expect("the link exists");
        assert!(!is_uniform(&topology));
    }
}
