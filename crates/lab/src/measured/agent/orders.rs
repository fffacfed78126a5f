//! Orders that the thread of the run sends to the agents' thread.

use tailcut_transport::copies::CopyOrder;
use tailcut_transport::repnet::Mode;
use tailcut_transport::{Share, Stragglers};
use tailcut_units::{FlowId, HostId, Time};

/// Order of the run to start a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Start time on the clock of the emulated network.
    pub at: Time,
    /// Number of the flow.
    pub flow: FlowId,
    /// Host that sends the flow.
    pub from: HostId,
    /// Host that receives the flow.
    pub to: HostId,
    /// Length of the flow in bytes.
    pub bytes: u64,
    /// Replication mode; `None` for a single connection.
    pub mode: Option<Mode>,
    /// Path to which the flow is pinned; `None`: any path.
    pub path: Option<u16>,
}

/// Senders and receivers of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ends {
    /// The flow has one sender and one receiver.
    One,
    /// The flow has several receivers.
    All(Vec<HostId>, Stragglers),
    /// The flow is a part of an object that several senders send. The receiver collects the object at this port.
    Share(u16, Share),
}

/// Order to the agents' thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// Start the flow.
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
    /// End the agents' thread.
    End,
}
