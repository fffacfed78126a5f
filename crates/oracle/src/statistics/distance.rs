//! Distances between distributions, and how large they are by chance.

/// The largest distance between the empirical distribution of `sorted` samples and the continuous
/// `cdf`.
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

/// The largest distance between the empirical distributions of two sets of samples in rising order.
pub fn smirnov_distance(a: &[f64], b: &[f64]) -> f64 {
    let share = |sorted: &[f64], x: f64| {
        sorted.partition_point(|&sample| sample <= x) as f64 / sorted.len() as f64
    };
    a.iter()
        .chain(b)
        .map(|&x| (share(a, x) - share(b, x)).abs())
        .fold(0.0, f64::max)
}

/// The probability of a Kolmogorov distance of at least `distance` by chance, with `n` samples: the
/// limit law 2 sum of (-1)^(k-1) exp(-2 k^2 x^2) at x = (sqrt(n) + 0.12 + 0.11 / sqrt(n))
/// `distance` (Stephens, 1970), good from n = 5 on.
pub fn kolmogorov_p_value(distance: f64, n: f64) -> f64 {
    let root = n.sqrt();
    let x = (root + 0.12 + 0.11 / root) * distance;
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

/// The probability of a Smirnov distance of at least `distance` by chance between `n` and `m`
/// samples of one continuous distribution.
pub fn smirnov_p_value(distance: f64, n: usize, m: usize) -> f64 {
    let (n, m) = (n as f64, m as f64);
    kolmogorov_p_value(distance, n * m / (n + m))
}

/// The band that the empirical distribution of `n` samples leaves with probability at most
/// 1 - `confidence`, for every n and every distribution: sqrt(ln(2 / (1 - confidence)) / 2n)
/// (Dvoretzky, Kiefer and Wolfowitz, 1956, with Massart's constant, 1990).
pub fn dkw_band(n: usize, confidence: f64) -> f64 {
    ((2.0 / (1.0 - confidence)).ln() / (2.0 * n as f64)).sqrt()
}
