//! Counters of a route.

use crate::client::ClientCounts;
use crate::request_log::AnswerCounts;
use http::StatusCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tailcut_proxy::metrics::{Counter, Gauge, Histogram};
use tokio::time::Instant;

/// Upper bounds of the histogram of latencies, in seconds.
/// The bounds are the defaults of Prometheus clients, and three smaller ones for fast replicas.
const BOUNDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// Counters of a route.
#[derive(Debug)]
pub(super) struct RouteCounts {
    /// Answers by the first digit of their status, 1 to 5.
    pub answered: [Counter; 5],
    pub open: Gauge,
    pub left: Counter,
    pub refused: Counter,
    /// Finished requests by status and reason.
    pub finished: Arc<AnswerCounts>,
    /// Times from a request to its answer, in seconds.
    pub latencies: Histogram,
    /// Sum of the counters of this route's former clients.
    past: Mutex<ClientCounts>,
}

impl Default for RouteCounts {
    fn default() -> Self {
        Self {
            answered: Default::default(),
            open: Gauge::default(),
            left: Counter::default(),
            refused: Counter::default(),
            finished: Arc::default(),
            latencies: Histogram::new(BOUNDS),
            past: Mutex::default(),
        }
    }
}

fn sum(one: &ClientCounts, other: &ClientCounts) -> ClientCounts {
    ClientCounts {
        requests: one.requests + other.requests,
        copies: one.copies + other.copies,
        won_by_copy: one.won_by_copy + other.won_by_copy,
        purged: one.purged + other.purged,
        spared: one.spared + other.spared,
        failed: one.failed + other.failed,
    }
}

impl RouteCounts {
    /// Adds the counters of a client that is replaced.
    pub fn keep(&self, counts: ClientCounts) {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        *past = sum(&past, &counts);
    }

    /// Returns the sum of the counters of this client and of all former clients.
    pub fn with_past(&self, counts: &ClientCounts) -> ClientCounts {
        let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        sum(&past, counts)
    }

    fn note(&self, status: StatusCode, time: Duration) {
        // A status above 599 is invalid and counts as 5xx (RFC 9110, section 15).
        let hundreds = usize::from(status.as_u16() / 100).clamp(1, 5);
        self.answered[hundreds - 1].inc();
        self.latencies.observe(time.as_secs_f64());
    }
}

/// Request that has no answer yet.
pub(super) struct OpenRequest<'a> {
    counts: &'a RouteCounts,
    began: Instant,
    status: Option<StatusCode>,
}

impl<'a> OpenRequest<'a> {
    pub fn begin(counts: &'a RouteCounts) -> Self {
        counts.open.inc();
        Self {
            counts,
            began: Instant::now(),
            status: None,
        }
    }

    pub fn answered(&mut self, status: StatusCode) {
        self.status = Some(status);
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.counts.open.dec();
        match self.status {
            Some(status) => self.counts.note(status, self.began.elapsed()),
            None => {
                self.counts.left.inc();
            }
        }
    }
}
