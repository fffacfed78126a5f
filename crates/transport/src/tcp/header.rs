//! TCP header.

use tailcut_units::Time;

/// TCP header. Sequence numbers are 64-bit stream offsets: 0 is the first byte of data, and the SYN has no number.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct TcpHeader {
    /// Flags: SYN, ACK, FIN, RST, ECE and CWR.
    pub flags: TcpFlags,
    /// Offset of the first payload byte.
    pub offset: u64,
    /// Acknowledgment, valid with the ACK flag: every byte before this offset has arrived.
    /// After a FIN, the acknowledgment is one past the end of the stream.
    pub ack: u64,
    /// SACK blocks above `ack`, most recent first (RFC 2018). Unused blocks are empty.
    pub sack: [SackBlock; 3],
    /// Time stamps.
    pub stamps: Stamps,
    /// Constant that has no meaning on the wire.
    pub kind: TcpKind,
}

/// TCP time stamp (RFC 7323, 3) in milliseconds, as in Linux. 0 means that there is no time stamp.
/// Deviation: the number has 24 of 32 bits, so that [`Stamps`] fit into unused bytes of the header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Stamp(u32);

impl Stamp {
    /// No time stamp.
    pub const NONE: Self = Self(0);
    const BITS: u32 = 24;
    const MASK: u32 = (1 << Self::BITS) - 1;

    /// Returns the time stamp of a segment that leaves at `now`.
    #[inline]
    pub fn at(now: Time) -> Self {
        let number = (now.as_ps() / 1_000_000_000) as u32 & Self::MASK;
        // 0 means that there is no time stamp. Linux also avoids the number 0.
        Self(number.max(1))
    }

    /// Returns the number in the TCP option, 0 to 2^24 - 1.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Returns whether both time stamps exist and `self` is before `other`. The two must be less than 2^23 ms apart.
    pub fn is_before(self, other: Self) -> bool {
        let distance = other.0.wrapping_sub(self.0) & Self::MASK;
        self != Self::NONE && other != Self::NONE && (1..1 << (Self::BITS - 1)).contains(&distance)
    }
}

/// Time stamp of a segment, and the echo of the peer's time stamp.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Stamps([u8; 6]);

impl Stamps {
    /// Returns both time stamps in one value.
    #[inline]
    pub fn new(stamp: Stamp, echo: Stamp) -> Self {
        let both = u64::from(stamp.0) | u64::from(echo.0) << Stamp::BITS;
        let [a, b, c, d, e, f, _, _] = both.to_le_bytes();
        Self([a, b, c, d, e, f])
    }

    #[inline]
    fn both(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
    }

    /// Returns the time stamp of the segment.
    #[inline]
    pub fn stamp(self) -> Stamp {
        Stamp(self.both() as u32 & Stamp::MASK)
    }

    /// Returns the time stamp of the peer that the segment echoes.
    #[inline]
    pub fn echo(self) -> Stamp {
        Stamp((self.both() >> Stamp::BITS) as u32)
    }
}

/// Byte with one value. The other 255 values distinguish the headers of other protocols.
/// With 255 unused values in this byte, an enum of headers needs no tag, so segments stay short.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum TcpKind {
    /// A TCP header.
    #[default]
    Tcp = 0,
}

/// SACK block, relative to the `ack` of its segment. A block below `ack` reports data that arrived twice (RFC 2883).
/// The offsets of a block below `ack` are negative, as two's complement.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SackBlock {
    /// Number of bytes from `ack` to the first byte of the block.
    pub start: u32,
    /// Number of bytes from `ack` to one past the last byte of the block.
    pub end: u32,
}

impl SackBlock {
    /// Returns the block from `start` to `end` for a segment with the number `ack`.
    /// Returns `None` if the block is further than 2^31 - 1 bytes from `ack`.
    pub fn relative(start: u64, end: u64, ack: u64) -> Option<Self> {
        let relative = |offset: u64| {
            let distance = i64::try_from(i128::from(offset) - i128::from(ack)).ok()?;
            Some(i32::try_from(distance).ok()?.cast_unsigned())
        };
        Some(Self {
            start: relative(start)?,
            end: relative(end)?,
        })
    }

    /// Returns the offset of the first byte of the block and the offset one past its last byte.
    /// Returns `None` if an offset is negative.
    pub fn offsets(self, ack: u64) -> Option<(u64, u64)> {
        let absolute = |number: u32| ack.checked_add_signed(i64::from(number.cast_signed()));
        Some((absolute(self.start)?, absolute(self.end)?))
    }
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
    /// The `ack` field is valid.
    pub const ACK: Self = Self(0x10);
    /// ECN-Echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);

    /// Returns whether every bit of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Returns whether any bit of `other` is set.
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Returns the bits of both sets.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
