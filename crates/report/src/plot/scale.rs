//! Positions of values: domains, ticks and their labels.

use super::model::{Axis, Plot, Point, Reference, Scale, Whisker};
use crate::format::Quantity;

/// Axis with its domain. It maps a value to a position from 0 (start) to 1 (end).
pub(super) struct ScaledAxis<'a> {
    axis: &'a Axis,
    low: f64,
    high: f64,
}

/// Tick, with its position from 0 to 1 and its label.
pub(super) struct Tick {
    pub place: f64,
    pub label: String,
}

/// Horizontal or vertical axis of a plot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    X,
    Y,
}

impl<'a> ScaledAxis<'a> {
    pub fn new(plot: &'a Plot, side: Side) -> Self {
        let axis = match side {
            Side::X => &plot.x,
            Side::Y => &plot.y,
        };
        let (low, high) = match &axis.scale {
            Scale::Names(names) => (-0.5, names.len() as f64 - 0.5),
            Scale::Linear => linear_domain(extent(plot, side), axis.quantity),
            Scale::Log => log_domain(extent(plot, side)),
        };
        Self { axis, low, high }
    }

    /// Returns the position of `value`, limited to 0 to 1.
    pub fn place(&self, value: f64) -> f64 {
        let place = match self.axis.scale {
            Scale::Log if value <= 0.0 => 0.0,
            Scale::Log => (value.log10() - self.low) / (self.high - self.low),
            _ => (value - self.low) / (self.high - self.low),
        };
        if place.is_nan() {
            0.0
        } else {
            place.clamp(0.0, 1.0)
        }
    }

    pub fn ticks(&self) -> Vec<Tick> {
        let quantity = self.axis.quantity;
        match &self.axis.scale {
            Scale::Names(names) => names
                .iter()
                .enumerate()
                .map(|(index, name)| Tick {
                    place: self.place(index as f64),
                    label: name.clone(),
                })
                .collect(),
            _ if !self.axis.ticks.is_empty() => self.labelled(self.axis.ticks.clone(), quantity),
            Scale::Linear => {
                let values = linear_ticks(self.low, self.high, unit_size(quantity, self.high));
                self.labelled(values, quantity)
            }
            Scale::Log => self.labelled(log_ticks(self.low, self.high), quantity),
        }
    }

    /// Returns about a hundred ticks for a zoomed plot. Returns no ticks for an axis of names.
    pub fn fine_ticks(&self) -> Vec<Tick> {
        let quantity = self.axis.quantity;
        let values = match self.axis.scale {
            Scale::Names(_) => Vec::new(),
            Scale::Linear => {
                let unit = unit_size(quantity, self.high);
                let step = round_step((self.high - self.low) / unit / 100.0) * unit;
                multiples(self.low, self.high, step)
            }
            Scale::Log => log_values(self.low, self.high, &FINEST),
        };
        self.labelled(values, quantity)
    }

    fn labelled(&self, values: Vec<f64>, quantity: Quantity) -> Vec<Tick> {
        let tick = |value: f64| Tick {
            place: self.place(value),
            label: quantity.tick(value),
        };
        values.into_iter().map(tick).collect()
    }
}

/// Returns the size of the unit in which the largest number of an axis is printed. Ticks are round in this unit.
fn unit_size(quantity: Quantity, high: f64) -> f64 {
    match quantity {
        Quantity::Share => 0.01,
        Quantity::Number => 1.0,
        Quantity::Time | Quantity::Bytes | Quantity::Rate => {
            1e3f64.powf((high.abs().log10() / 3.0).floor())
        }
    }
}

/// Returns the smallest and the largest finite value, including intervals and the reference.
fn extent(plot: &Plot, side: Side) -> (f64, f64) {
    let of_point = |point: &Point| {
        let value = match side {
            Side::X => point.x,
            Side::Y => point.y,
        };
        match (side, point.whisker) {
            (Side::X, Some(Whisker::X(low, high))) | (Side::Y, Some(Whisker::Y(low, high))) => {
                [value, low, high]
            }
            _ => [value; 3],
        }
    };
    let axis = match side {
        Side::X => &plot.x,
        Side::Y => &plot.y,
    };
    let is_log = axis.scale == Scale::Log;
    let reach = axis.reach.iter().flat_map(|(low, high)| [*low, *high]);
    let reference = match (side, plot.reference) {
        (Side::X, Some(Reference::X(value))) | (Side::Y, Some(Reference::Y(value))) => Some(value),
        _ => None,
    };
    plot.series
        .iter()
        .flat_map(|series| &series.points)
        .flat_map(of_point)
        .chain(reference)
        .chain(reach)
        // Zero has no position on a logarithmic axis. An interval that reaches zero therefore ends at the axis.
        .filter(|value| value.is_finite() && (!is_log || *value > 0.0))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
}

/// Returns the domain of a linear axis. Times and bytes start at zero, shares cover 0 to 1, and numbers get a margin.
/// The ends are on ticks if the axis starts at zero.
fn linear_domain((low, high): (f64, f64), quantity: Quantity) -> (f64, f64) {
    if low > high {
        return (0.0, 1.0);
    }
    match quantity {
        Quantity::Share => (0.0, 1.0),
        Quantity::Time | Quantity::Bytes | Quantity::Rate => {
            let low = low.min(0.0);
            (low, if high > low { high * 1.04 } else { low + 1.0 })
        }
        Quantity::Number => {
            let margin = if high > low { (high - low) * 0.08 } else { 0.5 };
            (low - margin, high + margin)
        }
    }
}

/// Returns the domain in decades, with a margin.
fn log_domain((low, high): (f64, f64)) -> (f64, f64) {
    if low <= 0.0 || low > high {
        return (0.0, 1.0);
    }
    let (low, high) = (low.log10(), high.log10());
    let margin = ((high - low) * 0.04).max(0.05);
    (low - margin, high + margin)
}

/// Returns three to eight round values.
fn linear_ticks(low: f64, high: f64, unit: f64) -> Vec<f64> {
    multiples(low, high, round_step((high - low) / unit / 7.0) * unit)
}

/// Returns 1, 2 or 5 times a power of ten, at least `raw`.
fn round_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= raw)
        .unwrap_or(raw)
}

/// Returns the multiples of `step` from `low` to `high`.
fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|index| index as f64 * step).collect()
}

/// Factors of ticks on a short logarithmic axis. A tick is the product of a factor and a power of ten.
const FINEST: [f64; 11] = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];

/// Returns the products of `factors` and powers of ten from `10^low` to `10^high`.
fn log_values(low: f64, high: f64, factors: &[f64]) -> Vec<f64> {
    let decades = (low.floor() as i32)..=(high.ceil() as i32);
    decades
        .flat_map(|decade| {
            factors
                .iter()
                .map(move |factor| factor * 10f64.powi(decade))
        })
        .filter(|value| (low..=high).contains(&value.log10()))
        .collect()
}

/// Returns powers of ten and, if there are few of them, also their multiples.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let choices: [&[f64]; 4] = [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0], &FINEST];
    let ticks = choices
        .into_iter()
        .map(|factors| log_values(low, high, factors))
        .find(|ticks| ticks.len() >= 3);
    match ticks {
        Some(ticks) => {
            let every = ticks.len().div_ceil(9);
            ticks.into_iter().step_by(every).collect()
        }
        // An axis of less than a fifth of a decade has the ticks of a linear axis.
        None => {
            let (low, high) = (10f64.powf(low), 10f64.powf(high));
            linear_ticks(low, high, 1e3f64.powf((high.log10() / 3.0).floor()))
        }
    }
}
