//! Mean ratios with confidence intervals.

/// Returns the mean of one ratio for each seed, with a 95 % interval from Student's t.
pub fn ratio(values: &[f64]) -> String {
    /// Quantiles of Student's t at 97.5 % for 1 to 20 degrees of freedom.
    /// For more degrees of freedom, the last quantile is used, which is slightly too large.
    const T: [f64; 20] = [
        12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
        2.12, 2.11, 2.10, 2.09, 2.09,
    ];
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return format!("{mean:.2}");
    }
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (square / (count - 1.0) / count).sqrt();
    let half = error * T[(values.len() - 2).min(T.len() - 1)];
    format!("{mean:.2} ({:.2} to {:.2})", mean - half, mean + half)
}
