//! Quantities with units, as scenarios and flags write them: `10ms`, `1.5us`, `10Gbps`, `100KB`.
//!
//! Decimals are exact: `0.1us` is 100,000 ps, without a way over floating point.

use tailcut_units::{Bytes, Duration, Rate};

const DURATION_UNITS: [(&str, u64); 6] = [
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("\u{b5}s", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
];

/// Without the `bps` or `b/s` that may follow.
const RATE_UNITS: [(&str, u64); 5] = [
    ("", 1),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];

/// Without the `B` that may follow.
const BYTE_UNITS: [(&str, u64); 5] = RATE_UNITS;

/// A span with a unit: ps, ns, us, ms or s. A bare zero needs none.
pub fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text);
    if unit.is_empty() {
        return (exact(number, 1)? == 0).then_some(Duration::ZERO);
    }
    let (_, scale) = DURATION_UNITS.iter().find(|(name, _)| *name == unit)?;
    exact(number, *scale).map(Duration::from_ps)
}

/// A rate above zero with a unit: bps, Kbps, Mbps, Gbps or Tbps, also written `b/s` or, with a
/// prefix, nothing (`10G`).
pub fn rate(text: &str) -> Option<Rate> {
    let (number, unit) = split(text);
    let prefix = unit
        .strip_suffix("bps")
        .or_else(|| unit.strip_suffix("bit/s"))
        .or_else(|| unit.strip_suffix("b/s"));
    let prefix = match prefix {
        Some(prefix) => prefix,
        None if unit.is_empty() => return None,
        None => unit,
    };
    let (_, scale) = RATE_UNITS.iter().find(|(name, _)| *name == prefix)?;
    Rate::from_bps(exact(number, *scale)?)
}

/// A number of bytes; the units B, KB, MB, GB and TB are powers of 1,000, and the B may be left out.
pub fn bytes(text: &str) -> Option<Bytes> {
    let (number, unit) = split(text);
    let prefix = unit.strip_suffix('B').unwrap_or(unit);
    let (_, scale) = BYTE_UNITS.iter().find(|(name, _)| *name == prefix)?;
    exact(number, *scale).map(Bytes)
}

/// A number with the name of what is counted after it, such as `100 packets`; the plural's s may
/// be left out.
pub fn counted(text: &str, plural: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let singular = plural.strip_suffix('s').unwrap_or(plural);
    (unit == plural || unit == singular)
        .then(|| exact(number, 1))
        .flatten()
}

/// A span as [`duration`] reads it, in the largest unit that leaves it whole.
pub fn written_duration(span: Duration) -> String {
    let ps = span.as_ps();
    let is_whole = |(unit, scale): &&(&str, u64)| unit.is_ascii() && ps.is_multiple_of(*scale);
    let mut units = DURATION_UNITS.iter().rev();
    let (unit, scale) = units.find(is_whole).unwrap_or(&DURATION_UNITS[0]);
    format!("{}{unit}", ps / scale)
}

/// A rate as [`rate`] reads it.
pub fn written_rate(rate: Rate) -> String {
    rate.to_string().replace(" ", "").replace("b/s", "bps")
}

/// A number of bytes as [`bytes`] reads it, in the largest unit that leaves it whole; above 1,000 the
/// number alone where none does.
pub fn written_bytes(Bytes(bytes): Bytes) -> String {
    let is_whole = |(_, scale): &&(&str, u64)| bytes >= *scale && bytes.is_multiple_of(*scale);
    match BYTE_UNITS.iter().rev().find(is_whole) {
        Some(("", _)) if bytes > 1_000 => bytes.to_string(),
        Some((prefix, scale)) => format!("{}{prefix}B", bytes / scale),
        None => "0B".to_owned(),
    }
}

/// The number in front and the unit behind it.
pub fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// A decimal number times `scale` where that is a whole number within 64 bits.
fn exact(number: &str, scale: u64) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let decimals = decimals.trim_end_matches('0');
    if (whole.is_empty() && decimals.is_empty()) || decimals.len() > 18 {
        return None;
    }
    let digits = |text: &str| {
        if text.is_empty() {
            return Some(0);
        }
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse::<u64>().ok()).flatten()
    };
    let divisor = 10u128.pow(decimals.len() as u32);
    let fraction = u128::from(digits(decimals)?) * u128::from(scale);
    if fraction % divisor != 0 {
        return None;
    }
    let total = u128::from(digits(whole)?) * u128::from(scale) + fraction / divisor;
    u64::try_from(total).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_with_units_are_exact() {
        assert_eq!(duration("10ms"), Some(Duration::from_ms(10)));
        assert_eq!(duration("0.1 us"), Some(Duration::from_ps(100_000)));
        assert_eq!(duration(" 1.5s "), Some(Duration::from_ms(1_500)));
        assert_eq!(duration("0"), Some(Duration::ZERO));
        assert_eq!(rate("10Gbps"), Some(Rate::from_gbps(10)));
        assert_eq!(rate("2.5G"), Some(Rate::from_mbps(2_500)));
        assert_eq!(rate("50 Mb/s"), Some(Rate::from_mbps(50)));
        assert_eq!(bytes("100KB"), Some(Bytes(100_000)));
        assert_eq!(bytes("1.5K"), Some(Bytes(1_500)));
        assert_eq!(bytes("42"), Some(Bytes(42)));
        assert_eq!(counted("100 packets", "packets"), Some(100));
        assert_eq!(counted("1 packet", "packets"), Some(1));
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in [
            "",
            "ms",
            "10",
            "1e3ms",
            "-1s",
            "1.2.3s",
            "10 parsec",
            "0.5ps",
            ".",
            "9999999999s",
            "1 . 5s",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
        for text in ["10", "0G", "G", "10GB", "-1G", "99999999999999999999G"] {
            assert_eq!(rate(text), None, "{text}");
        }
        for text in ["", "1.5", "0.0001K", "KB", "10 KiB", "\u{661}KB"] {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert_eq!(counted("100", "packets"), None);
        assert_eq!(counted("1.5 packets", "packets"), None);
    }
}
