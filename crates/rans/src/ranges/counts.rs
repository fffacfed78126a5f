//! Counters of downloads.

use std::sync::{Arc, Mutex, PoisonError};

/// Counters of downloads.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RangesCounts {
    /// Objects that are or were received in parts.
    pub objects: u64,
    /// Objects that were received as one answer, and answers with a status other than 200.
    pub whole: u64,
    /// Ranges that were requested from replicas.
    pub parts: u64,
    /// Ranges that were taken back from a replica because it had not begun its answer.
    pub taken_back: u64,
    /// Bytes of all objects in parts. Each byte of an object counts once.
    pub bytes: u64,
    /// Bytes that were received a second time.
    pub extra: u64,
    /// Replicas that were given up during a download.
    pub given_up: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Counter(Arc<Mutex<RangesCounts>>);

impl Counter {
    pub fn add(&self, count: impl FnOnce(&mut RangesCounts)) {
        count(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub fn get(&self) -> RangesCounts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
