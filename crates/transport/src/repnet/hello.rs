//! Content of the hello.
//! A server over real sockets uses the hello to match the two connections of a flow (`docs/repnet-wire.md`).
//! `tailcut_wire::repnet` encodes the hello.

use super::state::{Leg, Mode};

/// Identifier of a flow on the wire: 128 random bits, never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey(pub u128);

impl FlowKey {
    /// Returns the first four bytes of the key. A banner repeats them to identify its preamble.
    pub const fn check(self) -> u32 {
        (self.0 >> 96) as u32
    }
}

/// Identifier of a listening server on the wire: 128 random bits, never all zeros.
/// The identifier distinguishes two servers with the same address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InstanceId(pub u128);

/// Positions in both directions at which a second connection joins an idle flow. Each position is at most 2^53 - 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rejoin {
    /// Number of this attempt of the client to rejoin, counted from 1.
    pub message: u64,
    /// Application bytes from client to server before the first byte on this connection.
    pub sent: u64,
    /// Application bytes from server to client before the first byte on this connection.
    pub received: u64,
}

/// Purpose of a preamble, the first message of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Tests whether a RepNet server listens here.
    Probe,
    /// Opens a flow, or joins the flow that the other connection has opened.
    Open(Mode),
    /// Joins an idle flow that continues over one connection.
    Rejoin(Rejoin),
}

/// First bytes that a client sends on a connection to a replica port of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preamble {
    /// Purpose of the connection.
    pub purpose: Purpose,
    /// Index of the connection in its flow. A probe has the first index.
    pub leg: Leg,
    /// Identifier of the flow.
    pub flow: FlowKey,
}

/// Result of a preamble, which the server returns in its banner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// The connection opened a new flow.
    Opened,
    /// The connection joined the flow that the other connection had opened.
    Joined,
    /// The banner answers a probe.
    Probed,
    /// The server does not support the version of the preamble.
    Unsupported,
    /// The server accepts no flow now.
    Busy,
}

/// Answer of the server to a preamble.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Banner {
    /// Answer of the server to the preamble.
    pub status: Status,
    /// Index of the connection, from the preamble.
    pub leg: Leg,
    /// Value of [`FlowKey::check`] for the flow of the preamble.
    pub check: u32,
    /// Identifier of the server.
    pub instance: InstanceId,
}
