//! pFabric, PIAS and QoS in a run: the queues that they ask of switches, and what their hosts are told.

use crate::config::RunConfig;
use crate::ideal::Ideal;
use crate::parameters::{PFabricParameters, PiasParameters};
use crate::queues;
use std::sync::Arc;
use tailcut_fabric::queue::{Limit, PFabric, Priority, QueueConfig, Sharing};
use tailcut_fabric::topology::Topology;
use tailcut_transport::pfabric::PFabricConfig;
use tailcut_units::{Duration, HostId};

/// Bytes that a full packet takes on a link.
fn full_packet(config: &RunConfig) -> u64 {
    let framing = &config.framing;
    u64::from(framing.wire_bytes(framing.payload))
}

/// pFabric's queue.
pub(crate) fn pfabric_queue(parameters: &PFabricParameters) -> QueueConfig {
    QueueConfig::PFabric(PFabric {
        limit: parameters.queue,
    })
}

/// The pFabric of a host.
pub(crate) fn pfabric(config: &RunConfig, topology: &Arc<Topology>) -> PFabricConfig {
    let parameters = &config.designs.pfabric;
    let queue = match parameters.queue {
        Limit::Packets(packets) => packets,
        Limit::Bytes(bytes) => u32::try_from(bytes / full_packet(config)).unwrap_or(u32::MAX),
    };
    let rto = parameters
        .rto
        .unwrap_or_else(|| longest_round_trip(config, topology) * 3);
    let usual = PFabricConfig::default();
    PFabricConfig {
        mss: config.framing.payload,
        initial_window: parameters.initial_window,
        max_window: parameters
            .max_window
            .unwrap_or(queue.saturating_sub(1).max(1)),
        rto,
        probe_after: parameters.probe_after,
        time_wait: usual.time_wait.max(rto * 100),
        ..usual
    }
}

/// Racks up to which every pair of them is looked at; larger networks are taken to look alike from
/// every rack, as the regular topologies do.
const RACKS_IN_PAIRS: usize = 64;

/// The longest time from the first bit of a full packet to the last bit of its ACK in the empty
/// network, between the hosts with the slowest links of two racks.
fn longest_round_trip(config: &RunConfig, topology: &Arc<Topology>) -> Duration {
    let full = full_packet(config);
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
    let mut ideal = Ideal::new(Arc::clone(topology), config.framing, config.design);
    let mut longest = Duration::ZERO;
    for a in &ends[..from] {
        for b in &ends {
            longest = longest.max(ideal.round_trip(*a, *b));
        }
    }
    longest
}

/// PIAS' queue in place of the topology's.
pub(crate) fn pias_queue(parameters: &PiasParameters, usual: &QueueConfig) -> QueueConfig {
    let classes = parameters.thresholds.len() as u8 + 1;
    QueueConfig::Priority(Priority {
        classes,
        limit: queues::room(parameters.limit, parameters.sharing, classes),
        sharing: parameters.sharing,
        mark_above: mark_above(usual),
    })
}

/// Where a `usual` queue marks.
pub(crate) fn mark_above(usual: &QueueConfig) -> Option<Limit> {
    match usual {
        QueueConfig::DropTail(drop_tail) => drop_tail.mark_above,
        _ => None,
    }
}

/// The two queues of QoS in place of a `usual` one: each has all the room that it has, so that large
/// flows cannot make small ones lose anything.
pub(crate) fn qos_queue(usual: &QueueConfig) -> Option<QueueConfig> {
    let QueueConfig::DropTail(drop_tail) = usual else {
        return None;
    };
    Some(QueueConfig::Priority(Priority {
        classes: 2,
        limit: drop_tail.limit,
        sharing: Sharing::PerClass,
        mark_above: drop_tail.mark_above,
    }))
}
