//! Distances between distributions, and the probability that a distance occurs by chance.

/// Returns the largest distance between the empirical distribution of `sorted` samples and a continuous distribution.
/// `cdf` is the cumulative distribution function.
pub fn kolmogorov_distance(sorted: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let n = sorted.len() as f64;
    sorted
        .iter()
        .enumerate()
        .map(|(index, &sample)| {
            let expected = cdf(sample);
            let (before, after) = (index as f64 / n, (index + 1) as f64 / n);
            (expected - before).max(after - expected)
        })
        .fold(0.0, f64::max)
}

/// Returns the largest distance between the empirical distributions of two sets of samples, each in rising order.
pub fn smirnov_distance(a: &[f64], b: &[f64]) -> f64 {
    let share = |sorted: &[f64], x: f64| {
        sorted.partition_point(|&sample| sample <= x) as f64 / sorted.len() as f64
    };
    a.iter()
        .chain(b)
        .map(|&x| (share(a, x) - share(b, x)).abs())
        .fold(0.0, f64::max)
}

/// Returns the probability that `n` samples have a Kolmogorov distance of at least `distance` by chance.
/// The formula is the limit law: 2 times the sum over k of (-1)^(k-1) exp(-2 k^2 x^2).
/// x is `distance` * (sqrt(n) + 0.12 + 0.11 / sqrt(n)) (Stephens, 1970). The law is accurate if n is at least 5.
pub fn kolmogorov_p_value(distance: f64, n: f64) -> f64 {
    let root = n.sqrt();
    let x = (root + 0.12 + 0.11 / root) * distance;
    // For small x, the sum needs too many terms. Below 0.2, the probability is 1 within the precision of the result.
    if x < 0.2 {
        return 1.0;
    }
    let sum: f64 = (1..=100)
        .map(|k| {
            let k = f64::from(k);
            let sign = if k % 2.0 == 1.0 { 1.0 } else { -1.0 };
            sign * (-2.0 * k * k * x * x).exp()
        })
        .sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

/// Returns the probability that a Smirnov distance is at least `distance` by chance.
/// The assumption is that all `n` and `m` samples come from the same continuous distribution.
pub fn smirnov_p_value(distance: f64, n: usize, m: usize) -> f64 {
    let (n, m) = (n as f64, m as f64);
    kolmogorov_p_value(distance, n * m / (n + m))
}

/// Returns the half width of the confidence band around an empirical distribution of `n` samples.
/// The half width is sqrt(ln(2 / (1 - confidence)) / 2n).
/// The true distribution is within the band with a probability of at least `confidence`.
/// The band is valid for every `n` and every distribution.
/// Sources: Dvoretzky, Kiefer and Wolfowitz, 1956, with Massart's constant, 1990.
pub fn dkw_band(n: usize, confidence: f64) -> f64 {
    ((2.0 / (1.0 - confidence)).ln() / (2.0 * n as f64)).sqrt()
}
