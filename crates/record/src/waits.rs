//! What packets went through on the way, where a run was asked to look: how long they waited at switch
//! ports, in what bursts they left their hosts, and what arrived.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Waits of packets at ports: from the last bit's arrival to the first bit's departure, so without
/// store-and-forward.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct WaitStats {
    /// Packets that left the ports, those that did not wait included.
    pub packets: u64,
    /// The mean, in microseconds.
    pub mean_us: f64,
    /// The median, in microseconds.
    pub p50_us: f64,
    /// The 99th percentile, in microseconds.
    pub p99_us: f64,
    /// The 99.9th percentile, in microseconds.
    pub p999_us: f64,
    /// The longest, in microseconds.
    pub max_us: f64,
}

/// Waits at switches.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SwitchWaits {
    /// At all switch ports.
    pub all: WaitStats,
    /// At ports towards hosts.
    pub to_hosts: WaitStats,
    /// At ports between switches.
    pub between_switches: WaitStats,
    /// The switch port that carried the most bytes.
    pub busiest_port: String,
    /// At that port. Its percentiles are exact to 1 %, all others to 0.1 %.
    pub busiest: WaitStats,
}

/// Bursts in which payload left hosts: packets that follow each other on the link without a gap.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct BurstStats {
    /// Bursts.
    pub bursts: u64,
    /// Their mean length in bytes on the wire.
    pub mean_bytes: f64,
    /// The mean length of the burst that a byte is in: each burst weighted by its length.
    pub byte_mean_bytes: f64,
    /// The 99th percentile, in bytes.
    pub p99_bytes: u64,
    /// The longest, in bytes.
    pub max_bytes: u64,
}

/// What arrived in a span from zero on.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct ArrivedPayload {
    /// The span's end, in seconds.
    pub seconds: f64,
    /// Payload bytes that reached hosts whole, whatever they had already, by class of the flows.
    pub bytes: BTreeMap<String, u64>,
}

impl ArrivedPayload {
    /// The rate at which payload of a class arrived, in bits per second.
    pub fn goodput_bps(&self, class: &str) -> f64 {
        self.bytes
            .get(class)
            .map_or(0.0, |bytes| *bytes as f64 * 8.0 / self.seconds)
    }
}
