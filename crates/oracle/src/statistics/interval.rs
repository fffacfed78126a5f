//! Confidence intervals.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

/// Estimate with its confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Estimated value.
    pub estimate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Interval {
    /// Returns whether `value` is within the interval.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Returns half the width of the interval, as a share of the estimate.
    pub fn relative_half_width(&self) -> f64 {
        (self.high - self.low) / (2.0 * self.estimate.abs())
    }
}

/// Returns the `p`-quantile of Student's t distribution with `degrees` degrees of freedom.
///
/// # Panics
/// `degrees` is not above zero.
pub fn student_t_quantile(p: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees)
        .expect("degrees of freedom above zero")
        .inverse_cdf(p)
}

/// Returns the mean of independent samples with its confidence interval by Student's t.
/// `confidence` is, for example, 0.95.
///
/// # Panics
/// There are fewer than two samples.
pub fn mean_interval(samples: &[f64], confidence: f64) -> Interval {
    assert!(samples.len() >= 2, "one sample has no spread");
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    let squares: f64 = samples.iter().map(|x| (x - mean) * (x - mean)).sum();
    let t = student_t_quantile(f64::midpoint(1.0, confidence), n - 1.0);
    let half = t * (squares / (n - 1.0) / n).sqrt();
    Interval {
        estimate: mean,
        low: mean - half,
        high: mean + half,
    }
}

/// Returns the mean of a stationary series with its confidence interval by batch means.
/// Source: Law, "Simulation Modeling and Analysis", section 9.5.3.
///
/// The series is divided into `batches` batches of consecutive samples.
/// The means of the batches are treated as independent samples.
/// A batch must therefore be much longer than the correlation of the series.
/// If the number of samples is not a multiple of `batches`, the first samples are left out.
/// At its start, the series may not be stationary.
///
/// # Panics
/// There are fewer than two batches, or fewer samples than batches.
pub fn batch_means(series: &[f64], batches: usize, confidence: f64) -> Interval {
    assert!(batches >= 2 && series.len() >= batches, "too few samples");
    let length = series.len() / batches;
    let means: Vec<f64> = series[series.len() - length * batches..]
        .chunks(length)
        .map(|batch| batch.iter().sum::<f64>() / length as f64)
        .collect();
    mean_interval(&means, confidence)
}

/// Returns the `p`-quantile of independent samples with its confidence interval.
/// Returns `None` with too few samples. `sorted` contains the samples in ascending order.
///
/// The ends of the interval are the samples of two ranks, l and u.
/// The number X of samples up to the true quantile has a binomial distribution.
/// The interval is valid for every distribution if P(X < l) and P(X >= u) are at most (1 - confidence) / 2.
///
/// The estimate is the sample of rank ceil(n p).
pub fn percentile_interval(sorted: &[f64], p: f64, confidence: f64) -> Option<Interval> {
    let n = sorted.len() as u64;
    let count = Binomial::new(p, n).ok()?;
    let miss = (1.0 - confidence) / 2.0;
    // `first` returns the first k of 0..=n for which P(X <= k) satisfies the condition.
    // If the condition is true for a k, it must be true for all larger k.
    let first = |holds: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(count.cdf(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    };
    // The lower rank is the largest l with P(X <= l - 1) <= miss. This l is the first k with P(X <= k) > miss.
    let lower_rank = first(&|cumulative| cumulative > miss);
    // The upper rank is the smallest u with P(X <= u - 1) >= 1 - miss.
    let upper_rank = first(&|cumulative| cumulative >= 1.0 - miss) + 1;
    if lower_rank < 1 || upper_rank > n {
        return None;
    }
    let rank = ((n as f64 * p).ceil() as usize).clamp(1, sorted.len());
    Some(Interval {
        estimate: sorted[rank - 1],
        low: sorted[lower_rank as usize - 1],
        high: sorted[upper_rank as usize - 1],
    })
}

/// Returns a statistic of `a` divided by the same statistic of `b`, with its percentile bootstrap interval.
/// Source: Efron and Tibshirani, "An Introduction to the Bootstrap", chapter 13.
/// `a` and `b` are resampled independently.
///
/// # Panics
/// There are no samples, or fewer than 40 resamples.
pub fn bootstrap_ratio(
    a: &[f64],
    b: &[f64],
    statistic: impl Fn(&mut [f64]) -> f64,
    resamples: usize,
    confidence: f64,
    seed: u64,
) -> Interval {
    assert!(!a.is_empty() && !b.is_empty() && resamples >= 40);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut resample = |from: &[f64], into: &mut Vec<f64>| {
        into.clear();
        into.extend(from.iter().map(|_| {
            let index = u128::from(random.next_u64()) * from.len() as u128;
            from[(index >> 64) as usize]
        }));
    };
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    let mut ratios: Vec<f64> = (0..resamples)
        .map(|_| {
            resample(a, &mut of_a);
            resample(b, &mut of_b);
            statistic(&mut of_a) / statistic(&mut of_b)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((share * resamples as f64) as usize).min(resamples - 1)];
    Interval {
        estimate: statistic(&mut a.to_vec()) / statistic(&mut b.to_vec()),
        low: at((1.0 - confidence) / 2.0),
        high: at(f64::midpoint(1.0, confidence)),
    }
}
