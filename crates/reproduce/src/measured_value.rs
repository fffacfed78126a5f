//! Our values in rows, each with its interval and sample sizes.

use tailcut_report::{Estimate, Measured, Statistic, TooFew, of_quantiles, t_interval};

/// Our value in a row, with its 95 % interval and its sample sizes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MeasuredValue {
    /// Our value; `None` without runs, or with too few flows or seeds.
    /// The value is infinite if a flow did not finish.
    pub value: Option<f64>,
    /// 95 % interval of the value; `None` for a value without an interval.
    pub interval: Option<(f64, f64)>,
    /// Number of seeds.
    pub seeds: usize,
    /// Number of flows, requests or sessions, summed over all seeds; `None` if each run produces one value.
    pub flows: Option<usize>,
    /// Number of seeds that the quantile would need; `None` with enough flows and seeds.
    pub seeds_that_would_do: Option<usize>,
}

/// Converts one value for each seed into the mean of the values, with Student's t interval.
impl From<&[f64]> for MeasuredValue {
    fn from(by_seed: &[f64]) -> Self {
        let (value, interval) = t_interval(by_seed).unzip();
        Self {
            value,
            interval: interval.flatten(),
            seeds: by_seed.len(),
            ..Self::default()
        }
    }
}

impl From<&Vec<f64>> for MeasuredValue {
    fn from(by_seed: &Vec<f64>) -> Self {
        Self::from(by_seed.as_slice())
    }
}

impl MeasuredValue {
    /// Computes a statistic over all values of all seeds. A mean is infinite if one of the values is infinite.
    pub fn of(measured: &Measured, statistic: Statistic) -> Self {
        let unfinished = measured.sample().unfinished() > 0;
        match statistic {
            Statistic::Mean if unfinished => Self {
                value: Some(f64::INFINITY),
                ..Self::without_figure(measured)
            },
            _ => Self::from_outcome(measured, measured.estimate(statistic)),
        }
    }

    /// Returns the change of a statistic from `base` to `ours`, in per cent.
    /// Runs with the same seed are compared with each other.
    /// The change of a mean is missing if a value of `base` or `ours` is infinite.
    pub fn change(ours: &Measured, base: &Measured, statistic: Statistic) -> Self {
        match statistic {
            Statistic::Quantile(p) => {
                Self::of_quantiles([ours, base], p, |[ours, base]| per_cent(ours / base))
            }
            Statistic::Mean => {
                let finished = [ours, base].map(|side| side.sample().unfinished() == 0);
                let ratio = ours.ratio(base, statistic);
                match ratio.filter(|_| finished == [true; 2]) {
                    Some(ratio) => Self {
                        value: Some(ratio.value),
                        interval: ratio.interval,
                        ..Self::without_figure(ours)
                    }
                    .map(per_cent),
                    None => Self::without_figure(ours),
                }
            }
        }
    }

    /// Combines the same quantile of several designs into one value.
    /// The sample sizes are the sizes of the first design.
    pub fn of_quantiles<const N: usize>(
        designs: [&Measured; N],
        p: f64,
        figure: impl Fn([f64; N]) -> f64,
    ) -> Self {
        designs.first().map_or_else(Self::default, |ours| {
            Self::from_outcome(ours, of_quantiles(designs, p, figure))
        })
    }

    /// Applies a function to the value and to the ends of its interval, for example to convert the unit.
    /// The function must be increasing.
    pub fn map(self, unit: impl Fn(f64) -> f64) -> Self {
        Self {
            value: self.value.map(&unit),
            interval: self.interval.map(|(low, high)| (unit(low), unit(high))),
            ..self
        }
    }

    fn from_outcome(measured: &Measured, outcome: Option<Result<Estimate, TooFew>>) -> Self {
        let figure = outcome.and_then(Result::ok);
        Self {
            value: figure.map(|estimate| estimate.value),
            interval: figure.and_then(|estimate| estimate.interval),
            seeds_that_would_do: outcome
                .and_then(Result::err)
                .map(|too_few| too_few.seeds_that_would_do),
            ..Self::without_figure(measured)
        }
    }

    fn without_figure(measured: &Measured) -> Self {
        Self {
            seeds: measured.seeds(),
            flows: Some(measured.sample().len()),
            ..Self::default()
        }
    }
}

/// Converts a ratio to a change in per cent.
pub fn per_cent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_report::Sample;

    /// Returns measured values of six seeds. Each seed has 500 values from 1 to 2, multiplied by `factor`.
    fn measured(factor: f64) -> Measured {
        let values = |seed: u64| {
            (0..500).map(move |i| factor * (1.0 + ((i * 7 + seed * 31) % 500) as f64 / 500.0))
        };
        Measured::new(Sample::new((0..6).map(values)), (1..=6).collect())
    }

    #[test]
    fn a_quantile_is_that_of_all_flows_and_its_change_is_paired() {
        let (ours, base) = (measured(0.8), measured(1.0));
        let p99 = MeasuredValue::of(&ours, Statistic::P99);
        assert!((p99.value.unwrap() - 0.8 * 1.988).abs() < 0.005, "{p99:?}");
        assert_eq!((p99.seeds, p99.flows), (6, Some(3_000)));
        for statistic in [Statistic::Mean, Statistic::P99] {
            let change = MeasuredValue::change(&ours, &base, statistic);
            let (low, high) = change.interval.unwrap();
            assert!((change.value.unwrap() + 20.0).abs() < 1e-9, "{change:?}");
            assert!(high - low < 1e-9, "{change:?}");
        }
    }

    #[test]
    fn too_few_flows_have_no_figure_and_say_how_many_seeds_would_do() {
        let few = measured(1.0);
        let p999 = MeasuredValue::of(&few, Statistic::P999);
        // Only three of 3,000 flows are above the quantile. Ten flows are required, which needs 20 seeds.
        assert_eq!((p999.value, p999.seeds_that_would_do), (None, Some(20)));
        let change = MeasuredValue::change(&few, &few, Statistic::P999);
        assert_eq!((change.value, change.seeds_that_would_do), (None, Some(20)));
    }

    #[test]
    fn what_does_not_finish_is_in_no_mean() {
        let unfinished = Sample::new([[1.0, f64::INFINITY], [1.0, 2.0], [1.0, 2.0]]);
        let measured = Measured::new(unfinished, vec![1, 2, 3]);
        let mean = MeasuredValue::of(&measured, Statistic::Mean);
        assert_eq!((mean.value, mean.interval), (Some(f64::INFINITY), None));
        assert_eq!(
            MeasuredValue::change(&measured, &measured, Statistic::Mean).value,
            None
        );
    }

    #[test]
    fn one_figure_a_seed_has_students_interval() {
        let ours = MeasuredValue::from(&vec![1.0, 2.0, 3.0]);
        let (low, high) = ours.interval.unwrap();
        // The quantile t(2) is 4.303, and the standard error is 0.577.
        assert!(
            (low + 0.484).abs() < 1e-3 && (high - 4.484).abs() < 1e-3,
            "{ours:?}"
        );
        assert_eq!((ours.seeds, ours.flows), (3, None));
    }
}
