//! Orders to the agents' thread.

use tailcut_transport::copies::CopyOrder;
use tailcut_transport::repnet::Mode;
use tailcut_transport::{Share, Stragglers};
use tailcut_units::{FlowId, HostId, Time};

/// Order to start a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Start time on the clock of the emulated network.
    pub at: Time,
    /// Number of the flow.
    pub flow: FlowId,
    /// Sender.
    pub from: HostId,
    /// Receiver.
    pub to: HostId,
    /// Length in bytes.
    pub bytes: u64,
    /// Replication mode; `None` for a single connection.
    pub mode: Option<Mode>,
    /// Path to which the flow is pinned; `None`: any path.
    pub path: Option<u16>,
}

/// Number of senders and receivers of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ends {
    /// One sender and one receiver.
    One,
    /// Several receivers.
    All(Vec<HostId>, Stragglers),
    /// One of several senders. The receiver collects the object of all senders at this port.
    Share(u16, Share),
}

/// Order to the agents' thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// Start a flow.
    Start(Start, Ends),
    /// Execute an order for a copy of a request, at the host that sends or answers the copy.
    Copy(HostId, CopyOrder),
    /// Collect a flow from several senders at a port.
    Collect {
        /// Host that receives the flow.
        host: HostId,
        /// Number of the flow.
        flow: FlowId,
        /// Port at which the host collects the flow.
        port: u16,
    },
    /// End the thread.
    End,
}
