//! Median of floating-point numbers.

/// Sorts the values and returns their median, or `None` without values.
/// The median of an even number of values is the mean of the two middle values.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let below = values[values.len().checked_sub(1)? / 2];
    Some((below + values[values.len() / 2]) / 2.0)
}
