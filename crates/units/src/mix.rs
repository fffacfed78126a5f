//! Deterministic mixing of whole numbers, for ECMP and for the seeds of random streams.

/// Mixes a value with the finaliser of SplitMix64 (Steele et al., OOPSLA 2014). The function is bijective.
/// Each input bit flips each output bit with a probability near one half (full avalanche).
pub const fn mix64(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the seed of a random stream.
/// `domain` is the purpose of the stream, such as the arrivals of the workload or the hash of a switch.
/// `entity` is the number of a host or switch within the domain.
/// Each entity has its own stream, so the random values of a host do not change if a host is added.
pub const fn stream_seed(seed: u64, domain: u64, entity: u64) -> u64 {
    mix64(mix64(mix64(seed) ^ domain) ^ entity)
}

/// Maps a well-mixed 32-bit value evenly to a number in `0..n`, without a division (Lemire, 2019).
pub const fn reduce(value: u32, n: u32) -> u32 {
    ((value as u64 * n as u64) >> 32) as u32
}
