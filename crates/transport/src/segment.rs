//! What endpoints exchange: a small `Copy` value with byte ranges instead of bytes.

use crate::ndp::NdpHeader;
use crate::pfabric::PFabricHeader;
use crate::scdp::{CreditHeader, ScdpHeader};
pub use tailcut_units::Ecn;
use tailcut_units::{FiveTuple, FlowId};

/// The equal-cost path that a trace pins a flow to, or "as the switches choose".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathPin(u16);

impl PathPin {
    /// Not pinned: the switches choose.
    pub const NONE: Self = Self(u16::MAX);

    /// Pinned to equal-cost path `index` (0 to 65,534), counted as the topology documents.
    pub const fn to(index: u16) -> Self {
        Self(index)
    }
    /// The pinned path, if any.
    pub const fn index(self) -> Option<u16> {
        if self.0 == u16::MAX {
            None
        } else {
            Some(self.0)
        }
    }
}

impl Default for PathPin {
    fn default() -> Self {
        Self::NONE
    }
}

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

    /// Whether it ends its connection at once.
    #[inline]
    pub const fn is_reset(&self) -> bool {
        match &self.header {
            Header::Tcp(header) => header.flags.has(TcpFlags::RST),
            _ => false,
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

/// The header of one protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// TCP.
    Tcp(TcpHeader),
    /// NDP.
    Ndp(NdpHeader),
    /// SCDP.
    Scdp(ScdpHeader),
    /// SCDP: a pull where the receiver gives credits.
    Credit(CreditHeader),
    /// pFabric.
    PFabric(PFabricHeader),
    /// Of a transport of a user's own: words that mean what it says.
    Own([u64; 4]),
}

/// A TCP header. Sequence numbers are 64-bit stream offsets: 0 is the first byte of data, and the
/// SYN takes no number of its own.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct TcpHeader {
    /// SYN, ACK, FIN, RST, ECE and CWR.
    pub flags: TcpFlags,
    /// Offset of the first payload byte.
    pub offset: u64,
    /// With ACK: every byte before it has arrived; one past the end of the stream once the FIN has.
    pub ack: u64,
    /// Blocks received above `ack`, most recent first (RFC 2018). Unused ones are empty.
    pub sack: [SackBlock; 3],
    /// Nothing on the wire.
    pub kind: TcpKind,
}

/// A byte with one value. Those that it cannot have tell a [`Header`] of another protocol from one
/// of TCP, so that no tag makes every segment longer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum TcpKind {
    /// A TCP header.
    #[default]
    Tcp = 0,
}

/// A SACK block, relative to the acknowledgment it travels with.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SackBlock {
    /// Bytes from `ack` to the first byte of the block.
    pub start: u32,
    /// Bytes from `ack` to one past the last byte of the block.
    pub end: u32,
}

/// TCP's flag bits (RFC 9293, RFC 3168).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// The sender has no more data.
    pub const FIN: Self = Self(0x01);
    /// Opens a connection.
    pub const SYN: Self = Self(0x02);
    /// Aborts a connection.
    pub const RST: Self = Self(0x04);
    /// The `ack` field counts.
    pub const ACK: Self = Self(0x10);
    /// ECN-Echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);

    /// Whether every bit of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Whether any bit of `other` is set.
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Both sets of bits.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
