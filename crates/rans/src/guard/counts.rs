//! Counters of a guard.

use std::time::Duration;

/// Counters of one class.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ClassCounts {
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests that wait now.
    pub waiting: u64,
    /// Requests whose answer was sent to its end.
    pub done: u64,
    /// Requests that their client cancelled while they waited. The service did no work for them.
    pub purged: u64,
    /// Requests that were stopped because their client cancelled them while they ran.
    pub killed: u64,
    /// Requests that occupied their worker to their end, although their client had cancelled them.
    pub held: u64,
    /// Requests whose client took nothing of their answer, so that another client got their worker.
    /// They also count as killed or held.
    pub displaced: u64,
    /// Requests that were refused with 503.
    pub refused: u64,
    /// Total running time of requests whose answer no client received.
    pub wasted: Duration,
}

/// Counters of a guard.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct GuardCounts {
    /// Counters of each class, in the order: primaries, duplicates, optional work.
    pub classes: [ClassCounts; 3],
    /// Number of workers that run a request now.
    pub running: u32,
}
