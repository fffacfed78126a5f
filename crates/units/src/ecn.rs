//! The ECN field of a packet.

/// The ECN field of the IP header (RFC 3168).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable; never marked.
    #[default]
    NotCapable = 0,
    /// ECN-capable, ECT(1): what L4S senders set (RFC 9331). Marked like the other.
    CapableOne = 1,
    /// ECN-capable, ECT(0); not marked.
    Capable = 2,
    /// Congestion experienced.
    Marked = 3,
}

impl Ecn {
    /// The two low bits of the IP header's traffic class.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            1 => Self::CapableOne,
            2 => Self::Capable,
            3 => Self::Marked,
            _ => Self::NotCapable,
        }
    }

    /// Whether a switch may mark it.
    #[inline]
    pub const fn is_markable(self) -> bool {
        matches!(self, Self::Capable | Self::CapableOne)
    }
}
