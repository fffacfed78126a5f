//! Gaps of a distribution, such as the gap just before a retransmission timeout.
//! A gap is a range of values that almost no flow has.
//! If a quantile lies on a gap, chance decides on which side of the gap the quantile falls.

use crate::sample::Sample;
use serde::Serialize;

/// Range of values that almost no flow has.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Gap {
    /// Last value before the gap.
    pub from: f64,
    /// First value after the gap.
    pub to: f64,
}

/// Maximum share of an interval's flows that may be inside the gap.
const FEW: f64 = 0.1;

/// Minimum width of a gap, as a share of the interval's width on a logarithmic scale.
const MOST: f64 = 0.5;

/// Minimum factor between the beginning and the end of a gap.
const FACTOR: f64 = 1.25;

impl Gap {
    /// Returns the gap within the interval of a quantile; `None` without a gap.
    /// The gap has at least half of the interval's width on a logarithmic scale.
    /// The gap contains at most a tenth of the interval's flows.
    pub fn within(sample: &Sample, interval: (f64, f64)) -> Option<Self> {
        let (low, high) = interval;
        let values = sample.between(low, high);
        let few = (values.len() as f64 * FEW) as usize + 1;
        // Both ends of a window are outside the gap. Between the two ends, there are at most a tenth of the flows.
        let (from, to) = values
            .windows(few + 1)
            .map(|stretch| (stretch[0].0, stretch[few].0))
            .filter(|(from, to)| *from > 0.0 && to.is_finite())
            .max_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)))?;
        let factor = to / from;
        (factor >= FACTOR && factor.ln() >= MOST * (high / low).ln()).then_some(Self { from, to })
    }

    /// Returns a round number within the gap, near its middle. Flows that take longer are beyond the gap.
    pub(crate) fn threshold(self) -> f64 {
        let middle = (self.from * self.to).sqrt();
        let unit = 10f64.powf(middle.log10().floor());
        let distance = |value: &f64| (value / middle).ln().abs();
        let nearest = |digits: &mut dyn Iterator<Item = f64>| {
            let values = digits.map(|digit| digit * unit);
            let inside = values.filter(|value| (self.from..self.to).contains(value));
            inside.min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        nearest(&mut [1.0, 2.0, 5.0, 10.0].into_iter())
            .or_else(|| nearest(&mut (10..=100).map(|tenth| f64::from(tenth) / 10.0)))
            .unwrap_or(middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns 980 flows of 1 to 2 ms, 20 flows of 12 ms, and one flow between them.
    fn with_timeouts() -> Sample {
        let short = (0..980).map(|flow| 1_000.0 + f64::from(flow));
        Sample::new([short.chain([5_000.0]).chain([12_000.0; 20])])
    }

    #[test]
    fn an_interval_across_the_timeout_lies_on_its_gap() {
        let gap = Gap::within(&with_timeouts(), (1_900.0, 12_000.0)).unwrap();
        assert!(gap.from < 2_000.0 && gap.to == 12_000.0, "{gap:?}");
        assert_eq!(gap.threshold(), 5_000.0);
    }

    #[test]
    fn what_lies_in_a_narrow_gap_has_two_digits() {
        let gap = Gap {
            from: 10_600.0,
            to: 15_100.0,
        };
        assert_eq!(gap.threshold(), 13_000.0);
    }

    #[test]
    fn an_interval_on_one_side_lies_on_none() {
        let sample = with_timeouts();
        assert_eq!(Gap::within(&sample, (1_500.0, 1_900.0)), None);
        assert_eq!(Gap::within(&sample, (12_000.0, 12_000.0)), None);
    }

    #[test]
    fn a_smooth_tail_has_none() {
        // The flows have a Pareto distribution with shape 1.5.
        let flow = |i: i32| 100.0 * (f64::from(i + 1) / 10_000.0).powf(-1.0 / 1.5);
        let sample = Sample::new([(0..10_000).map(flow)]);
        let p99 = sample.quantile(0.99).unwrap();
        assert_eq!(Gap::within(&sample, (p99 * 0.8, p99 * 1.3)), None);
    }
}
