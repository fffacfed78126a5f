//! Quantities as text: sizes, rates, times, shares and counts. Scenarios, flags, configuration files and Python read
//! this one grammar (docs/quantities.md).
//!
//! A quantity is a decimal number and a unit; spaces between them are free. Decimals are exact: `0.1us` is 100,000 ps,
//! without a way over floating point.
//!
//! - Prefixes: `k`, `M`, `G`, `T` are powers of 1,000; `Ki`, `Mi`, `Gi`, `Ti` are powers of 1,024. Their case is free,
//!   except that mega is `M` only: `m` is a minute.
//! - Sizes: a prefix, and `B` or nothing.
//! - Rates: a prefix, and `bps`, `b/s` or `bit/s` for bits, `B/s` or `Bps` for bytes; a prefix alone counts bits.
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

/// Returns a quantity within a range.
///
/// # Errors
/// Text that is no quantity of this kind, or one outside the range.
pub fn within<Q: Quantity>(text: &str, range: RangeInclusive<Q>) -> Result<Q, QuantityError> {
    let found = Q::read(text).filter(|found| range.contains(found));
    found.ok_or_else(|| QuantityError::new(&range))
}

/// Returns the kind, the range and the spellings that are allowed, in words.
pub fn allowed<Q: Quantity>(range: &RangeInclusive<Q>) -> alloc::string::String {
    QuantityError::new(range).allowed
}

/// Returns a size, 0 to 2^64 - 1 bytes.
///
/// # Errors
/// Other text.
pub fn bytes(text: &str) -> Result<Bytes, QuantityError> {
    within(text, Bytes(0)..=Bytes::MOST)
}

/// Returns a rate, 1 to 2^64 - 1 bit/s. It needs a unit, or a prefix.
///
/// # Errors
/// Other text.
pub fn rate(text: &str) -> Result<Rate, QuantityError> {
    within(text, Rate::LEAST..=Rate::MOST)
}

/// Returns a time, 0 to 2^64 - 1 ps (213 days). Only zero needs no unit.
///
/// # Errors
/// Other text.
pub fn duration(text: &str) -> Result<Duration, QuantityError> {
    within(text, Duration::ZERO..=Duration::MAX)
}

/// Returns a share, 0 to 1.
///
/// # Errors
/// Other text.
pub fn share(text: &str) -> Result<f64, QuantityError> {
    within(text, 0.0..=1.0)
}

/// Returns a count, 0 to 2^64 - 1.
///
/// # Errors
/// Other text.
pub fn count(text: &str) -> Result<u64, QuantityError> {
    within(text, 0..=u64::MAX)
}

/// Returns a count with the name of the counted things after it, such as `100 packets`; the plural's s may be left
/// out.
pub fn counted(text: &str, plural: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let singular = plural.strip_suffix('s').unwrap_or(plural);
    let is_named = unit == plural || unit == singular;
    is_named.then(|| number::exact(number, 1)).flatten()
}
