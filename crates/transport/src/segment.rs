//! What endpoints exchange: a small `Copy` value with byte ranges instead of bytes.

use crate::{Header, PathPin};
pub use tailcut_units::Ecn;
use tailcut_units::{FiveTuple, FlowId};

/// One packet as the transport sees it. The driver adds header bytes and, over real sockets, the
/// payload itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Addresses and ports, in the direction of travel.
    pub tuple: FiveTuple,
    /// The application's flow. Of NDP, SCDP and pFabric it is the sender's name of the session, in
    /// answers too: with the addresses it tells sessions apart. TCP decides nothing by that of a
    /// segment that has arrived.
    pub flow: FlowId,
    /// Payload bytes (0 for a pure ACK). Above the MSS only where a receiver's stack has merged several.
    pub payload: u32,
    /// The ECN field as it arrives or leaves.
    pub ecn: Ecn,
    /// Priority class, 0 is the highest.
    pub priority: u8,
    /// The path that the flow is pinned to.
    pub path: PathPin,
    /// For switches that order by it (pFabric: bytes that remain); lower goes first.
    pub rank: u32,
    /// Whether a switch may cut the payload off.
    pub trimmable: bool,
    /// What the network did to the segment on its way; senders leave it as it is by default.
    pub condition: Condition,
    /// The protocol's own header.
    pub header: Header,
}

impl Segment {
    /// A segment as most are: of the highest class, on whichever path, not ECN-capable, whole.
    pub const fn new(tuple: FiveTuple, flow: FlowId, payload: u32, header: Header) -> Self {
        Self {
            tuple,
            flow,
            payload,
            ecn: Ecn::NotCapable,
            priority: 0,
            path: PathPin::NONE,
            rank: 0,
            trimmable: false,
            condition: Condition::Whole,
            header,
        }
    }
}

/// What the network did to a segment.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Condition {
    /// Nothing: it arrived whole.
    #[default]
    Whole,
    /// A switch cut the payload off; `payload` still says how long it was.
    Trimmed,
    /// A switch cut the payload off and sent the header back to its sender.
    Returned,
}
