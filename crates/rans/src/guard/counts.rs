//! What a guard counts.

use std::time::Duration;

/// Of one class.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ClassCounts {
    /// Requests that came.
    pub came: u64,
    /// Requests that wait now.
    pub waiting: u64,
    /// Requests whose answer went out whole.
    pub done: u64,
    /// Requests whose client left while they waited: no work was lost.
    pub purged: u64,
    /// Requests whose client left while they ran, and that were stopped.
    pub killed: u64,
    /// Requests whose client left while they ran, and that ran to their end with their worker.
    pub held: u64,
    /// Requests that were refused with 503.
    pub refused: u64,
    /// Time for which requests ran whose answer no client received.
    pub wasted: Duration,
}

/// Counters of a guard.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct GuardCounts {
    /// By class: primaries, duplicates, optional work.
    pub classes: [ClassCounts; 3],
    /// Workers that are taken now.
    pub running: u32,
}
