//! What an application hands over as one flow, and what that cost.

use crate::PathPin;
use tailcut_units::{FlowId, HostId};

/// Bytes that the application hands over as one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The flow's number, for events and records.
    pub flow: FlowId,
    /// The receiving host.
    pub dst: HostId,
    /// Payload bytes; 0 opens and closes a connection (a probe of the handshake).
    pub bytes: u64,
    /// The equal-cost path that the flow and its ACKs are pinned to.
    pub path: PathPin,
    /// How a transport with a replication layer treats this flow.
    pub replication: Replication,
}

/// A choice of replication for one flow.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Replication {
    /// As the host is configured (for RepNet: flows under the size limit are replicated).
    #[default]
    AsConfigured,
    /// One plain connection.
    Off,
    /// The whole flow on two connections.
    RepFlow,
    /// Only the SYN on two connections; the first handshake carries the data.
    RepSyn,
}

/// What a flow cost its sender, over all its connections.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct FlowStats {
    /// Segments sent again, whatever the reason (SYNs and FINs included).
    pub retransmissions: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Connections opened: 1 for a plain flow, 2 for a replicated one.
    pub copies: u8,
    /// Payload bytes handed to the NIC, duplicates and retransmissions included.
    pub payload_sent: u64,
}

impl FlowStats {
    /// Adds the cost of another connection of the flow, or of another of its senders.
    pub fn add(&mut self, other: Self) {
        self.retransmissions = self.retransmissions.saturating_add(other.retransmissions);
        self.timeouts = self.timeouts.saturating_add(other.timeouts);
        self.copies = self.copies.saturating_add(other.copies);
        self.payload_sent = self.payload_sent.saturating_add(other.payload_sent);
    }
}
