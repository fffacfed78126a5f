//! What the agents are told.

use tailcut_transport::rans::CopyOrder;
use tailcut_transport::repnet::Mode;
use tailcut_units::{FlowId, HostId, Time};

/// A flow that is to start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// When, by the network's clock.
    pub at: Time,
    /// Which.
    pub flow: FlowId,
    /// From where.
    pub from: HostId,
    /// To where.
    pub to: HostId,
    /// How much.
    pub bytes: u64,
    /// What is replicated; `None`: nothing.
    pub mode: Option<Mode>,
    /// The path that it is pinned to, if any.
    pub path: Option<u16>,
}

/// What the agents are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// To start a flow.
    Start(Start),
    /// To do something about a copy of a request that a host asks for or answers.
    Copy(HostId, CopyOrder),
    /// To end.
    End,
}
