//! Parameters of the designs beside TCP and RepNet, with their sources.

use crate::priorities::{PFabricParameters, PiasParameters};
use tailcut_fabric::queue::Limit;
use tailcut_units::Duration;

/// Parameters that only some designs have.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DesignParameters {
    /// NDP's and NDP+'s.
    pub ndp: NdpParameters,
    /// pFabric's.
    pub pfabric: PFabricParameters,
    /// PIAS'.
    pub pias: PiasParameters,
}

/// Where NDP+ and SCDP demote flows: after 10 KB, 100 KB, 1 MB and 10 MB sent (SCDP paper, section V).
pub const SCDP_THRESHOLDS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// Parameters of NDP and of its switches. NDP+ has the same, and classes.
#[derive(Clone, PartialEq, Debug)]
pub struct NdpParameters {
    /// Packets pushed before the first pull, at least 1. 30 (NDP paper, section 6); 12 in the SCDP
    /// paper's model, at 1 Gb/s.
    pub initial_window: u32,
    /// Data that may wait at a switch port: 8 packets (NDP paper, section 3.1).
    pub queue: Limit,
    /// Headers and control packets that may wait at a switch port take as many bytes as so many full
    /// packets: 8, the same as data has (NDP paper, section 3.1).
    pub header_queue_packets: u32,
    /// Headers that a port sends for each data packet while both wait: 10 (NDP paper, section 3.1).
    pub headers_per_data: u32,
    /// The retransmission timeout is not less than this: 5 ms.
    pub min_rto: Duration,
    /// The retransmission timeout before the first sample: 20 ms.
    pub initial_rto: Duration,
    /// Bytes sent at which NDP+ demotes a flow, ascending, at most 7. NDP has none.
    pub thresholds: Vec<u64>,
}

impl Default for NdpParameters {
    fn default() -> Self {
        Self {
            initial_window: 30,
            queue: Limit::Packets(8),
            header_queue_packets: 8,
            headers_per_data: 10,
            min_rto: Duration::from_ms(5),
            initial_rto: Duration::from_ms(20),
            thresholds: SCDP_THRESHOLDS.to_vec(),
        }
    }
}
