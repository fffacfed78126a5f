//! A trace, replayed.

use super::interface::Source;
use crate::flow::Flow;
use crate::trace::Trace;
use alloc::sync::Arc;
use tailcut_units::{FlowId, Time};

/// The flows of a trace, exactly, with the numbers that they have there.
#[derive(Debug)]
pub struct TraceSource {
    trace: Arc<Trace>,
    /// Flows that have been taken.
    taken: usize,
}

impl TraceSource {
    /// Replays `trace`, which several runs may share.
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
