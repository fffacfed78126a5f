//! Cache of traces for the points of a sweep.

use crate::error::Outcome;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tailcut_sim::workload::Trace;

/// Traces that were read from files for one study. All points of a sweep share them.
#[derive(Clone, Default, Debug)]
pub struct Traces(Arc<Mutex<HashMap<String, Arc<Trace>>>>);

impl Traces {
    /// Returns the trace with this key. Calls `read` if it is not in the cache.
    pub fn get_or_read(
        &self,
        key: String,
        read: impl FnOnce() -> Outcome<Trace>,
    ) -> Outcome<Arc<Trace>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(trace) = known.get(&key) {
            return Ok(Arc::clone(trace));
        }
        let trace = Arc::new(read()?);
        known.insert(key, Arc::clone(&trace));
        Ok(trace)
    }
}
