//! Tests of the statistics. Confidence intervals contain the true value with the promised probability.
//! Distances must have their known distributions.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_oracle::statistics::{
    batch_means, bootstrap_ratio, dkw_band, kolmogorov_distance, kolmogorov_p_value, mean_interval,
    percentile_interval, smirnov_distance, smirnov_p_value, student_t_quantile,
};

fn uniforms(seed: u64, n: usize) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..n)
        .map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64)
        .collect()
}

fn exponentials(seed: u64, n: usize) -> Vec<f64> {
    uniforms(seed, n)
        .into_iter()
        .map(|u| -(-u).ln_1p())
        .collect()
}

fn sorted(mut samples: Vec<f64>) -> Vec<f64> {
    samples.sort_by(f64::total_cmp);
    samples
}

fn mean(samples: &mut [f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Asserts that `covered` is true for the share `nominal` of all runs.
/// The tolerance is four standard deviations of the binomial distribution, plus the known error `slack` of the method.
fn assert_coverage(nominal: f64, slack: f64, runs: u64, covered: impl Fn(u64) -> bool) {
    let hits = (0..runs).filter(|&run| covered(run)).count() as f64;
    let share = hits / runs as f64;
    let deviation = (nominal * (1.0 - nominal) / runs as f64).sqrt();
    assert!(
        (share - nominal).abs() < 4.0 * deviation + slack,
        "coverage {share}, confidence {nominal}"
    );
}

#[test]
fn students_quantiles_are_those_of_the_tables() {
    for (p, degrees, value) in [
        (0.975, 1.0, 12.706),
        (0.975, 4.0, 2.776),
        (0.975, 10.0, 2.228),
        (0.95, 30.0, 1.697),
        (0.995, 9.0, 3.250),
        (0.975, 1e6, 1.960),
    ] {
        let quantile = student_t_quantile(p, degrees);
        assert!(
            (quantile - value).abs() < 6e-4,
            "{quantile} against {value}"
        );
    }
}

#[test]
fn the_interval_of_a_mean_is_the_one_worked_out_by_hand() {
    // The five samples have mean 3 and variance 2.5, so the interval is 3 +- 2.776 sqrt(2.5 / 5).
    let interval = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95);
    assert_eq!(interval.estimate, 3.0);
    assert!((interval.high - 3.0 - 2.776 * 0.5f64.sqrt()).abs() < 1e-3);
    assert!((interval.low + interval.high - 6.0).abs() < 1e-12);
}

#[test]
fn batch_means_cover_the_mean_of_a_correlated_series_where_plain_samples_do_not() {
    // The series x' = 0.9 x + e has mean 0. The correlation extends over about twenty samples.
    let series = |seed| -> Vec<f64> {
        let mut x = 0.0;
        uniforms(seed, 20_000)
            .into_iter()
            .map(|u| {
                x = 0.9 * x + u - 0.5;
                x
            })
            .collect()
    };
    assert_coverage(0.95, 0.01, 400, |seed| {
        batch_means(&series(seed), 20, 0.95).contains(0.0)
    });
    let naive = (0..100).filter(|&seed| mean_interval(&series(seed), 0.95).contains(0.0));
    assert!(naive.count() < 60);
}

#[test]
fn batch_means_leave_out_the_front() {
    let interval = batch_means(&[1e9, 1.0, 3.0, 1.0, 3.0], 2, 0.95);
    assert_eq!((interval.low, interval.high), (2.0, 2.0));
}

#[test]
fn percentile_intervals_cover_at_least_as_often_as_they_say() {
    let exact = -(0.01f64).ln();
    let covered = (0..1_000u64)
        .filter(|&seed| {
            let samples = sorted(exponentials(seed, 2_000));
            percentile_interval(&samples, 0.99, 0.95)
                .expect("enough samples")
                .contains(exact)
        })
        .count();
    // The coverage is a little higher than 95 %, because ranks are whole numbers.
    assert!((935..=985).contains(&covered), "{covered} of 1000");
}

#[test]
fn the_ranks_of_a_medians_interval_are_those_of_the_table() {
    // For 20 samples, the 95 % interval of the median is the 6th to the 15th sample (Conover, table A3).
    let samples: Vec<f64> = (1..=20).map(f64::from).collect();
    let interval = percentile_interval(&samples, 0.5, 0.95).expect("enough samples");
    assert_eq!(
        (interval.low, interval.estimate, interval.high),
        (6.0, 10.0, 15.0)
    );
}

#[test]
fn too_few_samples_have_no_percentile_interval() {
    let samples: Vec<f64> = (0..300).map(f64::from).collect();
    assert_eq!(percentile_interval(&samples, 0.99, 0.95), None);
    assert_eq!(percentile_interval(&[], 0.5, 0.95), None);
    // The interval exists if 0.99^n <= 0.025, so for at least 368 samples.
    let samples: Vec<f64> = (0..400).map(f64::from).collect();
    assert!(percentile_interval(&samples, 0.99, 0.95).is_some());
}

#[test]
fn the_bootstrap_of_a_ratio_covers_it() {
    assert_coverage(0.95, 0.02, 300, |seed| {
        let a: Vec<f64> = exponentials(2 * seed, 200)
            .into_iter()
            .map(|x| 0.6 * x)
            .collect();
        let b = exponentials(2 * seed + 1, 200);
        bootstrap_ratio(&a, &b, mean, 400, 0.95, seed).contains(0.6)
    });
}

#[test]
fn the_bootstrap_is_the_same_for_one_seed() {
    let (a, b) = (exponentials(1, 50), exponentials(2, 60));
    let once = bootstrap_ratio(&a, &b, mean, 100, 0.9, 7);
    assert_eq!(once, bootstrap_ratio(&a, &b, mean, 100, 0.9, 7));
    assert_ne!(once, bootstrap_ratio(&a, &b, mean, 100, 0.9, 8));
    assert_eq!(once.estimate, mean(&mut a.clone()) / mean(&mut b.clone()));
}

#[test]
fn distances_are_those_worked_out_by_hand() {
    // The largest distance to the uniform distribution is at 0.5.
    // All samples are at most 0.5, and the uniform distribution gives the probability 0.5.
    assert_eq!(kolmogorov_distance(&[0.25, 0.5], |x| x), 0.5);
    assert_eq!(smirnov_distance(&[1.0, 2.0, 3.0], &[2.5, 3.5]), 2.0 / 3.0);
    assert_eq!(smirnov_distance(&[1.0, 2.0], &[1.0, 2.0]), 0.0);
}

#[test]
fn p_values_follow_kolmogorovs_limit_law() {
    let at = |x: f64| kolmogorov_p_value(x / 1e6, 1e12);
    assert!((at(1.3581) - 0.05).abs() < 1e-4);
    assert!((at(1.6276) - 0.01).abs() < 1e-4);
    assert!((smirnov_p_value(1.3581 / 500.0, 500_000, 500_000) - 0.05).abs() < 1e-3);
    assert_eq!(kolmogorov_p_value(0.0, 100.0), 1.0);
}

#[test]
fn p_values_under_the_hypothesis_are_even() {
    assert_coverage(0.1, 0.01, 1_000, |seed| {
        let samples = sorted(uniforms(seed, 200));
        kolmogorov_p_value(kolmogorov_distance(&samples, |x| x), 200.0) < 0.1
    });
}

#[test]
fn the_dkw_band_is_left_no_more_often_than_it_says() {
    let band = dkw_band(200, 0.9);
    assert!((band - (20f64.ln() / 400.0).sqrt()).abs() < 1e-12);
    let left = (0..1_000u64)
        .filter(|&seed| kolmogorov_distance(&sorted(uniforms(seed, 200)), |x| x) > band)
        .count();
    assert!((50..130).contains(&left), "{left} of 1000");
}
