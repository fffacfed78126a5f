//! Hosts and switches, and their names.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use tailcut_units::HostId;

/// End of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Node {
    /// Host.
    Host(HostId),
    /// Switch, numbered from zero.
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

/// Name of the switches of a tier by their place in a regular topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TierName {
    /// Common name of the switches, such as `leaf`.
    pub name: &'static str,
    /// Number of the tier's switches per pod; 0 if they are not in pods.
    pub in_pod: u32,
}

impl TierName {
    /// Creates the name of a tier without pods.
    pub(super) const fn flat(name: &'static str) -> Self {
        Self { name, in_pod: 0 }
    }

    /// Returns the name of the switch at `place` in its tier: `leaf[3]`, or `edge[1.0]` with pods.
    pub(super) fn of(&self, place: u32) -> String {
        match (self.name, self.in_pod) {
            (name, 0) => alloc::format!("{name}[{place}]"),
            (name, in_pod) => alloc::format!("{name}[{}.{}]", place / in_pod, place % in_pod),
        }
    }
}

/// Own names of nodes, by number. Nodes beyond the end of a list have only a number.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct NodeNames {
    /// Names of hosts.
    pub hosts: Vec<String>,
    /// Names of switches.
    pub switches: Vec<String>,
}

impl NodeNames {
    /// Returns the name of a node: its own name, or `h3` or `s0`.
    pub fn of(&self, node: Node) -> String {
        let own = match node {
            Node::Host(host) => self.hosts.get(host.0 as usize),
            Node::Switch(switch) => self.switches.get(switch as usize),
        };
        own.cloned().unwrap_or_else(|| node.to_string())
    }
}
