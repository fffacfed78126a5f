//! Row of one flow.

use crate::cell::{Cell, Class, Value};
use crate::row::{Heading, Row, table};
use serde::{Deserialize, Serialize};
use tailcut_units::{Bytes, Duration, FlowId, HostId, Time};

table! {
    /// State of one flow at the end of its run. Times are exact picoseconds here.
    /// In files they are whole nanoseconds, rounded down.
    #[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct FlowRecord {
        /// Number of the flow, from 0. If the whole workload is a trace, this is the flow's row in the trace.
        /// If the workload is not a trace, flows are numbered in the order of their starts.
        "flow" flow: FlowId,
        /// Sending host.
        "src" src: HostId,
        /// Receiving host.
        "dst" dst: HostId,
        /// Bytes of the application, without headers and copies.
        "bytes" bytes: Bytes,
        /// Time at which the application passed the flow to the transport.
        "start_ns" start: Time,
        /// Time from `start` until the receiver had all bytes; `None`: the run ended first.
        "fct_ns" fct: Option<Duration>,
        /// Completion time that this flow would have alone in the network, without any queue.
        "ideal_fct_ns" ideal_fct: Duration,
        /// Retransmitted segments of all copies.
        "retransmissions" retransmissions: u32,
        /// Retransmission timeouts of all copies, including timeouts of SYNs.
        "timeouts" timeouts: u32,
        /// Connections in addition to the first one: 0 without replication, 1 with RepFlow and RepSYN.
        "copies" copies: u32,
        /// Part of the workload that the flow belongs to.
        /// The number is an index into [`RunRecord::classes`](crate::RunRecord::classes).
        "class" class: u8 as Class,
        /// Time from `start` until the fastest connection was established.
        /// `None`: the transport has no handshake, or no connection was established.
        "handshake_ns" handshake: Option<Duration>,
        /// Payload bytes that the sender transmitted for this flow, without headers.
        /// All copies and retransmissions are included.
        "payload_sent_bytes" payload_sent: Bytes,
    }
    hash: flow src dst bytes start fct ideal_fct handshake payload_sent retransmissions timeouts copies class
}

impl FlowRecord {
    /// Returns the completion time divided by the ideal completion time.
    /// Returns `None` if the flow is unfinished or the ideal time is zero.
    pub fn slowdown(&self) -> Option<f64> {
        let ideal = self.ideal_fct.as_ps();
        let fct = self.fct?.as_ps();
        (ideal > 0).then(|| fct as f64 / ideal as f64)
    }
}

/// Row of the table of flows in files: a flow, and whether it only carries load.
pub(crate) struct ListedFlow {
    pub flow: FlowRecord,
    /// Whether the flow is one of [`RunRecord::load_only`](crate::RunRecord::load_only).
    pub is_load_only: bool,
}

impl ListedFlow {
    pub const fn counted(flow: FlowRecord) -> Self {
        Self {
            flow,
            is_load_only: false,
        }
    }

    pub const fn load_only(flow: FlowRecord) -> Self {
        Self {
            flow,
            is_load_only: true,
        }
    }
}

impl Row for ListedFlow {
    const COLUMNS: &'static [Heading] = &{
        let mut columns = [Heading::of::<u8, u8>("load_only"); FlowRecord::COLUMNS.len() + 1];
        let (of_flow, _) = columns.split_at_mut(FlowRecord::COLUMNS.len());
        of_flow.copy_from_slice(FlowRecord::COLUMNS);
        columns
    };

    fn each<'a>(&'a self, ps: u64, mut put: impl FnMut(Value<'a>)) {
        self.flow.each(ps, &mut put);
        put(Value::Integer(self.is_load_only.into()));
    }

    fn read<'a>(ps: u64, mut next: impl FnMut() -> Option<Value<'a>>) -> Option<Self> {
        let flow = FlowRecord::read(ps, &mut next)?;
        let is_load_only = match u8::field(next()?, ps)? {
            0 => false,
            1 => true,
            _ => return None,
        };
        Some(Self { flow, is_load_only })
    }
}

/// Rows of flows, in any kind of storage.
pub trait FlowRows {
    /// Returns the number of rows.
    fn count(&self) -> usize;
    /// Returns the rows in the order of storage. A finished run stores them in the order of the flows' numbers.
    fn rows(&self) -> impl Iterator<Item = FlowRecord> + '_;
    /// Returns the rows in the order of the flows' numbers.
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
