//! What a route counts.

use crate::client::ClientCounts;
use http::StatusCode;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Upper ends of the classes of latency, in seconds.
pub(super) const BOUNDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// What a route counts.
#[derive(Default, Debug)]
pub(super) struct RouteCounts {
    /// By the hundreds of their status.
    pub answered: [AtomicU64; 5],
    pub open: AtomicI64,
    pub left: AtomicU64,
    pub refused: AtomicU64,
    pub latencies: [AtomicU64; BOUNDS.len() + 1],
    pub microseconds: AtomicU64,
    /// Of clients that are no more.
    past: Mutex<ClientCounts>,
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
    /// A request that found too many others.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// What a client has counted that is replaced.
    pub fn keep(&self, counts: ClientCounts) {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        *past = sum(&past, &counts);
    }

    /// What this client and those before it have counted.
    pub fn with_past(&self, counts: &ClientCounts) -> ClientCounts {
        let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        sum(&past, counts)
    }

    fn note(&self, status: StatusCode, time: Duration) {
        let hundreds = usize::from(status.as_u16() / 100).clamp(1, 5);
        self.answered[hundreds - 1].fetch_add(1, Relaxed);
        let seconds = time.as_secs_f64();
        let class = BOUNDS.partition_point(|bound| *bound < seconds);
        self.latencies[class].fetch_add(1, Relaxed);
        let microseconds = time.as_micros().try_into().unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Relaxed);
    }
}

/// A request that has no answer yet.
pub(super) struct Asked<'a> {
    counts: &'a RouteCounts,
    began: Instant,
    status: Option<StatusCode>,
}

impl<'a> Asked<'a> {
    pub fn begin(counts: &'a RouteCounts) -> Self {
        counts.open.fetch_add(1, Relaxed);
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

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Relaxed);
        match self.status {
            Some(status) => self.counts.note(status, self.began.elapsed()),
            None => {
                self.counts.left.fetch_add(1, Relaxed);
            }
        }
    }
}
