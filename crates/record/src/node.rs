//! Hosts and switches, and what they are called.

use crate::cell::words;
use crate::row::table;
use serde::{Deserialize, Serialize};

/// What a node is.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum NodeKind {
    /// It sends and receives.
    #[default]
    Host,
    /// It forwards.
    Switch,
}

words!(NodeKind: Host = "host", Switch = "switch");

table! {
    /// A host or a switch.
    #[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct NodeRecord {
        /// Which of the two.
        "kind" kind: NodeKind,
        /// Its number among the nodes of its kind, from 0, as in [`FlowRecord::src`](crate::FlowRecord::src).
        "number" number: u32,
        /// Its name, such as `aggregation[0.1]`: scenarios may write the same.
        "name" name: String,
        /// What [`PortTotals::name`](crate::PortTotals::name) calls it: `s33`, or its own name where a scenario
        /// gives it one.
        "label" label: String,
        /// Links between it and its nearest host: 0 for a host.
        "tier" tier: u8,
    }
}
