//! Coflows: groups of flows. An application waits until the last flow of its group has ended.
//! Queries are coflows to one host.

use crate::FctStats;
use crate::cell::{Class, words};
use crate::row::table;
use serde::{Deserialize, Serialize};
use tailcut_units::{Bytes, Duration, HostId, Time};

/// Kind of a coflow.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CoflowKind {
    /// Answers of several workers to one host.
    #[default]
    Query,
    /// Coflow that a file describes.
    Coflow,
}

words!(CoflowKind: Query = "query", Coflow = "coflow");

table! {
    /// State of one coflow at the end of its run. The table of flows contains the coflow's flows.
    #[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct CoflowRecord {
        /// Number of the coflow, in the order of the starts.
        "coflow" coflow: u32,
        /// Kind of the coflow.
        "kind" kind: CoflowKind,
        /// Host that sends the query and receives the answers; `None`: a coflow from a file.
        "receiver" receiver: Option<HostId>,
        /// Number of flows, without the questions of a query.
        "flows" flows: u32,
        /// Payload bytes of the coflow's flows, without the questions of a query.
        "bytes" bytes: Bytes,
        /// Start of the query, or arrival of the coflow.
        "start_ns" start: Time,
        /// Time from `start` until the receivers had all bytes of all flows.
        /// `None`: the run ended before this time, or a flow failed.
        "completion_ns" completion: Option<Duration>,
        /// Index into [`RunRecord::classes`](crate::RunRecord::classes).
        "class" class: u8 as Class,
    }
}

/// Returns statistics of the completion times of the coflows of one kind. Returns `None` if there are no coflows.
pub(crate) fn completion_of(rows: &[CoflowRecord], kind: CoflowKind) -> Option<FctStats> {
    let mut of_kind = rows.iter().filter(|row| row.kind == kind).peekable();
    of_kind.peek()?;
    Some(FctStats::of_times(of_kind.map(|row| row.completion)))
}
