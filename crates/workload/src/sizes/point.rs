//! Point of a distribution of flow sizes.

/// Point of a cumulative distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Size in bytes.
    pub bytes: u64,
    /// Probability of a size of at most `bytes`.
    pub cumulative: f64,
}
