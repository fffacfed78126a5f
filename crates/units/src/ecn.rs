//! ECN field of a packet.

/// ECN field of the IP header (RFC 3168).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable. Switches never mark it.
    #[default]
    NotCapable = 0,
    /// ECN-capable, ECT(1), the codepoint of L4S senders (RFC 9331). Switches mark it like ECT(0).
    CapableOne = 1,
    /// ECN-capable, ECT(0), not marked.
    Capable = 2,
    /// Congestion experienced (CE).
    Marked = 3,
}

impl Ecn {
    /// Returns the codepoint in the two low bits of the IP header's traffic class.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            1 => Self::CapableOne,
            2 => Self::Capable,
            3 => Self::Marked,
            _ => Self::NotCapable,
        }
    }

    /// Returns whether a switch may mark the packet.
    #[inline]
    pub const fn is_markable(self) -> bool {
        matches!(self, Self::Capable | Self::CapableOne)
    }
}
