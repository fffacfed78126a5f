//! Quantities as text. If this text is read again, the result is the same quantity.

use super::kind::Quantity;
use crate::{Bytes, Duration, Rate};
use alloc::format;
use alloc::string::{String, ToString};

/// Units of time in picoseconds, ascending. The list contains one spelling of each unit.
pub(super) const TIMES: [(&str, u64); 8] = [
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("m", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
    ("d", 86_400_000_000_000_000),
];

/// Decimal units of bytes, ascending.
pub(super) const DECIMAL: [(&str, u64); 5] = [
    ("", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// Returns a value as text, in the largest of `units` that gives a whole number. `units` must be in ascending order.
/// The value 0 has the smallest unit.
pub(super) fn in_largest(value: u64, units: &[(&str, u64)]) -> String {
    let is_whole = |(_, scale): &&(&str, u64)| value >= *scale && value.is_multiple_of(*scale);
    let (unit, scale) = units.iter().rfind(is_whole).unwrap_or(&units[0]);
    format!("{}{unit}", value / scale)
}

/// Returns a time as text, in the largest unit up to seconds that gives a whole number.
pub fn written_duration(span: Duration) -> String {
    match span {
        Duration::ZERO => "0s".to_string(),
        _ => in_largest(span.as_ps(), &TIMES[..5]),
    }
}

/// Returns a rate in bits per second, such as `1.3Gbps`.
pub fn written_rate(rate: Rate) -> String {
    let text = rate.to_string().replace(' ', "").replace("b/s", "bps");
    // Above 2^53 bit/s, the decimal text is rounded, because the formatter uses floating-point numbers.
    match Rate::read(&text) == Some(rate) {
        true => text,
        false => format!("{}bps", rate.as_bps()),
    }
}

/// Returns a size as text, in the largest decimal unit that gives a whole number, such as `64KB`.
/// A size above 1,000 bytes that is not a whole number of kilobytes has no unit, such as `1500`.
pub fn written_bytes(Bytes(bytes): Bytes) -> String {
    let text = in_largest(bytes, &DECIMAL);
    let has_unit = text.ends_with('B') || bytes > 1_000;
    text + if has_unit { "" } else { "B" }
}
