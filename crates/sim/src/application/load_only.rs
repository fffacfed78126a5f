//! Load that goes on after the recorded flows, as an application. The last recorded flows then meet as much traffic as
//! the flows before them.

use super::{Application, Desk};
use tailcut_units::Time;
use tailcut_workload::Source;

/// Starts flows without rows in the record. The run ends with the last recorded flow.
pub(crate) struct LoadOnly {
    source: Box<dyn Source>,
}

impl LoadOnly {
    pub fn new(source: Box<dyn Source>) -> Self {
        Self { source }
    }
}

impl Application for LoadOnly {
    fn next(&self) -> Option<Time> {
        self.source.peek()
    }

    /// Returns false, because the drain of the run begins after the last recorded flow.
    fn begins_more(&self) -> bool {
        false
    }

    fn act(&mut self, desk: &mut Desk<'_>) {
        if let Some(flow) = self.source.next() {
            desk.start_unrecorded(&flow);
        }
    }
}
