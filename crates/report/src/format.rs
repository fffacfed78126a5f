//! Numbers as text for people: three significant digits and a unit.

use crate::estimate::{BeyondGap, Estimate, Ratio, TooFew};
use crate::sample::Metric;

/// Quantity that a number measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// Time, in microseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Share, 0 to 1, shown as a percentage.
    Share,
    /// Rate, in bits per second.
    Rate,
    /// Plain number or ratio.
    Number,
}

impl Quantity {
    /// Returns the quantity of a metric.
    pub(crate) const fn of(metric: Metric) -> Self {
        match metric {
            Metric::Fct => Self::Time,
            Metric::Slowdown => Self::Number,
        }
    }

    /// Returns the unit that suits `value`: its size and its name.
    fn unit(self, value: f64) -> (f64, &'static str) {
        let value = value.abs();
        match self {
            Self::Time if value < 0.9995 => (1e-3, " ns"),
            Self::Time if value < 999.5 => (1.0, " µs"),
            Self::Time if value < 999_500.0 => (1e3, " ms"),
            Self::Time => (1e6, " s"),
            Self::Bytes if value < 999.5 => (1.0, " B"),
            Self::Bytes if value < 999_500.0 => (1e3, " KB"),
            Self::Bytes if value < 999_500_000.0 => (1e6, " MB"),
            Self::Bytes => (1e9, " GB"),
            Self::Share => (0.01, " %"),
            Self::Rate if value < 999_500.0 => (1e3, " kb/s"),
            Self::Rate if value < 999_500_000.0 => (1e6, " Mb/s"),
            Self::Rate => (1e9, " Gb/s"),
            Self::Number => (1.0, ""),
        }
    }

    /// Returns a number with its unit as text.
    pub fn text(self, value: f64) -> String {
        if value == 0.0 {
            return match self {
                Self::Share => "0 %".to_owned(),
                _ => "0".to_owned(),
            };
        }
        let (size, unit) = self.unit(value);
        format!("{}{unit}", digits(value / size))
    }

    /// Returns a number with its interval, in the same unit: `1.23 ms (1.10 to 1.35)`.
    pub fn with_interval(self, value: f64, interval: Option<(f64, f64)>) -> String {
        let (size, _) = self.unit(value);
        match interval {
            Some((low, high)) => format!(
                "{} ({} to {})",
                self.text(value),
                digits(low / size),
                digits(high / size)
            ),
            None => self.text(value),
        }
    }

    /// Returns the label of an axis tick. It is the text of [`Quantity::text`] without trailing zeros.
    pub fn tick(self, value: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let (size, unit) = self.unit(value);
        // Ticks are round numbers, so nine digits are sufficient.
        // Nine digits hide the rounding errors of binary fractions.
        let scaled = value / size;
        let places = (8 - scaled.abs().log10().floor() as i32).clamp(0, 12) as usize;
        let text = format!("{scaled:.places$}");
        let text = match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.'),
            false => &text,
        };
        format!("{text}{unit}")
    }
}

