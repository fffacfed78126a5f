//! Interface of all sources of flows, and numbers for flows.

use crate::coflow::Coflow;
use crate::flow::Flow;
use alloc::vec::Vec;
use tailcut_units::{FlowId, Time};

/// Source of flows. It returns its flows one after the other, in the order of their starts.
///
/// A driver calls [`Source::peek`] to get the time of the next flow, and [`Source::next`] to take a flow that is due.
/// After a flow has ended, it calls [`Source::completed`] *before it takes any flow that starts later*. The times of
/// these calls never decrease.
pub trait Source: Send {
    /// Returns the start of the next flow that is known. `None` if no flow is known. A later completion may add a flow,
    /// also with an earlier start.
    fn peek(&self) -> Option<Time>;

    /// Returns the next flow. It starts at the time that [`Source::peek`] returned.
    fn next(&mut self) -> Option<Flow>;

    /// Records that the source's flow with this number ended at `now`. Open loops ignore this call. All sources ignore
    /// numbers of flows that are not running.
    fn completed(&mut self, now: Time, flow: FlowId);

    /// Records that the source's flow with this number failed at `now`. Most sources handle it like an end.
    fn failed(&mut self, now: Time, flow: FlowId) {
        self.completed(now, flow);
    }

    /// Returns the coflows that have begun, in the order of their starts. Most sources have none.
    fn coflows(&self) -> Vec<Coflow> {
        Vec::new()
    }
}

/// Generator of flow numbers. They start at zero and are never reused.
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
