//! A trace, replayed.

use super::interface::Source;
use crate::flow::Flow;
use crate::trace::Trace;
use alloc::vec::{IntoIter, Vec};
use tailcut_units::{FlowId, Time};

/// The flows of a trace, exactly, with the numbers that they have there.
#[derive(Debug)]
pub struct TraceSource(IntoIter<Flow>);

impl TraceSource {
    /// Replays `trace`.
    pub fn new(trace: Trace) -> Self {
        let flows: Vec<Flow> = trace.into_flows();
        Self(flows.into_iter())
    }
}

impl Source for TraceSource {
    fn peek(&self) -> Option<Time> {
        self.0.as_slice().first().map(|flow| flow.start)
    }

    fn next(&mut self) -> Option<Flow> {
        self.0.next()
    }

    fn completed(&mut self, _now: Time, _flow: FlowId) {}
}
