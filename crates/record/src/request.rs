//! Row of one request, and the summary of a run's requests.

use crate::FctStats;
use crate::row::table;
use serde::{Deserialize, Serialize};
use tailcut_units::{Bytes, Duration, HostId, Time};

table! {
    /// State of one request at the end of its run. Times are exact picoseconds here.
    /// In files they are whole nanoseconds, rounded down.
    #[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct RequestRecord {
        /// Number of the request, in the order in which the workload starts requests.
        "request" request: u32,
        /// Client.
        "client" client: HostId,
        /// Server of the first copy.
        "server" server: HostId,
        /// Size of the response in bytes.
        "bytes" bytes: Bytes,
        /// Time at which the application sent the request.
        "start_ns" start: Time,
        /// Time from `start` until the client had the response; `None`: the run ended first.
        "latency_ns" latency: Option<Duration>,
        /// Number of copies that the client sent, including the first.
        "copies" copies: u32,
        /// Number of the copy whose bytes completed the response, 0 for the primary; `None`: the request is unfinished.
        "winner" winner: Option<u32>,
        /// Response bytes that servers sent for all copies, useful or not.
        "sent_bytes" sent: Bytes,
        /// Bytes of `sent` that the client already had or no longer needed.
        "wasted_bytes" wasted: Bytes,
        /// Service time of all copies at the servers.
        "service_ns" service: Duration,
        /// Number of copies that were purged before their response was sent completely.
        "purged" purged: u32,
        /// Time from the end of the request until no server had a copy of it.
        /// `None`: no server had a copy when the request ended.
        "purge_ns" purge: Option<Duration>,
    }
    hash: request client server copies purged bytes sent wasted start service winner latency purge
}

/// Summary of a run's requests.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct RequestSummary {
    /// Latencies of the finished requests.
    pub latency: FctStats,
    /// Response bytes that clients used.
    pub useful_bytes: u64,
    /// Response bytes that servers sent.
    pub sent_bytes: u64,
    /// Part of `sent_bytes` that clients did not use.
    pub wasted_bytes: u64,
    /// Service time at all servers, in seconds.
    pub service_seconds: f64,
    /// Number of copies that were sent.
    pub copies: u64,
    /// Number of copies that were purged.
    pub purged: u64,
}

impl RequestSummary {
    /// Computes the summary of `requests`. Returns `None` if there are no requests.
    pub fn of(requests: &[RequestRecord]) -> Option<Self> {
        if requests.is_empty() {
            return None;
        }
        let sum = |of: fn(&RequestRecord) -> u64| requests.iter().map(of).sum();
        Some(Self {
            latency: FctStats::of_times(requests.iter().map(|request| request.latency)),
            useful_bytes: sum(|request| request.sent.0 - request.wasted.0),
            sent_bytes: sum(|request| request.sent.0),
            wasted_bytes: sum(|request| request.wasted.0),
            service_seconds: requests.iter().map(|r| r.service.as_secs_f64()).sum(),
            copies: sum(|request| u64::from(request.copies)),
            purged: sum(|request| u64::from(request.purged)),
        })
    }

    /// Returns the sent bytes divided by the useful bytes, or `None` if no byte was useful.
    pub fn amplification(&self) -> Option<f64> {
        (self.useful_bytes > 0).then(|| self.sent_bytes as f64 / self.useful_bytes as f64)
    }
}
