//! Deterministic mixing of integers: for seeds of random streams and for ECMP.

/// A bijective mix with full avalanche: every input bit flips every output bit with probability
/// near one half (the finaliser of SplitMix64, Steele et al., OOPSLA 2014).
pub const fn mix64(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The seed of one entity's random stream. Streams are named by a `domain` (say, the arrivals of
/// the workload, or the hash of a switch) and an `entity` within it, so that adding an entity
/// changes no other entity's draws.
pub const fn stream_seed(seed: u64, domain: u64, entity: u64) -> u64 {
    mix64(mix64(mix64(seed) ^ domain) ^ entity)
}

/// Maps a well-mixed 32-bit value evenly onto `0..n` without a division (Lemire, 2019).
pub const fn reduce(value: u32, n: u32) -> u32 {
    ((value as u64 * n as u64) >> 32) as u32
}
