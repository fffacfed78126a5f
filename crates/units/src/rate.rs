//! Line rates.

use crate::Duration;
use core::fmt;

/// Rate in bits per second, greater than zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rate(core::num::NonZeroU64);

const PS_PER_SECOND: u128 = 1_000_000_000_000;

impl Rate {
    /// 1 bit per second, the smallest rate.
    pub const LEAST: Self = Self(core::num::NonZeroU64::MIN);
    /// Returns a rate of `bits` per second, or `None` for zero.
    pub const fn from_bps(bits: u64) -> Option<Self> {
        match core::num::NonZeroU64::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }
    /// Returns a rate of `megabits` times 10^6 bits per second.
    ///
    /// # Panics
    /// `megabits` is zero. Use [`Rate::from_bps`] for values from outside the program.
    pub const fn from_mbps(megabits: u64) -> Self {
        Self(core::num::NonZeroU64::new(megabits * 1_000_000).expect("a rate above zero"))
    }
    /// Returns a rate of `gigabits` times 10^9 bits per second.
    ///
    /// # Panics
    /// `gigabits` is zero. Use [`Rate::from_bps`] for values from outside the program.
    pub const fn from_gbps(gigabits: u64) -> Self {
        Self::from_mbps(gigabits * 1_000)
    }
    /// Returns the rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0.get()
    }
    /// Returns the picoseconds per byte if they are a whole number, as at every common line rate.
    pub const fn ps_per_byte(self) -> Option<u64> {
        let ps_times_bps = 8 * 1_000_000_000_000u64;
        if ps_times_bps.is_multiple_of(self.0.get()) {
            Some(ps_times_bps / self.0.get())
        } else {
            None
        }
    }
    /// Returns the time that `bytes` take on the line, or the longest duration if the time is longer.
    /// The time is rounded up to a picosecond, so that a port never exceeds its rate.
    /// No rounding is needed if [`Rate::ps_per_byte`] returns a number.
    pub fn serialisation(self, bytes: u64) -> Duration {
        let ps = (u128::from(bytes) * 8 * PS_PER_SECOND).div_ceil(u128::from(self.0.get()));
        Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
    /// Returns the number of bytes that a link of this rate transports within `span`, rounded down.
    /// The result is at most `u64::MAX`.
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
