//! Rule for the gap of flowlets, from the papers of CONGA and LetFlow.
//! The gap is about as long as the round-trip time, and longer than the differences between the latencies of paths.
//!
//! The range of good gaps starts at the round-trip time of the empty network.
//! With a shorter gap, a flow changes its path within a window, and its packets overtake each other.
//! The range ends at the round-trip time with full queues on the path, up to their marking threshold or limit.
//! The latencies of two paths never differ by more than the round-trip time with full queues.
//! With a longer gap, a flow that is limited by its window never pauses long enough, because ACKs arrive earlier.

use crate::config::RunConfig;
use crate::ideal;
use std::sync::Arc;
use tailcut_fabric::load_balancer::LoadBalancerConfig;
use tailcut_fabric::queue::{Limit, QueueConfig};
use tailcut_fabric::topology::{Node, Topology};
use tailcut_record::FlowletGap;
use tailcut_units::{Duration, HostId};

/// Largest number of racks for which all pairs of racks are examined.
/// In larger networks, only pairs with the first rack as sender are examined.
const RACKS_IN_PAIRS: usize = 64;

/// Assumed wait at a queue without a limit. The value is the longest gap that a scenario allows.
const UNLIMITED: Duration = Duration::from_ms(100_000_000);

/// Returns the gap of a run's flowlets if it is outside the range of good gaps.
/// `topology` is the network with its faults.
/// Returns `None` for load balancers without flowlets, and for networks with a single path.
pub(crate) fn gap_outside_range(
    config: &RunConfig,
    topology: &Arc<Topology>,
) -> Option<FlowletGap> {
    let gap = match config.switch_plan().load_balancer {
        LoadBalancerConfig::LetFlow(letflow) => letflow.gap,
        LoadBalancerConfig::Conga(conga) => conga.gap,
        _ => return None,
    };
    if topology.paths < 2 {
        return None;
    }
    let least = ideal::longest_round_trip(topology, &config.settings, config.stack);
    let framing = config.settings.framing;
    let full = u64::from(framing.wire_bytes(framing.payload));
    let most = least + longest_queueing(topology, full);
    (gap < least || gap > most).then(|| FlowletGap {
        key: format!("{}.gap", config.stack.balancer.name),
        ns: gap.as_ns(),
        least_ns: least.as_ns(),
        most_ns: most.as_ns(),
    })
}

/// Returns the longest time that a packet waits at the switches of its path while all their queues are full.
fn longest_queueing(topology: &Topology, full_packet: u64) -> Duration {
    let mut ends: Vec<(u32, HostId)> = Vec::new();
    for (host, &rack) in (0..).map(HostId).zip(&topology.racks) {
        if ends.last().is_none_or(|(last, _)| *last != rack) {
            ends.push((rack, host));
        }
    }
    let sources = match ends.len() {
        ..=RACKS_IN_PAIRS => &ends[..],
        _ => &ends[..1],
    };
    let pairs = sources
        .iter()
        .flat_map(|(from, _)| ends.iter().map(move |(_, to)| (*from, *to)));
    pairs
        .map(|(from, to)| queueing(topology, from, to, full_packet))
        .max()
        .unwrap_or_default()
}

/// Returns the time that a packet waits at the switches from a rack to a host while all queues are full.
fn queueing(topology: &Topology, rack: u32, dst: HostId, full_packet: u64) -> Duration {
    let mut wait = Duration::ZERO;
    let mut here = vec![rack];
    // A shortest path visits each switch at most once.
    for _ in 0..topology.switches.len() {
        let ports: Vec<u32> = here
            .iter()
            .flat_map(|&switch| topology.ports_towards(switch, dst, None))
            .collect();
        let waits = ports
            .iter()
            .map(|&port| wait_at(topology, port, full_packet));
        wait += waits.max().unwrap_or_default();
        here = ports
            .iter()
            .filter_map(|&port| match topology.links[port as usize].to {
                Node::Switch(switch) => Some(switch),
                Node::Host(_) => None,
            })
            .collect();
        here.sort_unstable();
        here.dedup();
        if here.is_empty() {
            break;
        }
    }
    wait
}

/// Returns the time that a full queue takes to drain. The queue of a custom discipline has no known limit.
/// A queue is full at its marking threshold, or without a threshold at its limit.
fn wait_at(topology: &Topology, port: u32, full_packet: u64) -> Duration {
    let link = &topology.links[port as usize].config;
    let limit = match (&link.phantom, &link.queue) {
        (Some(phantom), _) => Limit::Bytes(phantom.mark_above_bytes),
        (None, QueueConfig::DropTail(queue)) => queue.mark_above.unwrap_or(queue.limit),
        (None, QueueConfig::Priority(queue)) => queue.mark_above.unwrap_or(queue.limit),
        (None, QueueConfig::PushOut(queue)) => queue.mark_above.unwrap_or(queue.limit),
        (None, QueueConfig::PFabric(queue)) => queue.limit,
        (None, QueueConfig::Trimming(queue)) => queue.data_limit,
        (None, QueueConfig::Custom(_)) => return UNLIMITED,
    };
    let full = link.rate.serialisation(match limit {
        Limit::Packets(packets) => u64::from(packets) * full_packet,
        Limit::Bytes(bytes) => bytes,
    });
    full.min(UNLIMITED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_fabric::queue::DropTail;
    use tailcut_fabric::topology::{LeafSpine, Wire};
    use tailcut_units::Rate;

    #[test]
    fn a_packet_waits_at_most_behind_the_full_queues_of_its_path() {
        let wire = Wire {
            rate: Rate::from_gbps(10),
            delay: Duration::from_us(1),
        };
        let wait = |mark_above| {
            let network = LeafSpine {
                leaves: 2,
                spines: 2,
                hosts_per_leaf: 2,
                host_links: 1,
                host_wire: wire,
                spine_wire: wire,
                queue: QueueConfig::DropTail(DropTail {
                    limit: Limit::Packets(100),
                    mark_above,
                }),
                shared_buffer: None,
            };
            longest_queueing(&network.build().expect("a network"), 1_250)
        };
        // The path has three switches, and each packet takes 1 us.
        assert_eq!(wait(None), Duration::from_us(300));
        assert_eq!(wait(Some(Limit::Packets(20))), Duration::from_us(60));
    }
}
