//! One request's row, and the summary of a run's requests.

use crate::FctStats;
use crate::row::table;
use serde::{Deserialize, Serialize};
use tailcut_units::{Bytes, Duration, HostId, Time};

table! {
    /// The state of one request when its run ends. Times are exact picoseconds here and whole nanoseconds,
    /// rounded down, in files.
    #[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct RequestRecord {
        /// The request's number: the order in which the workload starts them.
        "request" request: u32,
        /// The client.
        "client" client: HostId,
        /// The server of the first copy.
        "server" server: HostId,
        /// Bytes of the answer.
        "bytes" bytes: Bytes,
        /// When the application asked.
        "start_ns" start: Time,
        /// From `start` until the client had what it needs; `None` when the run ended first.
        "latency_ns" latency: Option<Duration>,
        /// Copies that the client sent, the first ones included.
        "copies" copies: u32,
        /// The copy whose bytes completed the request, 0 for the primary; `None` for an unfinished one.
        "winner" winner: Option<u32>,
        /// Answer bytes that servers sent, over all copies, whether they were of use or not.
        "sent_bytes" sent: Bytes,
        /// Of those, the bytes that the client already had, or did not want any more.
        "wasted_bytes" wasted: Bytes,
        /// Time that the servers' stations spent on all copies.
        "service_ns" service: Duration,
        /// Copies that were purged before their answer was out.
        "purged" purged: u32,
        /// From the request's end until the last of its copies had left the servers; `None` where none was
        /// there any more.
        "purge_ns" purge: Option<Duration>,
    }
    hash: request client server copies purged bytes sent wasted start service winner latency purge
}

/// The requests of a run.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct RequestSummary {
    /// Latencies. Unfinished requests are left out of the figures.
    pub latency: FctStats,
    /// Answer bytes that were of use.
    pub useful_bytes: u64,
    /// Answer bytes that servers sent.
    pub sent_bytes: u64,
    /// Of those, bytes that were of no use.
    pub wasted_bytes: u64,
    /// Time that the servers' stations worked, in seconds.
    pub service_seconds: f64,
    /// Copies sent.
    pub copies: u64,
    /// Copies purged.
    pub purged: u64,
}

impl RequestSummary {
    /// The summary of `requests`; `None` without any.
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

    /// Bytes sent over bytes of use; `None` when none were.
    pub fn amplification(&self) -> Option<f64> {
        (self.useful_bytes > 0).then(|| self.sent_bytes as f64 / self.useful_bytes as f64)
    }
}
