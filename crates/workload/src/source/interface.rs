//! Interface of all sources of flows, and a generator of flow numbers.

use crate::coflow::Coflow;
use crate::flow::Flow;
use alloc::vec::Vec;
use tailcut_units::{FlowId, Time};

/// Source of flows. The source returns its flows one at a time, in the order of their starts.
///
/// A driver calls [`Source::peek`] for the time of the next flow, and [`Source::next`] to take a flow that is due.
/// When a flow has ended, the driver calls [`Source::completed`] *before it takes any flow that starts later*.
/// The times of calls of `completed` never decrease.
pub trait Source: Send {
    /// Returns the start of the next known flow, or `None` if no flow is known.
    /// If another flow completes before this start, the source may have a new flow that starts earlier.
    fn peek(&self) -> Option<Time>;

    /// Returns the next flow. It starts at the time that [`Source::peek`] returned.
    fn next(&mut self) -> Option<Flow>;

    /// Records that a flow of this source ended at `now`. Open loops ignore this call.
    /// All sources ignore the numbers of flows that are not running.
    fn completed(&mut self, now: Time, flow: FlowId);

    /// Records that a flow of this source failed at `now`. Most sources handle a failure like an end.
    fn failed(&mut self, now: Time, flow: FlowId) {
        self.completed(now, flow);
    }

    /// Returns the coflows that have begun, in the order of their starts. Most sources have no coflows.
    fn coflows(&self) -> Vec<Coflow> {
        Vec::new()
    }
}

/// Generator of flow numbers. The numbers start at zero and are never reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbering(u32);

impl Numbering {
    pub fn has_more(&self) -> bool {
        self.0 < u32::MAX
    }

    pub fn take(&mut self) -> FlowId {
        let id = FlowId(self.0);
        self.0 += 1;
        id
    }
}
