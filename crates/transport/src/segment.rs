//! Segments that endpoints exchange: small `Copy` values that hold byte ranges and no payload.

use crate::{Header, PathPin};
pub use tailcut_units::Ecn;
use tailcut_units::{FiveTuple, FlowId};

/// Packet at the transport layer. The driver adds header bytes and, over real sockets, the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Addresses and ports, in the direction of travel.
    pub tuple: FiveTuple,
    /// Flow of the application. For NDP, SCDP and pFabric this is the sender's number of the session, also in answers.
    /// Together with the addresses, the flow number identifies the session. TCP reads the flow only from a SYN.
    pub flow: FlowId,
    /// Payload bytes; 0 for a pure ACK.
    /// The number exceeds the MSS only if the receiving host has merged several segments.
    pub payload: u32,
    /// ECN field of the segment when it arrives or leaves.
    pub ecn: Ecn,
    /// Priority class; 0 is the highest.
    pub priority: u8,
    /// Path to which the flow is pinned.
    pub path: PathPin,
    /// Rank for switches that order packets by rank: the packet with the lowest rank leaves first.
    /// For pFabric the rank is the number of remaining bytes.
    pub rank: u32,
    /// Whether a switch may cut off the payload.
    pub trimmable: bool,
    /// Change that the network made to the segment. Senders leave the default.
    pub condition: Condition,
    /// Header of the protocol.
    pub header: Header,
}

impl Segment {
    /// Creates a segment with the usual values: highest class, any path, not ECN-capable, whole.
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

/// Change that the network made to a segment.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Condition {
    /// No change: the segment is whole.
    #[default]
    Whole,
    /// A switch cut off the payload. The field `payload` still has the original length.
    Trimmed,
    /// A switch cut off the payload and returned the header to the sender.
    Returned,
}
