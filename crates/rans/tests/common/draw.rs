//! Random numbers for tests.

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Returns a uniform number in [0, 1).
pub fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns an exponentially distributed number with this mean.
pub fn exponential(random: &mut Xoshiro256PlusPlus, mean: f64) -> f64 {
    -mean * (1.0 - uniform(random)).ln()
}
