//! A figure of ours, as a row shows it.

use tailcut_report::{Estimate, Measured, Statistic, TooFew, of_quantiles, t_interval};

/// A figure of ours with its 95 % interval, and what it comes from.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ours {
    /// `None` where there is nothing to measure, or too few flows or seeds; infinite where something
    /// did not finish.
    pub value: Option<f64>,
    /// The interval, where there is one.
    pub interval: Option<(f64, f64)>,
    /// The seeds that were run.
    pub seeds: usize,
    /// The flows, requests or sessions of all seeds; `None` where each run gives one figure.
    pub flows: Option<usize>,
    /// Where there are too few flows or seeds for a quantile: how many seeds would do.
    pub seeds_that_would_do: Option<usize>,
}

/// One figure a seed: the mean, with Student's t interval.
impl From<&[f64]> for Ours {
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

impl From<&Vec<f64>> for Ours {
    fn from(by_seed: &Vec<f64>) -> Self {
        Self::from(by_seed.as_slice())
    }
}

impl Ours {
    /// A statistic of all values of all seeds. A mean is infinite where one of them is.
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

    /// By how many per cent a statistic is above that of `base`, paired by seed. A mean has no change
    /// where a value on either side is infinite.
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

    /// A figure made of a quantile of several designs, the first of which the row is about.
    pub fn of_quantiles<const N: usize>(
        designs: [&Measured; N],
        p: f64,
        figure: impl Fn([f64; N]) -> f64,
    ) -> Self {
        designs.first().map_or_else(Self::default, |ours| {
            Self::from_outcome(ours, of_quantiles(designs, p, figure))
        })
    }

    /// The same in another unit, or counted from elsewhere: `unit` does not change the order.
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

/// A ratio as a change in per cent.
pub fn per_cent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_report::Sample;

    /// Six seeds of 500 values from 1 to 2, times `factor`.
    fn measured(factor: f64) -> Measured {
        let values = |seed: u64| {
            (0..500).map(move |i| factor * (1.0 + ((i * 7 + seed * 31) % 500) as f64 / 500.0))
        };
        Measured::new(Sample::new((0..6).map(values)), (1..=6).collect())
    }

    #[test]
    fn a_quantile_is_that_of_all_flows_and_its_change_is_paired() {
        let (ours, base) = (measured(0.8), measured(1.0));
        let p99 = Ours::of(&ours, Statistic::P99);
        assert!((p99.value.unwrap() - 0.8 * 1.988).abs() < 0.005, "{p99:?}");
        assert_eq!((p99.seeds, p99.flows), (6, Some(3_000)));
        for statistic in [Statistic::Mean, Statistic::P99] {
            let change = Ours::change(&ours, &base, statistic);
            let (low, high) = change.interval.unwrap();
            assert!((change.value.unwrap() + 20.0).abs() < 1e-9, "{change:?}");
            assert!(high - low < 1e-9, "{change:?}");
        }
    }

    #[test]
    fn too_few_flows_have_no_figure_and_say_how_many_seeds_would_do() {
        let few = measured(1.0);
        let p999 = Ours::of(&few, Statistic::P999);
        // Three flows of 3,000 are beyond; ten take 20 seeds.
        assert_eq!((p999.value, p999.seeds_that_would_do), (None, Some(20)));
        let change = Ours::change(&few, &few, Statistic::P999);
        assert_eq!((change.value, change.seeds_that_would_do), (None, Some(20)));
    }

    #[test]
    fn what_does_not_finish_is_in_no_mean() {
        let unfinished = Sample::new([[1.0, f64::INFINITY], [1.0, 2.0], [1.0, 2.0]]);
        let measured = Measured::new(unfinished, vec![1, 2, 3]);
        let mean = Ours::of(&measured, Statistic::Mean);
        assert_eq!((mean.value, mean.interval), (Some(f64::INFINITY), None));
        assert_eq!(
            Ours::change(&measured, &measured, Statistic::Mean).value,
            None
        );
    }

    #[test]
    fn one_figure_a_seed_has_students_interval() {
        let ours = Ours::from(&vec![1.0, 2.0, 3.0]);
        let (low, high) = ours.interval.unwrap();
        // t(2) is 4.303, the standard error 0.577.
        assert!(
            (low + 0.484).abs() < 1e-3 && (high - 4.484).abs() < 1e-3,
            "{ours:?}"
        );
        assert_eq!((ours.seeds, ours.flows), (3, None));
    }
}
