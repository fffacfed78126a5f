//! Message of an application, which is sent as one flow, and the statistics of the flow.

use crate::PathPin;
use tailcut_units::{FlowId, HostId};

/// Message of an application, which is sent as one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Number of the flow in events and records.
    pub flow: FlowId,
    /// Receiving host.
    pub dst: HostId,
    /// Payload bytes. With 0 bytes, the flow only opens and closes a connection, to test the handshake.
    pub bytes: u64,
    /// Equal-cost path to which the flow and its ACKs are pinned.
    pub path: PathPin,
    /// Replication of this flow, for transports with a replication layer.
    pub replication: Replication,
}

/// Replication mode of one flow.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Replication {
    /// The configuration of the host decides. RepNet replicates flows below its size limit.
    #[default]
    AsConfigured,
    /// One plain connection.
    Off,
    /// The whole flow is sent on two connections.
    RepFlow,
    /// Only the SYN is sent on two connections. The connection whose handshake ends first transfers the data.
    RepSyn,
}

/// Cost of a flow at its sender, over all its connections.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct FlowStats {
    /// Number of segments that were sent again, for any reason, including SYNs and FINs.
    pub retransmissions: u32,
    /// Number of retransmission timeouts.
    pub timeouts: u32,
    /// Number of connections: 1 for a plain flow, 2 for a replicated flow.
    pub copies: u8,
    /// Payload bytes passed to the NIC, including duplicates and retransmissions.
    pub payload_sent: u64,
}

impl FlowStats {
    /// Adds the cost of another connection or another sender of the flow.
    pub fn add(&mut self, other: Self) {
        // A sum that wraps would look like a small cost.
        self.retransmissions = self.retransmissions.saturating_add(other.retransmissions);
        self.timeouts = self.timeouts.saturating_add(other.timeouts);
        self.copies = self.copies.saturating_add(other.copies);
        self.payload_sent = self.payload_sent.saturating_add(other.payload_sent);
    }
}
