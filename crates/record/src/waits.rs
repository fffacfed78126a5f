//! Optional measurements of a run: waiting times of packets at switch ports, bursts of hosts, and arrived payload.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Waiting times of packets at ports. The store-and-forward delay is not included.
/// A packet waits from the arrival of its last bit to the departure of its first bit.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct WaitStats {
    /// Packets that left the ports, including packets that did not wait.
    pub packets: u64,
    /// Mean waiting time in microseconds.
    pub mean_us: f64,
    /// Median waiting time in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the waiting time in microseconds.
    pub p99_us: f64,
    /// 99.9th percentile of the waiting time in microseconds.
    pub p999_us: f64,
    /// Maximum waiting time in microseconds.
    pub max_us: f64,
}

/// Waiting times at switches.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SwitchWaits {
    /// Waiting times at all switch ports.
    pub all: WaitStats,
    /// Waiting times at ports towards hosts.
    pub to_hosts: WaitStats,
    /// Waiting times at ports between switches.
    pub between_switches: WaitStats,
    /// Name of the switch port that carried the most bytes.
    pub busiest_port: String,
    /// Waiting times at the busiest port.
    /// The percentiles of this port are exact to 1 %, all other percentiles to 0.1 %.
    pub busiest: WaitStats,
}

/// Bursts of hosts. A burst is a sequence of packets with payload that leave without a gap.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct BurstStats {
    /// Number of bursts.
    pub bursts: u64,
    /// Mean length of a burst in bytes on the wire.
    pub mean_bytes: f64,
    /// Mean length of a burst in bytes, weighted by length.
    /// The weight of a burst is its length, so the mean is over all bytes.
    pub byte_mean_bytes: f64,
    /// 99th percentile of the length of a burst in bytes.
    pub p99_bytes: u64,
    /// Maximum length of a burst in bytes.
    pub max_bytes: u64,
}

/// Payload that arrived in an interval that starts at time zero.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct ArrivedPayload {
    /// End of the interval in seconds.
    pub seconds: f64,
    /// Payload bytes of untrimmed packets that reached hosts, for each class of flows.
    /// Bytes that the host already had are included.
    pub bytes: BTreeMap<String, u64>,
}

impl ArrivedPayload {
    /// Returns the rate at which the payload of a class arrived, in bits per second.
    pub fn goodput_bps(&self, class: &str) -> f64 {
        self.bytes
            .get(class)
            .map_or(0.0, |bytes| *bytes as f64 * 8.0 / self.seconds)
    }
}
