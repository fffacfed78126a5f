//! Line rates.

use crate::Duration;
use core::fmt;

/// A rate in bits per second, greater than zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rate(core::num::NonZeroU64);

const PS_PER_SECOND: u128 = 1_000_000_000_000;

impl Rate {
    /// 1 bit per second.
    pub const LEAST: Self = Self(core::num::NonZeroU64::MIN);
    /// `bits` per second, or `None` for zero.
    pub const fn from_bps(bits: u64) -> Option<Self> {
        match core::num::NonZeroU64::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }
    /// `megabits` times 10^6 bits per second.
    ///
    /// # Panics
    /// When `megabits` is zero; use [`Rate::from_bps`] for outside input.
    pub const fn from_mbps(megabits: u64) -> Self {
        Self(core::num::NonZeroU64::new(megabits * 1_000_000).expect("a rate above zero"))
    }
    /// `gigabits` times 10^9 bits per second.
    ///
    /// # Panics
    /// When `gigabits` is zero; use [`Rate::from_bps`] for outside input.
    pub const fn from_gbps(gigabits: u64) -> Self {
        Self::from_mbps(gigabits * 1_000)
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0.get()
    }
    /// Picoseconds a byte when that is a whole number, as at every common line rate.
    pub const fn ps_per_byte(self) -> Option<u64> {
        let ps_times_bps = 8 * 1_000_000_000_000u64;
        if ps_times_bps.is_multiple_of(self.0.get()) {
            Some(ps_times_bps / self.0.get())
        } else {
            None
        }
    }
    /// The time that `bytes` take on the line, rounded up to a picosecond so that a port is never
    /// over its rate. Exact where [`Rate::ps_per_byte`] is. Saturates.
    pub fn serialisation(self, bytes: u64) -> Duration {
        let ps = (u128::from(bytes) * 8 * PS_PER_SECOND).div_ceil(u128::from(self.0.get()));
        Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
    /// The whole bytes that this rate carries within `span`, rounded down. Saturates.
    pub fn bytes_in(self, span: Duration) -> u64 {
        let bytes = u128::from(span.as_ps()) * u128::from(self.0.get()) / (8 * PS_PER_SECOND);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bps = self.0.get();
        match bps {
            1_000_000_000.. => write!(f, "{} Gb/s", bps as f64 / 1e9),
            1_000_000.. => write!(f, "{} Mb/s", bps as f64 / 1e6),
            _ => write!(f, "{bps} b/s"),
        }
    }
}
