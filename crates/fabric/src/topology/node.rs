//! Nodes of a network (hosts and switches), and their names.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use tailcut_units::HostId;

/// Node: an end of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Node {
    /// Host with this address.
    Host(HostId),
    /// Switch with this number, from zero.
    Switch(u32),
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => write!(f, "{host}"),
            Self::Switch(switch) => write!(f, "s{switch}"),
        }
    }
}

/// Names of the switches of a tier by their position in a regular topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TierName {
    /// Name of all switches of the tier, such as `leaf`.
    pub name: &'static str,
    /// Number of the tier's switches per pod. 0 if the tier has no pods.
    pub in_pod: u32,
}

impl TierName {
    /// Creates the names of a tier without pods.
    pub(super) const fn flat(name: &'static str) -> Self {
        Self { name, in_pod: 0 }
    }

    /// Returns the name of the switch at the position `place` in its tier: `leaf[3]`, or `edge[1.0]` with pods.
    pub(super) fn of(&self, place: u32) -> String {
        match (self.name, self.in_pod) {
            (name, 0) => alloc::format!("{name}[{place}]"),
            (name, in_pod) => alloc::format!("{name}[{}.{}]", place / in_pod, place % in_pod),
        }
    }
}

/// Names that the user has given to nodes, by node number. Nodes beyond the end of a list have no name.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct NodeNames {
    /// Names of hosts, by host number.
    pub hosts: Vec<String>,
    /// Names of switches, by switch number.
    pub switches: Vec<String>,
}

impl NodeNames {
    /// Returns the name that the user has given to a node. Other nodes have the names `h3` or `s0`, by number.
    pub fn of(&self, node: Node) -> String {
        let own = match node {
            Node::Host(host) => self.hosts.get(host.0 as usize),
            Node::Switch(switch) => self.switches.get(switch as usize),
        };
        own.cloned().unwrap_or_else(|| node.to_string())
    }
}
