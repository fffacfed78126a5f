//! Hosts and switches, and what they are called.

/// What a node is.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// It sends and receives.
    #[default]
    Host,
    /// It forwards.
    Switch,
}

impl NodeKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Host, Self::Switch];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Switch => "switch",
        }
    }
}

/// A host or a switch.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct NodeRecord {
    /// Which of the two.
    pub kind: NodeKind,
    /// Its number among those of its kind, from 0, as in [`FlowRecord::src`](crate::FlowRecord::src).
    pub number: u32,
    /// What it is called, such as `aggregation[0.1]`: scenarios may write the same.
    pub name: String,
    /// What [`PortTotals::name`](crate::PortTotals::name) calls it: `s33`, or its own name where a scenario
    /// gives it one.
    pub label: String,
    /// Links between it and its nearest host: 0 for a host.
    pub tier: u8,
}
