//! Random streams.
//! Each purpose and host has its own stream, so that the random values of a host never depend on another host.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::stream_seed;

/// Purpose of a stream: the domain of [`tailcut_units::stream_seed`].
#[derive(Clone, Copy)]
#[repr(u64)]
pub(crate) enum Purpose {
    Arrivals = 0x776b_6c64_0001,
    Sizes,
    Destinations,
    Permutation,
    FanIn,
    Jitter,
    Think,
    Sample,
    Servers,
    Service,
    Workers,
}

/// Stream of random numbers (xoshiro256++). All platforms give the same numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Creates the stream of `entity` in `domain` under `seed`.
    pub fn new(seed: u64, domain: u64, entity: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(stream_seed(
            seed, domain, entity,
        )))
    }

    /// Creates a stream for one purpose and one entity, such as a host. `label` is the number of the workload.
    pub(crate) fn of(seed: u64, label: u64, purpose: Purpose, entity: u64) -> Self {
        let seed = stream_seed(seed, purpose as u64, label);
        Self::new(seed, purpose as u64, entity)
    }

    /// Returns a number that is uniform over `[0, 1)`, in steps of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number that is uniform over `0..n`, without bias.
    /// Source: Lemire, "Fast random integer generation in an interval", 2019.
    ///
    /// # Panics
    /// `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no number is below zero");
        let reject_below = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(n);
            if product as u64 >= reject_below {
                return (product >> 64) as u64;
            }
        }
    }

    /// Returns an exponential number with mean one.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_even_over_a_range_that_is_no_power_of_two() {
        let mut stream = Stream::new(1, 2, 3);
        let mut counts = [0f64; 7];
        for _ in 0..70_000 {
            counts[stream.below(7) as usize] += 1.0;
        }
        // Pearson's chi-square with 6 degrees of freedom exceeds 22.46 with probability 0.001.
        let chi: f64 = counts.iter().map(|c| (c - 1e4) * (c - 1e4) / 1e4).sum();
        assert!(chi < 22.46, "chi-square {chi}");
    }

    #[test]
    fn streams_of_different_purpose_label_or_entity_differ() {
        let first = |label, purpose, entity| Stream::of(9, label, purpose, entity).uniform();
        let base = first(0, Purpose::Sizes, 0);
        assert_eq!(base, first(0, Purpose::Sizes, 0));
        assert_ne!(base, first(1, Purpose::Sizes, 0));
        assert_ne!(base, first(0, Purpose::Arrivals, 0));
        assert_ne!(base, first(0, Purpose::Sizes, 1));
    }
}
