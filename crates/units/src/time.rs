//! Points in time and time spans, in picoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// Point in time, in picoseconds since the start of the run. It overflows after 213 days.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Time(u64);

/// Time span in picoseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Duration(u64);

impl Time {
    /// Start of the run.
    pub const ZERO: Self = Self(0);
    /// Largest time, later than every event of a run. It stands for "never".
    pub const MAX: Self = Self(u64::MAX);

    /// Returns the time `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// Returns the time `ns` nanoseconds after the start, or [`Time::MAX`] if the result is too large.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }
    /// Returns the picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Returns the whole nanoseconds since the start, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// Returns the seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// Returns the span since `earlier`, or zero if `earlier` is later than this time.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
    /// Returns `self + span`, or [`Time::MAX`] if the sum overflows.
    pub const fn saturating_add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
    /// Returns the earlier of two times. `None` is the time of an event that never happens.
    #[inline]
    pub fn earlier(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

impl Duration {
    /// Span of zero.
    pub const ZERO: Self = Self(0);
    /// Longest span of time.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns a span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// Returns a span of `ns` nanoseconds, or [`Duration::MAX`] if the result is too large.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }
    /// Returns a span of `us` microseconds, or [`Duration::MAX`] if the result is too large.
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000_000))
    }
    /// Returns a span of `ms` milliseconds, or [`Duration::MAX`] if the result is too large.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000_000))
    }
    /// Returns a span of `secs` seconds, rounded to the nearest picosecond. Negative numbers and NaN give zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e12 + 0.5) as u64)
    }
    /// Returns the picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Returns the whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// Returns the microseconds.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns the seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// Returns `self - other`, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// Returns `self * factor`, or [`Duration::MAX`] if the product overflows.
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

/// Writes picoseconds in the largest unit in which the value is at least 1.
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
