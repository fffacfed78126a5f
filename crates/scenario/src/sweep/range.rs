//! Values of a sweep as a user writes them: lists, and ranges with constant or growing steps.

use crate::value::Raw;
use std::fmt;

/// Values of a swept key, as a user writes them.
#[derive(Clone, Debug)]
pub enum SweepValues {
    /// List, or a single value.
    List(Raw),
    /// Range.
    Range(Range),
}

/// Range between two values, both included.
#[derive(Clone, Debug)]
pub struct Range {
    pub from: Raw,
    pub to: Raw,
    pub spacing: Spacing,
}

/// Distance between the values of a range.
#[derive(Clone, Debug)]
pub enum Spacing {
    /// Difference between two successive values.
    Step(Raw),
    /// Ratio between two successive values.
    Factor(f64),
    /// Number of values with equal differences.
    Evenly(usize),
    /// Number of values with equal ratios.
    Logarithmically(usize),
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from {} to {} ", self.from, self.to)?;
        match &self.spacing {
            Spacing::Step(step) => write!(f, "in steps of {step}"),
            Spacing::Factor(factor) => write!(f, "by a factor of {factor}"),
            Spacing::Evenly(count) => write!(f, "in {count} values"),
            Spacing::Logarithmically(count) => write!(f, "in {count} logarithmic values"),
        }
    }
}

/// Syntax of a range on the command line.
pub const RANGES: &str = "FROM..TO:STEP or FROM..TO*FACTOR";

impl SweepValues {
    /// Parses the text of a flag: a range, or a list with commas between its items.
    /// If the items themselves contain commas, semicolons separate the items.
    pub fn text(text: &str) -> Self {
        let text = text.trim();
        let argument = |text: &str| Raw::Argument(text.trim().to_owned());
        if let Some((from, rest)) = text.split_once("..") {
            let by_factor = rest.split_once('*').and_then(|(to, factor)| {
                let factor: f64 = factor.trim().parse().ok()?;
                Some((to, Spacing::Factor(factor)))
            });
            let by_step = || {
                let (to, step) = rest.split_once(':')?;
                Some((to, Spacing::Step(argument(step))))
            };
            if let Some((to, spacing)) = by_factor.or_else(by_step) {
                return Self::Range(Range {
                    from: argument(from),
                    to: argument(to),
                    spacing,
                });
            }
        }
        let between = if text.contains(';') { ';' } else { ',' };
        let items = text.split(between).map(argument);
        Self::List(Raw::Array(match text.is_empty() {
            true => Vec::new(),
            false => items.collect(),
        }))
    }
}

impl Range {
    /// Creates a range from a table in a file. The table contains the ends and the number of values.
    /// The values have equal differences, or equal ratios with `scale = "log"`.
    ///
    /// # Errors
    /// The error contains the value that was found and the allowed values.
    pub fn in_steps(
        from: Raw,
        to: Raw,
        steps: &Raw,
        scale: Option<&Raw>,
    ) -> Result<Self, (String, String)> {
        let count = match steps {
            Raw::Number(text) => text
                .parse()
                .ok()
                .filter(|count| (2..=1_000).contains(count)),
            _ => None,
        };
        let Some(count) = count else {
            let allowed = "a whole number of values from 2 to 1000".to_owned();
            return Err((format!("steps = {steps}"), allowed));
        };
        let spacing = match scale {
            None => Spacing::Evenly(count),
            Some(Raw::Text(text)) if text == "linear" => Spacing::Evenly(count),
            Some(Raw::Text(text)) if text == "log" => Spacing::Logarithmically(count),
            Some(other) => {
                return Err((
                    format!("scale = {other}"),
                    "\"linear\" or \"log\"".to_owned(),
                ));
            }
        };
        Ok(Self { from, to, spacing })
    }
}

/// Returns the numbers from `from` to `to`. All numbers have the same unit.
/// Returns `None` for no numbers, or for more than a million.
pub fn numbers(from: f64, to: f64, spacing: &Steps) -> Option<Vec<f64>> {
    const MOST: f64 = 1e6;
    let inner = |count: f64| (1..count as u32).map(f64::from);
    match *spacing {
        Steps::Step(step) => {
            // The small addend keeps the last value of the range in spite of rounding errors.
            let steps = ((to - from) / step + 1e-9).floor();
            let sound = step > 0.0 && (0.0..MOST).contains(&steps);
            sound.then(|| {
                (0..=steps as u32)
                    .map(|i| from + f64::from(i) * step)
                    .collect()
            })
        }
        Steps::Factor(factor) => {
            let steps = ((to / from).ln() / factor.ln() + 1e-9).floor();
            let sound = from > 0.0 && factor > 1.0 && (0.0..MOST).contains(&steps);
            sound.then(|| (0..=steps as i32).map(|i| from * factor.powi(i)).collect())
        }
        Steps::Evenly(count) => {
            let step = (to - from) / (count as f64 - 1.0);
            let between = inner(count as f64 - 1.0).map(|i| from + i * step);
            let all = std::iter::once(from).chain(between).chain([to]);
            (from < to).then(|| all.collect())
        }
        Steps::Logarithmically(count) => {
            let factor = (to / from).powf(1.0 / (count as f64 - 1.0));
            let between = inner(count as f64 - 1.0).map(|i| four_digits(from * factor.powf(i)));
            let all = std::iter::once(from).chain(between).chain([to]);
            (from > 0.0 && from < to).then(|| all.collect())
        }
    }
}

/// Steps of a range, as numbers without a unit.
#[derive(Clone, Copy, Debug)]
pub enum Steps {
    Step(f64),
    Factor(f64),
    Evenly(usize),
    Logarithmically(usize),
}

/// Rounds to four significant digits, so that names and tables stay short.
fn four_digits(value: f64) -> f64 {
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_both_ends_and_even_steps_or_even_ratios() {
        let step = numbers(1.0, 7.0, &Steps::Step(2.0));
        assert_eq!(step, Some(vec![1.0, 3.0, 5.0, 7.0]));
        let factor = numbers(25.0, 400.0, &Steps::Factor(2.0));
        assert_eq!(factor, Some(vec![25.0, 50.0, 100.0, 200.0, 400.0]));
        assert_eq!(
            numbers(0.0, 1.0, &Steps::Evenly(3)),
            Some(vec![0.0, 0.5, 1.0])
        );
        let log = numbers(0.01, 0.25, &Steps::Logarithmically(5));
        assert_eq!(log, Some(vec![0.01, 0.02236, 0.05, 0.1118, 0.25]));
        for spacing in [
            Steps::Step(0.0),
            Steps::Step(1e-9),
            Steps::Factor(1.0),
            Steps::Factor(-2.0),
            Steps::Factor(f64::NAN),
        ] {
            assert_eq!(numbers(1.0, 2.0, &spacing), None, "{spacing:?}");
        }
        for spacing in [Steps::Step(1.0), Steps::Factor(2.0), Steps::Evenly(2)] {
            assert_eq!(numbers(2.0, 1.0, &spacing), None, "{spacing:?}");
        }
        assert_eq!(numbers(0.0, 1.0, &Steps::Logarithmically(3)), None);
    }
}
