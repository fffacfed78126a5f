//! Parameters of pFabric, PIAS and QoS.

use tailcut_fabric::queue::{Limit, Sharing};
use tailcut_units::{Bytes, Duration};

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
