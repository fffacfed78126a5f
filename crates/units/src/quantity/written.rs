//! Quantities as text that is read as the same value.

use super::kind::Quantity;
use crate::{Bytes, Duration, Rate};
use alloc::format;
use alloc::string::{String, ToString};

/// Units of time in picoseconds, ascending. Other spellings of a unit are not here.
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

/// Decimal units of bytes.
pub(super) const DECIMAL: [(&str, u64); 5] = [
    ("", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// Returns a value in the largest of ascending units that leaves it whole; 0 is in the smallest.
pub(super) fn in_largest(value: u64, units: &[(&str, u64)]) -> String {
    let is_whole = |(_, scale): &&(&str, u64)| value >= *scale && value.is_multiple_of(*scale);
    let (unit, scale) = units.iter().rfind(is_whole).unwrap_or(&units[0]);
    format!("{}{unit}", value / scale)
}

/// Returns a time in the largest unit up to seconds that leaves it whole.
pub fn written_duration(span: Duration) -> String {
    match span {
        Duration::ZERO => "0s".to_string(),
        _ => in_largest(span.as_ps(), &TIMES[..5]),
    }
}

/// Returns a rate in bits a second, such as `1.3Gbps`.
pub fn written_rate(rate: Rate) -> String {
    let text = rate.to_string().replace(' ', "").replace("b/s", "bps");
    // Above 2^53 bit/s a decimal has too few digits.
    match Rate::read(&text) == Some(rate) {
        true => text,
        false => format!("{}bps", rate.as_bps()),
    }
}

/// Returns bytes in the largest decimal unit that leaves them whole; above 1,000 the number alone where none does.
pub fn written_bytes(Bytes(bytes): Bytes) -> String {
    let text = in_largest(bytes, &DECIMAL);
    let has_unit = text.ends_with('B') || bytes > 1_000;
    text + if has_unit { "" } else { "B" }
}