/// Returns a number as text with three significant digits and without an exponent.
pub(crate) fn digits(value: f64) -> String {
    let size = value.abs();
    let places = match size {
        _ if !value.is_finite() => return "∞".to_owned(),
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 || size == 0.0 => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

/// Returns an estimate as text: the figure with its interval, or the number of seeds that it needs.
/// A figure on a gap has a mark.
pub(crate) fn estimate(outcome: Option<Result<Estimate, TooFew>>, quantity: Quantity) -> String {
    match outcome {
        None => "–".to_owned(),
        Some(Err(too_few)) => format!(
            "too few: {} seeds",
            count(too_few.seeds_that_would_do as u64)
        ),
        Some(Ok(estimate)) if estimate.value.is_infinite() => "unfinished".to_owned(),
        Some(Ok(estimate)) => {
            let text = quantity.with_interval(estimate.value, estimate.interval);
            match estimate.gap {
                Some(_) => format!("{text} {ON_A_GAP}"),
                None => text,
            }
        }
    }
}

/// Mark of quantiles that lie on a gap.
pub(crate) const ON_A_GAP: char = '‡';

/// Returns the share of the flows of `design` beyond a gap, as text.
/// An example is `0.9 % with repflow (−0.4 points, 95 % CI −0.6 to −0.2)`.
pub(crate) fn beyond_gap(beyond: &BeyondGap, design: &str) -> String {
    let points = |share: f64| signed_percent(share * 100.0);
    let interval = beyond
        .difference
        .interval
        .map_or_else(String::new, |(low, high)| {
            format!(", 95 % CI {} to {}", points(low), points(high))
        });
    format!(
        "{} % with {design} ({} points{interval})",
        percent_digits(beyond.share.value * 100.0),
        points(beyond.difference.value),
    )
}

/// Returns a ratio as a change, as text: `-41 % (-46 to -35)`.
pub(crate) fn change(ratio: Option<Ratio>) -> String {
    let Some(ratio) = ratio else {
        return "–".to_owned();
    };
    let percent = |ratio: f64| signed_percent((ratio - 1.0) * 100.0);
    match ratio.interval {
        Some((low, high)) => format!(
            "{} % ({} to {})",
            percent(ratio.value),
            percent(low),
            percent(high)
        ),
        None => format!("{} %", percent(ratio.value)),
    }
}

/// Returns a ratio below 1 as a reduction, such as `41 % (95 % CI 35 to 46)`.
pub(crate) fn reduction(ratio: Ratio) -> String {
    percent_with_interval(
        1.0 - ratio.value,
        ratio.interval.map(|(low, high)| (1.0 - high, 1.0 - low)),
    )
}

/// Returns a ratio above 1 as an increase, such as `41 % (95 % CI 35 to 46)`.
pub(crate) fn increase(ratio: Ratio) -> String {
    percent_with_interval(
        ratio.value - 1.0,
        ratio.interval.map(|(low, high)| (low - 1.0, high - 1.0)),
    )
}

fn percent_with_interval(share: f64, interval: Option<(f64, f64)>) -> String {
    let percent = |share: f64| percent_digits(share * 100.0);
    match interval {
        Some((low, high)) => format!(
            "{} % (95 % CI {} to {})",
            percent(share),
            percent(low),
            percent(high)
        ),
        None => format!("{} %", percent(share)),
    }
}

/// Returns a percentage with a sign. It is a whole number, or has one decimal below ten.
pub(crate) fn signed_percent(percent: f64) -> String {
    let text = percent_digits(percent.abs());
    let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
    match percent {
        _ if is_zero => text,
        p if p < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

/// Returns a percentage without a sign. The number is whole, or has one decimal below ten.
/// Just below a hundred, the number also has one decimal, so that it does not round to 100.
pub(crate) fn percent_digits(percent: f64) -> String {
    match percent {
        p if (99.5..100.0).contains(&p) => format!("{:.1}", p.min(99.9)),
        p if p >= 9.95 => format!("{p:.0}"),
        p => format!("{p:.1}"),
    }
}

/// Returns a count with commas between thousands.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a list as text: `a`, `a and b`, or `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_change_units() {
        let times = [0.5, 1.0, 12.34, 999.4, 999.6, 123_456.0, 2_500_000.0];
        let texts = times.map(|us| Quantity::Time.text(us));
        assert_eq!(
            texts,
            [
                "500 ns", "1.00 µs", "12.3 µs", "999 µs", "1.00 ms", "123 ms", "2.50 s"
            ]
        );
        assert_eq!(Quantity::Bytes.text(1_500.0), "1.50 KB");
        assert_eq!(Quantity::Share.text(0.123), "12.3 %");
    }

    #[test]
    fn an_interval_is_in_the_unit_of_its_figure() {
        let text = Quantity::Time.with_interval(1_230.0, Some((990.0, 1_350.0)));
        assert_eq!(text, "1.23 ms (0.990 to 1.35)");
    }

    #[test]
    fn ticks_are_without_trailing_zeros() {
        let ticks = [0.1 + 0.2, 20.0, 1_000.0, 0.0].map(|us| Quantity::Time.tick(us));
        assert_eq!(ticks, ["300 ns", "20 µs", "1 ms", "0"]);
        assert_eq!(Quantity::Share.tick(0.0001), "0.01 %");
    }

    #[test]
    fn changes_have_signs_and_zero_has_none() {
        let signed = [-41.2, -0.04, 0.04, 5.25, 262.4].map(signed_percent);
        assert_eq!(signed, ["−41", "0.0", "0.0", "+5.2", "+262"]);
        assert_eq!(count(1_234_567), "1,234,567");
    }
}
