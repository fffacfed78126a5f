//! What designs make of storage sessions.

use tailcut_transport::Stragglers;
use tailcut_units::Bytes;

/// How a write reaches its servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteBy {
    /// One transfer to a multicast group where the design has that, else as by `MultiUnicast`.
    Multicast,
    /// A flow from the client to each server.
    MultiUnicast,
    /// A flow to the first server, and from each server to the next once it has so many bytes. The next
    /// flow then runs as if all bytes were there; a server is done when those before it are, too.
    DaisyChain(Bytes),
}

/// How a read gets its blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadBy {
    /// One transfer from all replicas where the design has that, else as by `OneReplica`.
    AllReplicas,
    /// A flow from one replica of each block.
    OneReplica,
}

/// What a design makes of sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carriage {
    pub write: WriteBy,
    pub read: ReadBy,
    /// Whether the design has transfers with several ends.
    pub several_ends: bool,
    pub stragglers: Stragglers,
}
