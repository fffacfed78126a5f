//! One flow's row.

use crate::cell::Class;
use crate::row::table;
use serde::{Deserialize, Serialize};
use tailcut_units::{Bytes, Duration, FlowId, HostId, Time};

table! {
    /// The state of one flow when its run ends. Times are exact picoseconds here and whole nanoseconds,
    /// rounded down, in files.
    #[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct FlowRecord {
        /// The flow's number: the order in which the workload starts them.
        "flow" flow: FlowId,
        /// The sending host.
        "src" src: HostId,
        /// The receiving host.
        "dst" dst: HostId,
        /// The application's bytes, without headers and copies.
        "bytes" bytes: Bytes,
        /// When the application handed the flow over.
        "start_ns" start: Time,
        /// From `start` until the receiver held the last byte; `None` when the run ended first.
        "fct_ns" fct: Option<Duration>,
        /// The completion time of this flow alone in the network, without any queue.
        "ideal_fct_ns" ideal_fct: Duration,
        /// Segments sent again, over all copies.
        "retransmissions" retransmissions: u32,
        /// Retransmission timeouts that fired, over all copies; a SYN's count too.
        "timeouts" timeouts: u32,
        /// Connections opened beyond the first: 0 without replication, 1 for RepFlow and RepSYN.
        "copies" copies: u32,
        /// Index into [`RunRecord::classes`](crate::RunRecord::classes): which part of the workload
        /// the flow comes from.
        "class" class: u8 as Class,
        /// From `start` until the connection that first answered was established; `None` for a
        /// transport without a handshake and for a flow that never got so far.
        "handshake_ns" handshake: Option<Duration>,
        /// Payload bytes that the sender put on the wire for this flow: every copy, every
        /// retransmission, no headers.
        "payload_sent_bytes" payload_sent: Bytes,
    }
    hash: flow src dst bytes start fct ideal_fct handshake payload_sent retransmissions timeouts copies class
}

impl FlowRecord {
    /// Completion time over ideal completion time; `None` for an unfinished flow or an ideal of zero.
    pub fn slowdown(&self) -> Option<f64> {
        let ideal = self.ideal_fct.as_ps();
        let fct = self.fct?.as_ps();
        (ideal > 0).then(|| fct as f64 / ideal as f64)
    }
}

/// Rows of flows, however they are kept.
pub trait FlowRows {
    /// How many.
    fn count(&self) -> usize;
    /// The rows as they come: in the order of the flows' numbers in what a run leaves.
    fn rows(&self) -> impl Iterator<Item = FlowRecord> + '_;
    /// The rows in the order of the flows' numbers.
    fn in_order(&self) -> impl Iterator<Item = FlowRecord> + '_;
}

impl FlowRows for [FlowRecord] {
    fn count(&self) -> usize {
        self.len()
    }

    fn rows(&self) -> impl Iterator<Item = FlowRecord> + '_ {
        self.iter().copied()
    }

    fn in_order(&self) -> impl Iterator<Item = FlowRecord> + '_ {
        let mut order: Vec<&FlowRecord> = self.iter().collect();
        order.sort_by_key(|row| row.flow);
        order.into_iter().copied()
    }
}

impl FlowRows for Vec<FlowRecord> {
    fn count(&self) -> usize {
        self.as_slice().count()
    }

    fn rows(&self) -> impl Iterator<Item = FlowRecord> + '_ {
        self.as_slice().rows()
    }

    fn in_order(&self) -> impl Iterator<Item = FlowRecord> + '_ {
        self.as_slice().in_order()
    }
}
