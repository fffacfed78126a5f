//! Hashes of ECMP.

use tailcut_units::FiveTuple;

/// Hash with which ECMP chooses a flow's path.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum EcmpHash {
    /// Well-mixed hash, with a different seed at each switch.
    #[default]
    Mixed,
    /// Remainder of a CRC-32 of addresses and ports. All switches compute the same CRC-32.
    Crc32,
    /// Remainder of the exclusive or of addresses and ports. All switches compute the same value.
    Xor,
}

impl EcmpHash {
    /// Returns the hash of a flow.
    #[inline]
    pub const fn of(self, tuple: &FiveTuple) -> u32 {
        match self {
            Self::Mixed => tuple.hash(),
            Self::Crc32 => tuple.crc32(),
            Self::Xor => tuple.xor(),
        }
    }
}
