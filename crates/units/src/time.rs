//! Instants and spans of time in picoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// An instant: picoseconds since the start of the run. Lasts 213 days before it overflows.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Time(u64);

/// A span of time in picoseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Duration(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every instant of a run; stands for "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// The instant `ns` nanoseconds after the start; saturates.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }
    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Whole nanoseconds since the start, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// The span since `earlier`, or zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
    /// `self + span`, or [`Time::MAX`] where that overflows.
    pub const fn saturating_add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
    /// The earlier of two instants, of which either may never come.
    #[inline]
    pub fn earlier(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// A span of `ns` nanoseconds; saturates.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }
    /// A span of `us` microseconds; saturates.
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000_000))
    }
    /// A span of `ms` milliseconds; saturates.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000_000))
    }
    /// A span of `secs` seconds rounded to the nearest picosecond; negative and NaN give zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e12 + 0.5) as u64)
    }
    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// Microseconds.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// `self * factor`, or [`Duration::MAX`].
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0 + span.0)
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        self.0 += span.0;
    }
}
impl Sub<Duration> for Time {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0 - span.0)
    }
}
impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0 - earlier.0)
    }
}
impl From<Duration> for core::time::Duration {
    /// Returns the span in whole nanoseconds, rounded down.
    fn from(span: Duration) -> Self {
        Self::from_nanos(span.as_ns())
    }
}
impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}
impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}
impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

/// Prints a count of picoseconds in the largest unit that keeps at least one whole digit.
fn write_ps(ps: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (unit, scale) = match ps {
        0..1_000 => return write!(f, "{ps} ps"),
        1_000..1_000_000 => ("ns", 1e3),
        1_000_000..1_000_000_000 => ("us", 1e6),
        1_000_000_000..1_000_000_000_000 => ("ms", 1e9),
        _ => ("s", 1e12),
    };
    write!(f, "{} {unit}", ps as f64 / scale)
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ps(self.0, f)
    }
}
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ps(self.0, f)
    }
}
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ps(self.0, f)
    }
}
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ps(self.0, f)
    }
}
