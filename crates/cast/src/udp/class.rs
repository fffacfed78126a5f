//! Byte of the IP header that IPv4 calls TOS and IPv6 calls traffic class.

use tailcut_units::Ecn;

/// TOS or traffic-class byte.
/// The upper six bits are the code point (DSCP, RFC 2474), and the lower two bits are the ECN field (RFC 3168).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct TrafficClass(pub u8);

impl TrafficClass {
    /// Combines a code point and an ECN field. Returns `None` if the code point has more than six bits.
    pub const fn new(dscp: u8, ecn: Ecn) -> Option<Self> {
        match dscp < 64 {
            true => Some(Self((dscp << 2) | ecn as u8)),
            false => None,
        }
    }

    /// Returns the code point (DSCP), 0 to 63.
    pub const fn dscp(self) -> u8 {
        self.0 >> 2
    }

    /// Returns the ECN field.
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits(self.0)
    }

    /// Returns a byte with the same code point and another ECN field.
    pub const fn with_ecn(self, ecn: Ecn) -> Self {
        Self((self.0 & !0b11) | ecn as u8)
    }
}
