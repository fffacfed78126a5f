//! Application that keeps the load constant after the last flow of the workload starts.
//! With a constant load, the last flows of the workload meet as much traffic as earlier flows.

use super::{Application, Desk, Replicating};
use tailcut_transport::Event;
use tailcut_units::{HostId, Time};
use tailcut_workload::{Flow, Source};

/// Application that starts flows which only carry load. The run ends with the last flow of the workload.
pub(crate) struct LoadOnly {
    source: Box<dyn Source>,
    replicating: Replicating,
}

impl LoadOnly {
    pub fn new(source: Box<dyn Source>, replicating: Replicating) -> Self {
        Self {
            source,
            replicating,
        }
    }
}

impl Application for LoadOnly {
    fn next(&self) -> Option<Time> {
        self.source.peek()
    }

    /// Returns false, because the drain of the run begins after the last flow of the workload.
    fn begins_more(&self) -> bool {
        false
    }

    fn act(&mut self, desk: &mut Desk<'_>) {
        if let Some(flow) = self.source.next() {
            let id = desk.number();
            let flow = Flow { id, ..flow };
            desk.start_load_only(&flow, self.replicating.of(&flow));
        }
    }

    fn event(&mut self, _host: HostId, event: Event, desk: &mut Desk<'_>) {
        let now = desk.now();
        desk.recorder().change_row(now, event);
    }
}
