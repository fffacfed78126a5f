//! Source that replays the flows of a trace.

use super::interface::Source;
use crate::flow::Flow;
use crate::trace::Trace;
use alloc::sync::Arc;
use tailcut_units::{FlowId, Time};

/// Source that returns the flows of a trace unchanged. The flows keep their numbers.
#[derive(Debug)]
pub struct TraceSource {
    trace: Arc<Trace>,
    /// Number of flows that the driver has taken.
    taken: usize,
}

impl TraceSource {
    /// Creates a source that replays `trace`. Several sources may share the trace.
    pub fn new(trace: impl Into<Arc<Trace>>) -> Self {
        Self {
            trace: trace.into(),
            taken: 0,
        }
    }
}

impl Source for TraceSource {
    fn peek(&self) -> Option<Time> {
        let next = self.trace.flows().get(self.taken);
        next.map(|flow| flow.start)
    }

    fn next(&mut self) -> Option<Flow> {
        let next = self.trace.flows().get(self.taken).copied();
        self.taken += usize::from(next.is_some());
        next
    }

    fn completed(&mut self, _now: Time, _flow: FlowId) {}
}
