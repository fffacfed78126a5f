//! Content of the hello by which a server over real sockets matches the two connections of a flow
//! (`docs/repnet-wire.md`). `tailcut_wire::repnet` encodes it.

use super::state::{Leg, Mode};

/// Name of a flow on the wire: 128 random bits, never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey(pub u128);

impl FlowKey {
    /// Returns the first four bytes of the key. A banner repeats them to identify its preamble.
    pub const fn check(self) -> u32 {
        (self.0 >> 96) as u32
    }
}

/// Name of a listening server on the wire: 128 random bits, never all zeros. It distinguishes two servers
/// behind one address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InstanceId(pub u128);

/// Positions at which a second leg joins an idle connection. Each number is at most 2^53 - 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rejoin {
    /// Number of legs with which the client has tried to rejoin, from 1.
    pub message: u64,
    /// Bytes of the application from client to server before the first byte on this leg.
    pub sent: u64,
    /// Bytes of the application from server to client before the first byte on this leg.
    pub received: u64,
}

/// Purpose of a preamble.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Tests whether a RepNet server listens here.
    Probe,
    /// Opens a flow, or joins the flow that the other leg has opened.
    Open(Mode),
    /// Joins a flow that continues over one leg and is idle.
    Rejoin(Rejoin),
}

/// First bytes of a client on a connection to a replica port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preamble {
    /// Purpose of the leg.
    pub purpose: Purpose,
    /// Leg of the flow; the first leg in a probe.
    pub leg: Leg,
    /// Name of the flow.
    pub flow: FlowKey,
}

/// Result of a preamble, in the banner of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// The leg opened a new flow.
    Opened,
    /// The leg was attached to the flow that the other leg opened.
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
    /// Result of the preamble.
    pub status: Status,
    /// Leg of the preamble.
    pub leg: Leg,
    /// Value of [`FlowKey::check`] for the flow of the preamble.
    pub check: u32,
    /// Name of the server.
    pub instance: InstanceId,
}
