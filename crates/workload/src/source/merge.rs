//! Combination of several sources into one source.

use super::interface::{Numbering, Source};
use crate::coflow::Coflow;
use crate::flow::Flow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use tailcut_units::{FlowId, Time};

/// Source that combines several sources, such as foreground and background.
/// The flows get new numbers from zero, in the order of their starts.
/// Flows with the same start are in the order of the list of sources.
pub struct Merge {
    sources: Vec<Box<dyn Source>>,
    numbering: Numbering,
    /// For each running flow, the index of its source and its number in this source.
    running: BTreeMap<FlowId, (usize, FlowId)>,
}

impl Merge {
    /// Merges all `sources`.
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

    fn failed(&mut self, now: Time, flow: FlowId) {
        if let Some((index, inner)) = self.running.remove(&flow) {
            self.sources[index].failed(now, inner);
        }
    }

    fn coflows(&self) -> Vec<Coflow> {
        let mut all: Vec<Coflow> = self
            .sources
            .iter()
            .flat_map(|source| source.coflows())
            .collect();
        all.sort_by_key(|coflow| coflow.start);
        all
    }
}
