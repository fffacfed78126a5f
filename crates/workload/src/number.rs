//! Numbers and sizes in files that other programs write.

use tailcut_units::quantity;

/// Returns the bytes in a text. The text is a number as in [`exact`], or a quantity with a unit.
pub(crate) fn size(text: &str) -> Option<u64> {
    let with_unit = || quantity::bytes(text).ok().map(|bytes| bytes.0);
    exact(text, 0).or_else(with_unit)
}

/// Returns the number in `text` multiplied by 10^`power`.
/// Returns `None` if the product is not a whole number of at most 64 bits. A sign is not allowed.
/// The number may have decimals and an exponent.
pub(crate) fn exact(text: &str, power: i32) -> Option<u64> {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i16>().ok()?),
        None => (text, 0),
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(decimals) {
        return None;
    }
    let decimals = decimals.trim_end_matches('0');
    let digits = whole.bytes().chain(decimals.bytes());
    let value = digits
        .map(|digit| u64::from(digit - b'0'))
        .try_fold(0u64, |value, digit| {
            value.checked_mul(10)?.checked_add(digit)
        })?;
    let power = i64::from(power) + i64::from(exponent) - i64::try_from(decimals.len()).ok()?;
    let factor = 10u64.checked_pow(u32::try_from(power.unsigned_abs()).ok()?);
    match (value, power >= 0) {
        (0, _) => Some(0),
        (_, true) => value.checked_mul(factor?),
        (_, false) => value.is_multiple_of(factor?).then_some(value / factor?),
    }
}
