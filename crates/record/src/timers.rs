//! The constants of a run's transport that a completion time may come from.

use serde::{Deserialize, Serialize};

/// A retransmission timer, or its bound.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Timer {
    /// The key that sets it, such as `tcp.min_rto`.
    pub key: String,
    /// Nanoseconds.
    pub ns: u64,
}

/// A codec that is slower than a host's links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SlowCodec {
    /// How fast a block of the usual size is decoded, in bits per second.
    pub decodes_bps: u64,
    /// The rate of the fastest host's links together, in bits per second.
    pub host_bps: u64,
}

/// A unit of service that is too large for the bytes of several copies of a request to add up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CoarseChunk {
    /// Bytes of the unit.
    pub bytes: u64,
    /// Requests whose object is no larger.
    pub requests: u64,
    /// All requests.
    pub of: u64,
}

/// The constants of a run's transport that its slowest flows may tell of, and not of the network.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Timers {
    /// The timeout before the first sample, where that is that of a handshake.
    pub initial: Option<Timer>,
    /// The shortest timeout after it.
    pub least: Option<Timer>,
    /// The codec, where it is slower than the links of hosts.
    pub codec: Option<SlowCodec>,
    /// The unit of service of requests, where most objects are no larger and bytes of several copies count.
    pub chunk: Option<CoarseChunk>,
}
