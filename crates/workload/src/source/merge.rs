//! Several sources as one.

use super::interface::{Numbering, Source};
use crate::flow::Flow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use tailcut_units::{FlowId, Time};

/// Several sources as one, say foreground and background. Flows are numbered anew, from zero in the
/// order of their starts; of flows that start together, those of the earlier source come first.
pub struct Merge {
    sources: Vec<Box<dyn Source>>,
    numbering: Numbering,
    /// The source and the number within it of each flow that has not completed.
    running: BTreeMap<FlowId, (usize, FlowId)>,
}

impl Merge {
    /// All of `sources` as one.
    pub fn new(sources: Vec<Box<dyn Source>>) -> Self {
        Self {
            sources,
            numbering: Numbering::default(),
            running: BTreeMap::new(),
        }
    }

    fn earliest(&self) -> Option<(Time, usize)> {
        let starts = self.sources.iter().enumerate();
        starts
            .filter_map(|(index, source)| Some((source.peek()?, index)))
            .min()
    }
}

impl Source for Merge {
    fn peek(&self) -> Option<Time> {
        let (start, _) = self.earliest()?;
        self.numbering.has_more().then_some(start)
    }

    fn next(&mut self) -> Option<Flow> {
        self.peek()?;
        let (_, index) = self.earliest()?;
        let flow = self.sources[index].next()?;
        let id = self.numbering.take();
        self.running.insert(id, (index, flow.id));
        Some(Flow { id, ..flow })
    }

    fn completed(&mut self, now: Time, flow: FlowId) {
        if let Some((index, inner)) = self.running.remove(&flow) {
            self.sources[index].completed(now, inner);
        }
    }
}
