//! Resampling of seeds: how quantiles and their changes get their intervals.
//!
//! Flows that start near each other meet the same queues, so that flows are not independent, but
//! seeds are. A resample draws as many seeds as there are, with replacement, and takes all flows
//! of those drawn. The middle of the resampled figures is an interval; of few seeds it would be
//! too narrow, so its ends are moved out as Student's t is wider than the normal distribution and
//! as the deviation over n - 1 is larger than the one over n: the expanded percentile interval
//! (T. Hesterberg, What Teachers Should Know About the Bootstrap, 2015, section 5.3).
//!
//! Deviation: the ends are a factor sqrt(n / (n - 1)) farther out than there. Without it 91.8 % of
//! the intervals of a p99 over six seeds held (docs/validation.md).

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Resamples. With six seeds the ends of a 95 % interval are then the third value from either side.
const RESAMPLES: usize = 2_000;

/// How often each seed occurs in each resample: the same for the same number of seeds, so that
/// designs are resampled alike and a report is reproducible.
#[derive(Clone, Debug)]
pub(crate) struct Resamples {
    weights: Vec<u16>,
    seeds: usize,
}

impl Resamples {
    /// Of `seeds` seeds, one or more.
    pub fn of(seeds: usize) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0x7461_696c_6375_7400);
        let mut weights = vec![0u16; RESAMPLES * seeds];
        for resample in weights.chunks_exact_mut(seeds.max(1)) {
            for _ in 0..seeds {
                let pick = (u64::from(random.next_u32()) * seeds as u64) >> 32;
                resample[pick as usize] += 1;
            }
        }
        Self { weights, seeds }
    }

    /// The weights of the seeds, by resample.
    pub fn weights(&self) -> impl Iterator<Item = &[u16]> {
        self.weights.chunks_exact(self.seeds.max(1))
    }
}

/// The 95 % interval of a figure from those of the resamples of `seeds` seeds, in any order; `None`
/// where an end of it is not a number.
pub(crate) fn interval(seeds: usize, mut figures: Vec<f64>) -> Option<(f64, f64)> {
    figures.sort_unstable_by(f64::total_cmp);
    let cut = (outside(seeds)? * figures.len() as f64) as usize;
    let (low, high) = (*figures.get(cut)?, *figures.get(figures.len() - 1 - cut)?);
    (!low.is_nan() && !high.is_nan()).then_some((low, high))
}

/// The share of resampled figures that lies outside of a 95 % interval on either side.
fn outside(seeds: usize) -> Option<f64> {
    let n = seeds as f64;
    let reach = t_quantile(seeds, 0.975)? * n / (n - 1.0);
    Some(Normal::new(0.0, 1.0).ok()?.cdf(-reach))
}

/// The `p`-quantile of Student's t over `seeds` seeds; `None` with fewer than two.
pub(crate) fn t_quantile(seeds: usize, p: f64) -> Option<f64> {
    let freedom = seeds.checked_sub(1).filter(|&freedom| freedom > 0)?;
    Some(
        StudentsT::new(0.0, 1.0, freedom as f64)
            .ok()?
            .inverse_cdf(p),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resample_draws_as_many_seeds_as_there_are() {
        let resamples = Resamples::of(7);
        assert_eq!(resamples.weights().count(), RESAMPLES);
        assert!(
            resamples
                .weights()
                .all(|weights| weights.iter().sum::<u16>() == 7)
        );
    }

    #[test]
    fn with_few_seeds_less_is_left_outside() {
        let shares = [6, 10, 20, 10_000].map(|seeds| outside(seeds).unwrap());
        let expected = [0.0010, 0.0060, 0.0138, 0.0250];
        for (share, expected) in shares.into_iter().zip(expected) {
            assert!((share - expected).abs() < 1e-4, "{share} is not {expected}");
        }
        assert_eq!(outside(1), None);
    }
}
