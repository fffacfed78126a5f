//! Hosts and switches, and their names.

use crate::cell::words;
use crate::row::table;
use serde::{Deserialize, Serialize};

/// Kind of a node.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum NodeKind {
    /// Host, which sends and receives packets.
    #[default]
    Host,
    /// Switch, which forwards packets.
    Switch,
}

words!(NodeKind: Host = "host", Switch = "switch");

table! {
    /// Host or switch.
    #[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct NodeRecord {
        /// Kind of the node.
        "kind" kind: NodeKind,
        /// Number among the nodes of the same kind, starting at 0, as in [`FlowRecord::src`](crate::FlowRecord::src).
        "number" number: u32,
        /// Name, such as `aggregation[0.1]`. Scenarios use the same names.
        "name" name: String,
        /// Name of the node in [`PortTotals::name`](crate::PortTotals::name).
        /// The name is a number such as `s33`, or the name that the scenario sets.
        "label" label: String,
        /// Number of links to the nearest host: 0 for a host.
        "tier" tier: u8,
    }
}
