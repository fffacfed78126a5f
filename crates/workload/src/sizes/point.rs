//! A point of a distribution of flow sizes.

/// One point of a cumulative distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// A size in bytes.
    pub bytes: u64,
    /// The probability of a size up to `bytes`.
    pub cumulative: f64,
}
