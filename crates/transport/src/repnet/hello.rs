//! The hello by which two connections of a flow find each other over real sockets
//! (`docs/repnet-wire.md`): what it says. `tailcut_wire::repnet` has its bytes.

use super::state::{Leg, Mode};

/// A flow's name on the wire: 128 random bits, never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey(pub u128);

impl FlowKey {
    /// Its first four bytes, by which a banner names the preamble that it answers.
    pub const fn check(self) -> u32 {
        (self.0 >> 96) as u32
    }
}

/// A listening server's name on the wire: 128 random bits, never all zeros. Tells two servers
/// behind one address apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InstanceId(pub u128);

/// Where a second leg of a connection that was idle comes in. Each number is at most 2^53 - 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rejoin {
    /// Counts the legs that the client has tried to rejoin with, from 1.
    pub message: u64,
    /// Bytes of the application from client to server before the first one on this leg.
    pub sent: u64,
    /// The same from server to client.
    pub received: u64,
}

/// What a preamble asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To know whether a RepNet server is here.
    Probe,
    /// To open a flow, or to join the one that the other leg has opened.
    Open(Mode),
    /// To join a flow that goes on over one leg and is idle.
    Rejoin(Rejoin),
}

/// The first bytes of a client on a connection to a replica port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preamble {
    /// What it asks for.
    pub purpose: Purpose,
    /// Which of the flow's two legs this is; the first in a probe.
    pub leg: Leg,
    /// The flow.
    pub flow: FlowKey,
}

/// What a banner says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// The leg opened a new flow.
    Opened,
    /// The leg was attached to the flow that the other leg opened.
    Joined,
    /// The answer to a probe.
    Probed,
    /// The preamble's version is not spoken here.
    Unsupported,
    /// The server takes no flow now.
    Busy,
}

/// The server's answer to a preamble.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Banner {
    /// What it says.
    pub status: Status,
    /// The preamble's leg.
    pub leg: Leg,
    /// [`FlowKey::check`] of the preamble's flow.
    pub check: u32,
    /// The server.
    pub instance: InstanceId,
}
