//! Hosts and switches, and what they are called.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use tailcut_units::HostId;

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A host.
    Host(HostId),
    /// A switch, numbered from zero.
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

/// What the switches of a tier are called by their place in a regular topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TierName {
    /// The name that they share, such as `leaf`.
    pub name: &'static str,
    /// How many of them a pod has; 0 where they are not in pods.
    pub in_pod: u32,
}

impl TierName {
    /// Of a tier without pods.
    pub(super) const fn flat(name: &'static str) -> Self {
        Self { name, in_pod: 0 }
    }

    /// The name of the switch at `place` in its tier: `leaf[3]`, and with pods `edge[1.0]`.
    pub(super) fn of(&self, place: u32) -> String {
        match (self.name, self.in_pod) {
            (name, 0) => alloc::format!("{name}[{place}]"),
            (name, in_pod) => alloc::format!("{name}[{}.{}]", place / in_pod, place % in_pod),
        }
    }
}

/// What nodes are called where they have names of their own, by their numbers; a list that is too short
/// leaves the others to their numbers.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct NodeNames {
    /// The hosts' names.
    pub hosts: Vec<String>,
    /// The switches' names.
    pub switches: Vec<String>,
}

impl NodeNames {
    /// The name of a node: its own, or `h3`, `s0`.
    pub fn of(&self, node: Node) -> String {
        let own = match node {
            Node::Host(host) => self.hosts.get(host.0 as usize),
            Node::Switch(switch) => self.switches.get(switch as usize),
        };
        own.cloned().unwrap_or_else(|| node.to_string())
    }
}
