//! Constants of a run's transport that may dominate completion times.

use serde::{Deserialize, Serialize};

/// Retransmission timer, or its lower bound.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Timer {
    /// Key that sets the timer, such as `tcp.min_rto`.
    pub key: String,
    /// Duration in nanoseconds.
    pub ns: u64,
}

/// Codec that is slower than a host's links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SlowCodec {
    /// Decoding rate for a block of the usual size, in bits per second.
    pub decodes_bps: u64,
    /// Total rate of the fastest host's links, in bits per second.
    pub host_bps: u64,
}

/// Unit of service (chunk) that is at least as large as most objects.
/// With large chunks, one copy of a request usually sends the whole response, and copies cannot share a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CoarseChunk {
    /// Size of the chunk in bytes.
    pub bytes: u64,
    /// Number of requests whose object is not larger than the chunk.
    pub requests: u64,
    /// Number of all requests.
    pub of: u64,
}

/// Gap of flowlets that is outside the range of good gaps.
/// The round-trip time and the queues of the network determine the range of good gaps.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FlowletGap {
    /// Key that sets the gap, such as `letflow.gap`.
    pub key: String,
    /// Gap in nanoseconds.
    pub ns: u64,
    /// Lower end of the range in nanoseconds: the longest round trip in the empty network.
    pub least_ns: u64,
    /// Upper end of the range in nanoseconds: the same round trip while all queues are full.
    pub most_ns: u64,
}

/// Constants of a run's transport.
/// The completion times of the slowest flows may show constants of the transport instead of the network's delays.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Timers {
    /// Timeout before the first round-trip sample; `None`: the transport has no handshake.
    pub initial: Option<Timer>,
    /// Shortest timeout after the first round-trip sample.
    pub least: Option<Timer>,
    /// Codec of the transport; `None`: no codec, or a codec at least as fast as the links of the hosts.
    pub codec: Option<SlowCodec>,
    /// Unit of service of requests.
    /// `None`: most objects are larger, or the client does not combine the bytes of several copies.
    pub chunk: Option<CoarseChunk>,
    /// Gap of flowlets; `None`: no flowlets, or a gap inside the range.
    pub gap: Option<FlowletGap>,
}
