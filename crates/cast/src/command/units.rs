//! Sizes, rates and times on the command line.

use std::time::Duration;

fn number(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (digits, unit) = text.split_at(split.unwrap_or(text.len()));
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    Some(digits.parse::<f64>().ok()? * factor)
}

/// Bytes, such as 10G.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let units = [
        ("", 1.0),
        ("B", 1.0),
        ("K", 1024.0),
        ("KB", 1e3),
        ("M", 1048576.0),
        ("MB", 1e6),
        ("G", 1073741824.0),
        ("GB", 1e9),
        ("T", 1099511627776.0),
        ("TB", 1e12),
    ];
    let bytes = number(text, &units).filter(|bytes| (1.0..=9e18).contains(bytes));
    let allowed = "allowed: bytes, such as 500000, 500MB (10^6) or 10G (2^30)";
    bytes.map(|bytes| bytes as u64).ok_or(allowed.to_owned())
}

/// Bytes a second, such as 100Mbps.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    let units = [("kbps", 125.0), ("Mbps", 125e3), ("Gbps", 125e6)];
    let bytes = number(text, &units).filter(|bytes| (1e4..=1e12).contains(bytes));
    let allowed =
        "allowed: bits a second with their unit, 80kbps to 8000Gbps, such as 100Mbps or 2Gbps";
    bytes.map(|bytes| bytes as u64).ok_or(allowed.to_owned())
}

/// A time, such as 10s.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let units = [
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("min", 60.0),
        ("h", 3600.0),
    ];
    let seconds = number(text, &units).filter(|seconds| (0.1..=86_400.0).contains(seconds));
    let allowed = "allowed: a time with its unit, such as 500ms, 10s or 5m, 100ms to 24h";
    seconds
        .map(Duration::from_secs_f64)
        .ok_or(allowed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!(size("10G"), Ok(10 << 30));
        assert_eq!(size("1.5MB"), Ok(1_500_000));
        assert_eq!(size("7"), Ok(7));
        for wrong in ["", "G", "-1", "0", "1X", "1e30"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(rate("100Mbps"), Ok(12_500_000));
        assert!(rate("100").is_err() && rate("1kbps").is_err());
        assert_eq!(time("10s"), Ok(Duration::from_secs(10)));
        for wrong in ["10", "0s", "s", "48h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
