//! Timing accuracy of a run on real hosts.

use serde::{Deserialize, Serialize};

/// Timing accuracy of a run on real hosts. Times are in microseconds of the emulated network's clock.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct WallClock {
    /// Factor by which the network's clock is slower than wall time, at least 1.
    pub slowdown: u32,
    /// Number of packets that reached their hosts.
    pub packets: u64,
    /// Mean lateness. The lateness is the time from the planned to the actual delivery of a packet to a host.
    pub late_mean_us: f64,
    /// Median lateness.
    pub late_p50_us: f64,
    /// 99th percentile of the lateness.
    pub late_p99_us: f64,
    /// Maximum lateness.
    pub late_max_us: f64,
    /// Delay of a full-size packet on the longest path without other traffic.
    pub unloaded_us: f64,
    /// Frames that were lost between a host's kernel and the emulated network.
    pub lost_frames: u64,
    /// Whether the lateness was small enough and no packet was lost outside of the network.
    pub is_valid: bool,
    /// Reason why the run is not valid, with a remedy; empty if the run is valid.
    pub why_not: String,
}
