//! Distributions of flow sizes: tables from the literature, and tables from files.
//! All distributions are piecewise linear and may have atoms.

mod file;
mod parse;
mod point;
mod tables;

pub use point::Point;
pub use tables::{NAMES, Named};

use crate::error::Error;
use crate::random::Stream;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Distribution of flow sizes. The cumulative distribution is linear between its points.
///
/// A first point with a cumulative probability above zero is an *atom*.
/// With the probability of an atom, a flow has exactly the point's size.
/// A table that rises from size zero starts with the point `0, 0`.
/// Two points of the same size are also an atom, with the difference of their probabilities.
///
/// A drawn size is rounded to the nearest whole byte and is at least one byte.
/// Rounding does not change the mean if all points are at whole bytes.
/// The minimum of one byte can increase the mean.
/// The increase is at most half a byte multiplied by the probability of the first segment.
/// [`SizeDistribution::mean`] ignores this increase.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeDistribution {
    /// Points in ascending order. The last cumulative probability is one.
    points: Vec<Point>,
}

impl SizeDistribution {
    /// Largest number of points of a distribution.
    pub const MOST_POINTS: usize = 100_000;

    /// Creates the distribution through `points`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the number of points is not 1 to [`Self::MOST_POINTS`], or if all sizes are zero.
    /// [`Error::OutOfRange`] also if sizes or probabilities decrease, or if the last cumulative probability is not one.
    pub fn new(points: Vec<Point>) -> Result<Self, Error> {
        let wrong = |found, allowed| {
            Err(Error::OutOfRange {
                parameter: "flow-size points",
                found,
                allowed,
            })
        };
        if points.is_empty() || points.len() > Self::MOST_POINTS {
            return wrong(format!("{} points", points.len()), "1 to 100,000 points");
        }
        let mut before = Point {
            bytes: 0,
            cumulative: 0.0,
        };
        for &point in &points {
            if !(before.cumulative..=1.0).contains(&point.cumulative) {
                return wrong(
                    format!("{} after {}", point.cumulative, before.cumulative),
                    "cumulative probabilities that rise from 0 to 1",
                );
            }
            if point.bytes < before.bytes {
                return wrong(
                    format!("{} after {}", point.bytes, before.bytes),
                    "sizes that rise",
                );
            }
            before = point;
        }
        if before.cumulative != 1.0 {
            return wrong(
                format!("{} at the last point", before.cumulative),
                "a cumulative probability of 1 at the last point",
            );
        }
        let distribution = Self { points };
        if distribution.mean() <= 0.0 {
            return wrong("no size above zero".to_string(), "a mean above zero");
        }
        Ok(distribution)
    }

    /// Creates a distribution in which every flow has `bytes` bytes. A flow has at least one byte, so zero means one.
    pub fn fixed(bytes: u64) -> Self {
        let point = Point {
            bytes: bytes.max(1),
            cumulative: 1.0,
        };
        Self {
            points: alloc::vec![point],
        }
    }

    /// Creates a uniform distribution from `smallest` to `largest`. The arguments may be in either order.
    pub fn uniform(smallest: u64, largest: u64) -> Self {
        let point = |bytes: u64, cumulative| Point {
            bytes: bytes.max(1),
            cumulative,
        };
        Self {
            points: alloc::vec![
                point(smallest.min(largest), 0.0),
                point(smallest.max(largest), 1.0)
            ],
        }
    }

