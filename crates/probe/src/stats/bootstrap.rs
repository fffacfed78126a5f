//! Circular block bootstrap: computes confidence intervals of figures from volleys that are drawn at random.
//!
//! Consecutive volleys are not independent, because they wait in the same queues.
//! To keep correlations, whole blocks of consecutive volleys are drawn, with replacement.
//! After the last volley, a block continues with the first volley (D. N. Politis, J. P. Romano, 1992).
//! The length of a block is three times the integrated autocorrelation time of the volleys' means.
//! The autocorrelation time is a sum over the positive terms (A. Sokal, 1997).
//! A block is at least as long as the cube root of the number of volleys.
//! With few blocks, intervals would be too narrow, so two factors widen them.
//! The source is T. Hesterberg, What Teachers Should Know About the Bootstrap, 2015, section 5.3.
//! The first factor is the ratio of Student's t to the normal distribution.
//! The second factor is the ratio of two deviations: over the number of blocks minus 1, and over the number of blocks.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Number of resamples for each interval.
const RESAMPLES: usize = 1_000;
/// Smallest number of blocks of a resample. With fewer blocks, intervals are too narrow.
const FEWEST_BLOCKS: usize = 12;

/// Returns the number of volleys in a block. `means` contains the means of all volleys in order of time.
pub fn block_length(means: &[f64]) -> usize {
    let n = means.len();
    let shortest = (n as f64).cbrt().ceil() as usize;
    let dependent = (3.0 * autocorrelation_time(means)).ceil() as usize;
    shortest.max(dependent).min(n / FEWEST_BLOCKS).max(1)
}

/// Returns 1 plus twice the sum of the autocorrelations. The sum ends before the first term that is not positive.
fn autocorrelation_time(means: &[f64]) -> f64 {
    let n = means.len();
    let mean = means.iter().sum::<f64>() / n.max(1) as f64;
    let at = |lag: usize| {
        let pairs = means.iter().zip(means.iter().skip(lag));
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>()
    };
    let variance = at(0);
    if variance <= 0.0 {
        return 1.0;
    }
    // With larger lags, only few pairs of volleys remain, and their correlation would be noise.
    let lags = (1..n / 4).map(|lag| at(lag) / variance);
    1.0 + 2.0
        * lags
            .take_while(|correlation| *correlation > 0.0)
            .sum::<f64>()
}

/// Returns for each resample how often the resample contains each volley. `volleys` is the number of volleys.
/// `volleys` is the number of volleys.
/// The seed is fixed, so that a report is reproducible.
pub fn resamples(volleys: usize, block: usize) -> impl Iterator<Item = Vec<u16>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0x7072_6f62_6500);
    (0..RESAMPLES).map(move |_| {
        let mut weights = vec![0; volleys];
        let mut drawn = 0;
        while drawn < volleys {
            let start = ((u64::from(random.next_u32()) * volleys as u64) >> 32) as usize;
            for step in 0..block.min(volleys - drawn) {
                weights[(start + step) % volleys] += 1;
            }
            drawn += block;
        }
        weights
    })
}

/// Returns the factor by which an interval is widened.
/// `volleys` is the number of volleys, and `block` is the number of volleys in a block.
pub fn expansion(volleys: usize, block: usize) -> f64 {
    let blocks = (volleys as f64 / block as f64).max(2.0);
    // Ratio of two 97.5 % quantiles: Student's t and the normal distribution.
    // The ratio is approximated by the first terms of a series in 1 / freedom (Abramowitz and Stegun, 26.7.5).
    let z = 1.959_964_f64;
    let freedom = blocks - 1.0;
    let first = (z.powi(2) + 1.0) / (4.0 * freedom);
    let second = (5.0 * z.powi(4) + 16.0 * z.powi(2) + 3.0) / (96.0 * freedom.powi(2));
    (1.0 + first + second) * (blocks / (blocks - 1.0)).sqrt()
}

/// Returns the lower and the upper limit of the middle 95 % of the resampled figures.
pub fn interval(mut figures: Vec<f64>) -> (f64, f64) {
    figures.sort_unstable_by(f64::total_cmp);
    // 1/40 is 2.5 %. This share is removed at each end.
    let cut = figures.len() / 40;
    let end = figures.len().saturating_sub(1 + cut);
    let at = |place: usize| figures.get(place).copied().unwrap_or(f64::NAN);
    (at(cut), at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_long_as_volleys_depend_on_each_other() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut draw = || f64::from(random.next_u32()) / f64::from(u32::MAX) - 0.5;
        let alone: Vec<f64> = (0..1_000).map(|_| draw()).collect();
        assert!(
            (10..=14).contains(&block_length(&alone)),
            "{}",
            block_length(&alone)
        );
        let mut level = 0.0;
        let mut follow = || {
            level = 0.9 * level + draw();
            level
        };
        let dependent: Vec<f64> = (0..1_000).map(|_| follow()).collect();
        // An autoregression with the factor 0.9 has an autocorrelation time of 19.
        let length = block_length(&dependent);
        assert!((38..=83).contains(&length), "{length}");
        assert_eq!(block_length(&[5.0; 100]), 5);
        assert_eq!(block_length(&[]), 1);
    }

    #[test]
    fn intervals_of_few_blocks_are_wider() {
        // Student's t is 2.201 for 11 degrees of freedom, and 1.984 for 99.
        let of_12 = 2.201 / 1.96 * (12.0_f64 / 11.0).sqrt();
        assert!(
            (expansion(240, 20) - of_12).abs() < 0.002,
            "{}",
            expansion(240, 20)
        );
        assert!((expansion(1_000, 10) - 1.984 / 1.96 * 1.005).abs() < 0.002);
    }

    #[test]
    fn a_resample_has_as_many_volleys_as_there_are() {
        for weights in resamples(50, 7).take(20) {
            assert_eq!(
                weights
                    .iter()
                    .map(|weight| usize::from(*weight))
                    .sum::<usize>(),
                50
            );
        }
    }
}
