//! The completion time of a flow alone in the network: the bound that no simulated flow may beat.

use std::collections::HashMap;
use std::sync::Arc;
use tailcut_fabric::Forwarding;
use tailcut_fabric::topology::{Node, Topology};
use tailcut_units::{Duration, HostId, Rate};
use tailcut_workload::Framing;

/// A hop of the ideal path.
#[derive(Clone, Copy, Debug)]
struct Hop {
    rate: Rate,
    delay: Duration,
}

/// Ideal completion times on one topology.
///
/// A flow's ideal is one round trip of the handshake and then its packets back to back, stored and
/// forwarded at every hop, with no window, no queue and no loss. Where equal-cost paths differ, each
/// hop takes the fastest rate and the shortest delay that any of them has there.
pub(crate) struct Ideal {
    topology: Arc<Topology>,
    framing: Framing,
    /// By source host's rack and destination host's rack: the hops between the racks' switches.
    between: HashMap<(u32, u32), Vec<Hop>>,
}

impl Ideal {
    pub fn new(topology: Arc<Topology>, framing: Framing) -> Self {
        Self {
            topology,
            framing,
            between: HashMap::new(),
        }
    }

    /// The ideal completion time of `bytes` from `src` to `dst`, handshake included.
    pub fn fct(&mut self, src: HostId, dst: HostId, bytes: u64) -> Duration {
        let overhead = self.framing.header + self.framing.preamble_and_gap;
        let there = self.hops(src, dst);
        let back = self.hops(dst, src);
        let control = u64::from(overhead);
        let handshake = one_way(&there, 1, control, control) + one_way(&back, 1, control, control);
        let mss = u64::from(self.framing.payload);
        let packets = bytes.div_ceil(mss).max(1);
        let last = bytes - (packets - 1) * mss;
        handshake + one_way(&there, packets, mss + control, last + control)
    }

    fn hops(&mut self, src: HostId, dst: HostId) -> Vec<Hop> {
        let topology = &*self.topology;
        let (from, to) = (
            topology.racks[src.0 as usize],
            topology.racks[dst.0 as usize],
        );
        let between = self
            .between
            .entry((from, to))
            .or_insert_with(|| between_racks(topology, from, dst));
        let first = hop(topology, topology.uplinks[src.0 as usize]);
        let last = ports_towards(topology, to, dst).first().copied();
        let last = last.map(|port| hop(topology, port));
        std::iter::once(first)
            .chain(between.iter().copied())
            .chain(last)
            .collect()
    }
}

fn hop(topology: &Topology, port: u32) -> Hop {
    let config = &topology.links[port as usize].config;
    Hop {
        rate: config.rate,
        delay: config.delay,
    }
}

/// The best of every hop from a rack's switch to the switch of `dst`'s rack.
fn between_racks(topology: &Topology, from: u32, dst: HostId) -> Vec<Hop> {
    let rack = topology.racks[dst.0 as usize];
    let mut hops = Vec::new();
    let mut here = vec![from];
    while !here.contains(&rack) {
        let mut best: Option<Hop> = None;
        let mut next = Vec::new();
        for &switch in &here {
            for port in ports_towards(topology, switch, dst) {
                let candidate = hop(topology, port);
                best = Some(best.map_or(candidate, |best| Hop {
                    rate: best.rate.max(candidate.rate),
                    delay: best.delay.min(candidate.delay),
                }));
                if let Node::Switch(switch) = topology.links[port as usize].to
                    && !next.contains(&switch)
                {
                    next.push(switch);
                }
            }
        }
        let Some(best) = best else { break };
        hops.push(best);
        here = next;
    }
    hops
}

fn ports_towards(topology: &Topology, switch: u32, dst: HostId) -> Vec<u32> {
    let spec = &topology.switches[switch as usize];
    match &spec.forwarding {
        Forwarding::Clos(clos) => {
            let group = clos.towards(dst);
            let first = spec.first_port + group.first;
            (first..first + group.count).collect()
        }
        Forwarding::Table(table) => {
            let ports = table.towards(dst).iter();
            ports.map(|&p| spec.first_port + u32::from(p)).collect()
        }
    }
}

/// When the last of `packets` packets, sent back to back, arrives: all of `size` bytes but the last.
///
/// The longest path through the grid of packets and hops (each cell waits for the packet before it
/// and for the hop before it): equal packets queue at the slowest hop so far, and the last packet
/// follows the one before it from some hop on.
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
