//! Exact decimal numbers that precede units.

/// Returns a decimal number multiplied by `scale`, or `None` if the product is not a whole number of at most 64 bits.
pub(super) fn exact(number: &str, scale: u64) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let decimals = decimals.trim_end_matches('0');
    let is_decimal = |c: u8| c.is_ascii_digit() || c == b'.';
    let has_digit = number.bytes().any(|c| c.is_ascii_digit());
    if !has_digit || !number.bytes().all(is_decimal) || decimals.len() > 18 {
        return None;
    }
    let digits = |text: &str| match text {
        "" => Some(0),
        text => text.parse::<u64>().ok().map(u128::from),
    };
    // With at most 18 decimals, the products below fit into 128 bits.
    let (scale, divisor) = (u128::from(scale), 10u128.pow(decimals.len() as u32));
    let fraction = digits(decimals)? * scale;
    let total = digits(whole)? * scale + fraction / divisor;
    let is_whole = fraction.is_multiple_of(divisor);
    is_whole.then(|| u64::try_from(total).ok()).flatten()
}

/// Splits a text into its number and its unit, without the spaces around them.
pub fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let unit = text.trim_start_matches(is_of_number);
    (&text[..text.len() - unit.len()], unit.trim_start())
}
