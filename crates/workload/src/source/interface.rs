//! What every source of flows does, and how it numbers them.

use crate::flow::Flow;
use tailcut_units::{FlowId, Time};

/// A sequence of flows in the order of their starts, drawn one at a time.
///
/// A driver asks [`Source::peek`] when it must next act, takes the flows due with [`Source::next`]
/// and, after a flow has ended, tells so with [`Source::completed`] *before it takes any flow that
/// starts later*. Time never goes back.
pub trait Source: Send {
    /// When the next flow starts, as far as is known: a completion may bring an earlier one. `None`
    /// when there is none unless a completion brings one.
    fn peek(&self) -> Option<Time>;

    /// The next flow, whose start is what [`Source::peek`] said.
    fn next(&mut self) -> Option<Flow>;

    /// The flow of this source with this number ended at `now`. Open loops take no notice, nor does
    /// any source of a number that it does not know as running.
    fn completed(&mut self, now: Time, flow: FlowId);
}

/// Numbers flows from zero; `None` once the numbers are used up.
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
