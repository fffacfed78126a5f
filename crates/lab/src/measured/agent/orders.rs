//! What the agents are told.

use tailcut_transport::copies::CopyOrder;
use tailcut_transport::repnet::Mode;
use tailcut_transport::{Share, Stragglers};
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

/// The ends of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ends {
    /// One sender and one receiver.
    One,
    /// All of these are receivers.
    All(Vec<HostId>, Stragglers),
    /// The host is one of several senders, for an object that is collected at a port of the receiver.
    Share(u16, Share),
}

/// What the agents are told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// To start a flow.
    Start(Start, Ends),
    /// To do something about a copy of a request that a host asks for or answers.
    Copy(HostId, CopyOrder),
    /// That a host collects a flow at a port, from several senders.
    Collect {
        /// The receiver.
        host: HostId,
        /// The flow.
        flow: FlowId,
        /// The port.
        port: u16,
    },
    /// To end.
    End,
}
