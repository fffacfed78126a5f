//! Quantities as text: sizes, rates, times, shares and counts.
//! Scenarios, flags, configuration files and Python share this grammar (docs/quantities.md).
//!
//! A quantity is a decimal number and a unit. Spaces between number and unit are optional.
//! Decimals are exact: `0.1us` is 100,000 ps, computed without floating-point numbers.
//!
//! - Prefixes: `k`, `M`, `G`, `T` are powers of 1,000, and `Ki`, `Mi`, `Gi`, `Ti` are powers of 1,024.
//!   Upper and lower case are equal, except that mega is always `M`, because `m` is a minute.
//! - Sizes: a prefix, followed by `B` or nothing.
//! - Rates: a prefix, followed by `bps`, `b/s` or `bit/s` for bits, or `B/s` or `Bps` for bytes.
//!   A prefix without a unit means bits per second.
//! - Times: `ps`, `ns`, `us` or `µs`, `ms`, `s`, `m` or `min`, `h`, `d`.
//! - Shares: a number, or a percentage such as `50%`.
//! - Counts: a whole number, with or without a prefix.

mod error;
mod kind;
mod kinds;
mod number;
mod written;

pub use error::QuantityError;
pub use kind::Quantity;
pub use number::split;
pub use written::{written_bytes, written_duration, written_rate};

use crate::{Bytes, Duration, Rate};
use core::ops::RangeInclusive;

/// Returns the quantity that a text contains, if it is within a range.
///
/// # Errors
/// The text is not a quantity of the expected kind, or the quantity is outside the range.
pub fn within<Q: Quantity>(text: &str, range: RangeInclusive<Q>) -> Result<Q, QuantityError> {
    let found = Q::read(text).filter(|found| range.contains(found));
    found.ok_or_else(|| QuantityError::new(&range))
}

/// Returns the text with the allowed kind, range and spellings.
pub fn allowed<Q: Quantity>(range: &RangeInclusive<Q>) -> alloc::string::String {
    QuantityError::new(range).allowed
}

/// Returns a size of 0 to 2^64 - 1 bytes.
///
/// # Errors
/// The text is not a size from 0 to 2^64 - 1 bytes.
pub fn bytes(text: &str) -> Result<Bytes, QuantityError> {
    within(text, Bytes(0)..=Bytes::MOST)
}

/// Returns a rate of 1 to 2^64 - 1 bit/s. The text needs a unit or a prefix.
///
/// # Errors
/// The text is not a rate from 1 to 2^64 - 1 bit/s.
pub fn rate(text: &str) -> Result<Rate, QuantityError> {
    within(text, Rate::LEAST..=Rate::MOST)
}

/// Returns a time of 0 to 2^64 - 1 ps (213 days). Only zero needs no unit.
///
/// # Errors
/// The text is not a time from 0 to 2^64 - 1 ps.
pub fn duration(text: &str) -> Result<Duration, QuantityError> {
    within(text, Duration::ZERO..=Duration::MAX)
}

/// Returns a share of 0 to 1.
///
/// # Errors
/// The text is not a share from 0 to 1.
pub fn share(text: &str) -> Result<f64, QuantityError> {
    within(text, 0.0..=1.0)
}

/// Returns a count of 0 to 2^64 - 1.
///
/// # Errors
/// The text is not a count from 0 to 2^64 - 1.
pub fn count(text: &str) -> Result<u64, QuantityError> {
    within(text, 0..=u64::MAX)
}

/// Returns the count in a text such as `100 packets`. `plural` is the required word after the number.
/// The singular of `plural` is also allowed (`1 packet`).
pub fn counted(text: &str, plural: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let singular = plural.strip_suffix('s').unwrap_or(plural);
    let is_named = unit == plural || unit == singular;
    is_named.then(|| number::exact(number, 1)).flatten()
}
