//! Numbers of bytes.

use core::fmt;

/// Number of bytes. Texts use decimal units (1 KB = 1,000 B), like the papers.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bytes(pub u64);

impl Bytes {
    /// Returns `kilobytes` times 1,000 bytes.
    pub const fn from_kb(kilobytes: u64) -> Self {
        Self(kilobytes * 1_000)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1_000_000_000.. => write!(f, "{} GB", self.0 as f64 / 1e9),
            1_000_000.. => write!(f, "{} MB", self.0 as f64 / 1e6),
            1_000.. => write!(f, "{} KB", self.0 as f64 / 1e3),
            _ => write!(f, "{} B", self.0),
        }
    }
}
