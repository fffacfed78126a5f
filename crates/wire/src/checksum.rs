//! Internet checksum (RFC 1071), and its update if one word of the data changes (RFC 1624, equation 3).

/// Adds the 16-bit words of `bytes` to `sum`. If the last byte has no partner, its word ends with a zero byte.
pub(crate) fn add(sum: u64, bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(2);
    let mut total = sum;
    for word in &mut words {
        if let Ok(word) = <[u8; 2]>::try_from(word) {
            total += u64::from(u16::from_be_bytes(word));
        }
    }
    match words.remainder() {
        [last] => total + (u64::from(*last) << 8),
        _ => total,
    }
}

/// Returns the checksum that belongs to a sum of words.
pub(crate) const fn finish(sum: u64) -> u16 {
    !fold(sum)
}

/// Returns the checksum after a word that it covers has changed from `old` to `new`.
pub(crate) const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(!checksum as u64 + !old as u64 + new as u64)
}

const fn fold(sum: u64) -> u16 {
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
