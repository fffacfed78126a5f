//! Hashes of ECMP.

use tailcut_units::FiveTuple;

/// Hash by which ECMP chooses a flow's path.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum EcmpHash {
    /// A well-mixed hash with a seed a switch.
    #[default]
    Mixed,
    /// CRC-32, the same at every switch, and the remainder of it.
    Crc32,
    /// The exclusive or of addresses and ports, the same at every switch, and the remainder of it.
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