    /// Returns the points of the cumulative distribution, as the caller gave them.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Draws a size with one random number, by inversion of the cumulative distribution.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        self.quantile(stream.uniform())
    }

    /// Returns the quantile for `probability` (0 to 1), in whole bytes, at least one.
    /// A share `probability` of all flows is smaller than the quantile.
    pub fn quantile(&self, probability: f64) -> u64 {
        let above = self
            .points
            .partition_point(|point| point.cumulative <= probability);
        let size = match (above.checked_sub(1), self.points.get(above)) {
            (None, Some(first)) => first.bytes as f64,
            (Some(low), Some(high)) => {
                let low = self.points[low];
                let share = (probability - low.cumulative) / (high.cumulative - low.cumulative);
                low.bytes as f64 + share * (high.bytes - low.bytes) as f64
            }
            (_, None) => self.largest() as f64,
        };
        (libm::round(size) as u64).max(1)
    }

    /// Returns the probability of a size of at most `bytes`, before rounding to whole bytes.
    pub fn cdf(&self, bytes: f64) -> f64 {
        let above = self
            .points
            .partition_point(|point| point.bytes as f64 <= bytes);
        match (above.checked_sub(1), self.points.get(above)) {
            (None, _) => 0.0,
            (Some(_), None) => 1.0,
            (Some(low), Some(high)) => {
                let low = self.points[low];
                let share = (bytes - low.bytes as f64) / (high.bytes - low.bytes) as f64;
                low.cumulative + share * (high.cumulative - low.cumulative)
            }
        }
    }

    /// Returns the mean size in bytes: the sum over segments of (F(b) - F(a)) (a + b) / 2, plus the atom.
    pub fn mean(&self) -> f64 {
        // Drawn sizes are at least one byte, so the mean is also at least one byte.
        self.moment(1).max(1.0)
    }

    /// Returns the mean of the squared size, in bytes squared.
    pub fn second_moment(&self) -> f64 {
        self.moment(2)
    }

    /// Returns `E[S^k]`, exact for the interpolated distribution.
    /// In a segment from a to b, the mean of x^k is (a^k + a^(k-1) b + ... + b^k) / (k + 1).
    pub fn moment(&self, k: u32) -> f64 {
        self.partial_moment(k, f64::INFINITY)
    }

    /// Returns the share of all *bytes* that are in flows smaller than `limit` bytes.
    pub fn byte_share_below(&self, limit: u64) -> f64 {
        self.partial_moment(1, limit as f64) / self.mean()
    }

    /// Returns the share of all *flows* that are smaller than `limit` bytes.
    /// A flow of exactly `limit` bytes is not included.
    pub fn flow_share_below(&self, limit: u64) -> f64 {
        self.partial_moment(0, limit as f64)
    }

    /// Returns the largest size, in bytes.
    pub fn largest(&self) -> u64 {
        self.points.last().map_or(1, |point| point.bytes.max(1))
    }

    /// Returns the mean number of packets of a flow, with at most `payload` bytes per packet (zero means one).
    /// The result is exact for drawn sizes, which are whole bytes.
    /// The mean is the sum over k >= 0 of P(S > k `payload`).
    /// Within a segment, the terms of the sum are an arithmetic series.
    pub fn mean_packets(&self, payload: u32) -> f64 {
        let payload = f64::from(payload.max(1));
        // A rounded size exceeds a whole number n if the size before rounding exceeds n + 1/2.
        // A flow therefore needs packet k + 1 if its size before rounding exceeds k payload + 1/2.
        // Every flow needs the first packet (k = 0), and all packets up to the first point.
        // `next` is the lowest k that the sum does not include yet.
        let places_before = |bytes: f64| libm::ceil((bytes - 0.5) / payload);
        let mut next = places_before(self.points[0].bytes as f64).max(1.0);
        let mut packets = next;
        for pair in self.points.windows(2) {
            let (a, b) = (pair[0].bytes as f64, pair[1].bytes as f64);
            let end = places_before(b);
            if end > next {
                let slope = (pair[1].cumulative - pair[0].cumulative) / (b - a);
                let survival = |k: f64| 1.0 - pair[0].cumulative - slope * (k * payload + 0.5 - a);
                packets += (end - next) * (survival(next) + survival(end - 1.0)) / 2.0;
                next = end;
            }
        }
        packets
    }

    /// Returns the mean of the `k`-th power of the size. Flows of `limit` bytes or more are treated as zero bytes.
    fn partial_moment(&self, k: u32, limit: f64) -> f64 {
        let first = self.points[0];
        let mut sum = 0.0;
        if (first.bytes as f64) < limit {
            sum += first.cumulative * power(first.bytes as f64, k);
        }
        for pair in self.points.windows(2) {
            let (a, b) = (pair[0].bytes as f64, pair[1].bytes as f64);
            let mass = pair[1].cumulative - pair[0].cumulative;
            if a >= limit {
                break;
            }
            let (end, share) = if b < limit || b == a {
                (b, 1.0)
            } else {
                (limit.min(b), (limit.min(b) - a) / (b - a))
            };
            let mean_of_power = (0..=k)
                .map(|i| power(a, i) * power(end, k - i))
                .sum::<f64>()
                / f64::from(k + 1);
            sum += mass * share * mean_of_power;
        }
        sum
    }
}

fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}
