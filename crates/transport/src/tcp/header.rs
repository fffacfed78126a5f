//! TCP's header.

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

/// A byte with one value. The other 255 values tell the header of another protocol from one of TCP,
/// so that no tag makes every segment longer.
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
