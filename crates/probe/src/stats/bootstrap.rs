//! Blocks of volleys, drawn again and again: how far a figure could have come out otherwise.
//!
//! Volleys that follow each other meet the same queues, so that blocks of them are drawn, with replacement and
//! around the end (the circular block bootstrap: D. N. Politis, J. P. Romano, 1992). A block is twice as long as
//! the time over which the volleys' means depend on each other (the integrated autocorrelation time, summed as
//! far as it is positive: A. Sokal, 1997), and no shorter than the cube root of their number.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Resamples.
const RESAMPLES: usize = 1_000;
/// Blocks that a resample has at least: with fewer, intervals are too short.
const FEWEST_BLOCKS: usize = 12;

/// Volleys in a block, for these means of all volleys in order.
pub fn block_length(means: &[f64]) -> usize {
    let n = means.len();
    let shortest = (n as f64).cbrt().ceil() as usize;
    let dependent = (2.0 * autocorrelation_time(means)).ceil() as usize;
    shortest.max(dependent).min(n / FEWEST_BLOCKS).max(1)
}

/// 1 and twice the autocorrelations as far as they are positive.
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
    let lags = (1..n / 4).map(|lag| at(lag) / variance);
    1.0 + 2.0 * lags.take_while(|correlation| *correlation > 0.0).sum::<f64>()
}

/// How often each of `volleys` occurs in each resample. The same for the same numbers, so that a report is
/// reproducible.
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

/// The middle 95 % of resampled figures.
pub fn interval(mut figures: Vec<f64>) -> (f64, f64) {
    figures.sort_unstable_by(f64::total_cmp);
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
        assert!((10..=14).contains(&block_length(&alone)), "{}", block_length(&alone));
        let mut level = 0.0;
        let mut follow = || {
            level = 0.9 * level + draw();
            level
        };
        let dependent: Vec<f64> = (0..1_000).map(|_| follow()).collect();
        // An autoregression by 0.9 has an autocorrelation time of 19.
        let length = block_length(&dependent);
        assert!((25..=60).contains(&length), "{length}");
        assert_eq!(block_length(&[5.0; 100]), 5);
        assert_eq!(block_length(&[]), 1);
    }

    #[test]
    fn a_resample_has_as_many_volleys_as_there_are() {
        for weights in resamples(50, 7).take(20) {
            assert_eq!(weights.iter().map(|weight| usize::from(*weight)).sum::<usize>(), 50);
        }
    }
}
