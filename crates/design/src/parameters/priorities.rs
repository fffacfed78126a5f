//! Parameters of pFabric, PIAS and QoS.

use std::num::NonZeroU32;
use tailcut_fabric::queue::{Limit, Sharing};
use tailcut_transport::pfabric::PFabricConfig;
use tailcut_units::{Bytes, Duration};

/// Parameters of pFabric and its switches.
#[derive(Clone, PartialEq, Debug)]
pub struct PFabricParameters {
    /// Capacity of a queue at a switch port: 36 KB (pFabric paper, two bandwidth-delay products).
    /// Public code uses 140 packets.
    pub queue: Limit,
    /// Initial window of a flow in packets, at least 1. Default: 12 (pFabric paper). Public code uses 70.
    pub initial_window: u32,
    /// Largest window in packets, at least 1. `None`: the capacity of the queue in packets, minus 1.
    pub max_window: Option<u32>,
    /// Fixed retransmission timeout. The pFabric paper uses 45 us, with a round trip of 14.6 us.
    /// `None`: three round trips of a full packet and its ACK between the two most distant hosts, without load.
    pub rto: Option<Duration>,
    /// Number of timeouts in a row after which a flow sends only probes, at least 1. Default: 5 (pFabric paper).
    pub probe_after: u8,
}

impl Default for PFabricParameters {
    fn default() -> Self {
        let host = PFabricConfig::default();
        Self {
            queue: Limit::Bytes(36_000),
            initial_window: host.initial_window,
            max_window: None,
            rto: None,
            probe_after: host.probe_after,
        }
    }
}

/// Parameters of PIAS and its switches.
/// The switches mark at the network's threshold. All classes together have one threshold.
#[derive(Clone, PartialEq, Debug)]
pub struct PiasParameters {
    /// Thresholds: numbers of sent bytes at which a flow moves to the next lower class. The thresholds ascend.
    /// There are at most 7 thresholds. The defaults come from the authors' code, for web search at load 0.8.
    pub thresholds: Vec<u64>,
    /// Capacity of a switch port's buffer. Default: 240 packets (authors' code).
    pub limit: Limit,
    /// Whether the classes share the buffer (authors' code), or each class has a part of it (SCDP paper).
    pub sharing: Sharing,
    /// Whether the thresholds apply to all sent bytes, including retransmitted bytes.
    /// In the authors' simulation code and kernel module, retransmitted bytes are not included.
    pub resends_count: bool,
    /// Number of timeouts in a row after which a flow counts its sent bytes from zero again.
    /// `None`: never, as in the authors' simulation code. The authors' kernel modules use 2 or 3.
    pub relief_after: Option<NonZeroU32>,
    /// Whether hosts serve their own connections by class, as switches do. Default true.
    pub host_order: bool,
}

/// Thresholds of the authors' code for web search at load 0.8, in packets of 1,460 B.
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
            relief_after: None,
            host_order: true,
        }
    }
}

/// Parameters of QoS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QosParameters {
    /// Size below which flows have priority. Default: 100 KB.
    /// In a comparison with HULL, the size must be above the small flows (1 KB) and below the large flows (10 MB).
    pub small_below: Bytes,
}

impl Default for QosParameters {
    fn default() -> Self {
        Self {
            small_below: Bytes(100_000),
        }
    }
}
