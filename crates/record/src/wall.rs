//! What a run on real hosts says of its clock.

use serde::{Deserialize, Serialize};

/// How punctual a run on real hosts was. Times are in microseconds by the network's clock.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct WallClock {
    /// How many times slower than the wall's clock the network's went.
    pub slowdown: u32,
    /// Packets that reached their hosts.
    pub packets: u64,
    /// How late they were handed over: the mean.
    pub late_mean_us: f64,
    /// The median.
    pub late_p50_us: f64,
    /// The 99th percentile.
    pub late_p99_us: f64,
    /// The longest.
    pub late_max_us: f64,
    /// A full packet's time over the longest path when nothing else is on it.
    pub unloaded_us: f64,
    /// Frames that were lost between a host's kernel and the network.
    pub lost_frames: u64,
    /// Whether packets were punctual enough, and none was lost outside the network.
    pub is_valid: bool,
    /// Why not, and what would help; empty where it is valid.
    pub why_not: String,
}
