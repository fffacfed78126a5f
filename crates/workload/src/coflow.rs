//! Coflows: groups of flows. An application waits for the last flow of a group.

use crate::flow::Class;
use alloc::vec::Vec;
use tailcut_units::{HostId, Time};

/// Kind of a coflow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CoflowKind {
    /// Query: all flows are answers to one host.
    Query,
    /// Coflow that a file lists.
    Listed,
}

/// State of one coflow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Coflow {
    /// Source of the coflow: a query or a file.
    pub kind: CoflowKind,
    /// Time when the query starts or the coflow of the file arrives.
    pub start: Time,
    /// Host that receives all answers of a query. `None` for a coflow from a file.
    pub receiver: Option<HostId>,
    /// Number of flows, without the questions of a query.
    pub flows: u32,
    /// Payload bytes of all flows, without the questions of a query.
    pub bytes: u64,
    /// Time when the receivers have all bytes of all flows. `None` if a flow has not ended or has failed.
    pub end: Option<Time>,
    /// Role of the coflow's flows in the experiment.
    pub class: Class,
}

/// Coflows of a source, in the order of their starts.
#[derive(Clone, Default, Debug)]
pub(crate) struct Coflows {
    all: Vec<Coflow>,
    states: Vec<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// Number of flows that have not ended.
    open: u32,
    failed: bool,
}

impl Coflows {
    /// Adds a coflow and returns its number.
    pub fn begin(&mut self, coflow: Coflow) -> u32 {
        self.all.push(coflow);
        self.states.push(State {
            open: coflow.flows,
            failed: false,
        });
        (self.all.len() - 1) as u32
    }

    /// Records the end of a flow of coflow `number`. Returns whether this flow was the last flow of its coflow.
    pub fn flow_ended(&mut self, now: Time, number: u32, failed: bool) -> bool {
        let state = &mut self.states[number as usize];
        state.open -= 1;
        state.failed |= failed;
        if state.open == 0 && !state.failed {
            self.all[number as usize].end = Some(now);
        }
        state.open == 0
    }

    /// Returns all coflows that have begun, in the order of their starts.
    pub fn all(&self) -> &[Coflow] {
        &self.all
    }
}
