//! Transfer methods of storage sessions.

use tailcut_transport::Stragglers;
use tailcut_units::Bytes;

/// Method of writing a block to its servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteBy {
    /// One transfer to a multicast group. Designs without multicast transfers use `MultiUnicast` instead.
    Multicast,
    /// One flow from the client to each server.
    MultiUnicast,
    /// One flow to the first server. Each server sends to the next server after it has received this number of bytes.
    /// The next flow is simulated as if the server already had all bytes.
    /// A server is complete only if all servers before it are complete.
    DaisyChain(Bytes),
}

/// Method of reading a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadBy {
    /// One transfer from all replicas. Designs without transfers from several senders use `OneReplica` instead.
    AllReplicas,
    /// One flow from one replica of each block.
    OneReplica,
}

/// Methods that a design uses for sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransferMethods {
    pub write: WriteBy,
    pub read: ReadBy,
    /// Whether the design has transfers with several senders or receivers.
    pub several_ends: bool,
    pub stragglers: Stragglers,
}
