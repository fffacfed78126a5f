//! Byte of the IP header that IPv4 calls TOS and IPv6 calls traffic class.

use tailcut_units::Ecn;

/// TOS or traffic-class byte: the code point of RFC 2474 (DSCP) in the upper six bits, the ECN
/// field of RFC 3168 in the lower two.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct TrafficClass(pub u8);

impl TrafficClass {
    /// Combines the two fields. Returns `None` if the code point has more than six bits.
    pub const fn new(dscp: u8, ecn: Ecn) -> Option<Self> {
        match dscp < 64 {
            true => Some(Self((dscp << 2) | ecn as u8)),
            false => None,
        }
    }

    /// Returns the code point, 0 to 63.
    pub const fn dscp(self) -> u8 {
        self.0 >> 2
    }

    /// Returns the ECN field.
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits(self.0)
    }

    /// Returns the same code point with another ECN field.
    pub const fn with_ecn(self, ecn: Ecn) -> Self {
        Self((self.0 & !0b11) | ecn as u8)
    }
}
