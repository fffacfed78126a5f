//! pFabric, PIAS and QoS in a run: their parameters, the queues that they ask of switches, and what
//! their hosts are told.

use crate::config::RunConfig;
use crate::ideal::Ideal;
use crate::queues;
use std::sync::Arc;
use tailcut_fabric::queue::{Limit, PFabric, Priority, QueueConfig, Sharing};
use tailcut_fabric::topology::Topology;
use tailcut_transport::pfabric::PFabricConfig;
use tailcut_units::{Bytes, Duration, HostId};

/// Parameters of pFabric and of its switches.
#[derive(Clone, PartialEq, Debug)]
pub struct PFabricParameters {
    /// What may wait at a switch port: 36 KB (pFabric paper, two bandwidth-delay products); 140 packets
    /// in public code.
    pub queue: Limit,
    /// Packets that a flow starts with, at least 1: 12 (pFabric paper); 70 in public code.
    pub initial_window: u32,
    /// Packets in flight at most, at least 1; `None`: one less than the queue holds.
    pub max_window: Option<u32>,
    /// The fixed retransmission timeout; `None`: three round trips between the two hosts that are
    /// farthest apart, of a full packet and its ACK in an empty network (45 us in the pFabric paper,
    /// whose round trip is 14.6 us).
    pub rto: Option<Duration>,
    /// Timeouts in a row after which a flow only probes, at least 1: 5 (pFabric paper).
    pub probe_after: u8,
}

impl Default for PFabricParameters {
    fn default() -> Self {
        Self {
            queue: Limit::Bytes(36_000),
            initial_window: 12,
            max_window: None,
            rto: None,
            probe_after: 5,
        }
    }
}

/// Parameters of PIAS and of its switches, which mark at the topology's threshold, all classes
/// together.
#[derive(Clone, PartialEq, Debug)]
pub struct PiasParameters {
    /// Bytes sent at which a flow goes down a class, ascending, at most 7. By default those of the
    /// authors' code for web search at load 0.8.
    pub thresholds: Vec<u64>,
    /// What may wait at a switch port: 240 packets (authors' code).
    pub limit: Limit,
    /// Whether classes share that (authors' code) or each has a part of it, as in the SCDP paper.
    pub sharing: Sharing,
    /// Whether bytes that are sent again count towards the thresholds: not in the authors' simulation
    /// code, but in their kernel module.
    pub resends_count: bool,
    /// Whether hosts serve their own connections by class, as switches do: yes.
    pub host_order: bool,
}

/// The thresholds of the authors' code for web search at load 0.8, in packets of 1,460 B.
const WEB_SEARCH_AT_80_PERCENT: [u64; 7] = [909, 1_329, 1_648, 1_960, 2_143, 2_337, 2_484];

impl Default for PiasParameters {
    fn default() -> Self {
        Self {
            thresholds: WEB_SEARCH_AT_80_PERCENT
                .map(|packets| packets * 1_460)
                .to_vec(),
            limit: Limit::Packets(240),
            sharing: Sharing::Shared,
            resends_count: false,
            host_order: true,
        }
    }
}

/// Parameters of QoS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QosParameters {
    /// Flows under this size go first: 100 KB. HULL's comparison needs it anywhere between its small
    /// flows of 1 KB and its large ones of 10 MB.
    pub small_below: Bytes,
}

impl Default for QosParameters {
    fn default() -> Self {
        Self {
            small_below: Bytes(100_000),
        }
    }
}

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
