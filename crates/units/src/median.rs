//! The median.

/// Sorts the values and returns their median: of an even number, the mean of the two in the middle. `None`
/// without values.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let below = values[values.len().checked_sub(1)? / 2];
    Some((below + values[values.len() / 2]) / 2.0)
}
