//! Parser of the values of a swept key. Each value is parsed as the key itself parses it.

use super::range::{RANGES, Range, Spacing, Steps, SweepValues, numbers};
use crate::error::{Location, Outcome, ScenarioError};
use crate::path::KeyPath;
use crate::value::{Kind, Raw, Value};
use tailcut_units::quantity::{self, Quantity};
use tailcut_units::{Bytes, Duration, Rate};

/// Parses the values of a key. No value may occur twice.
pub fn read(path: &KeyPath, written: &SweepValues, place: &Location) -> Outcome<Vec<Value>> {
    let reader = Reader { path, place };
    let values = match written {
        SweepValues::Range(range) => reader.range(range)?,
        // A text in a file can also be a range or a list.
        SweepValues::List(Raw::Text(text)) => return read(path, &SweepValues::text(text), place),
        SweepValues::List(raw) => reader.list(raw)?,
    };
    let repeated = values
        .iter()
        .enumerate()
        .find(|(i, value)| values[..*i].contains(value));
    match repeated {
        Some((_, value)) => {
            let found = format!("{} twice", path.key.json(value));
            Err(reader.error(found, "each value once"))
        }
        None => Ok(values),
    }
}

/// Parses two values of a key. The first must be lower.
pub fn ends(path: &KeyPath, from: &str, to: &str, place: &Location) -> Outcome<[Value; 2]> {
    let reader = Reader { path, place };
    let [from, to] = [from, to].map(|text| Raw::Argument(text.trim().to_owned()));
    let unit = reader.unit_of(&to);
    let (values, [low, high]) = reader.ends(&from, &to, &unit)?;
    match low < high {
        true => Ok(values),
        false => Err(reader.error(format!("from {from} to {to}"), "LOW below HIGH")),
    }
}

/// Returns the value of a key for a number in the smallest unit of `like`.
pub fn like(path: &KeyPath, like: &Value, number: f64, place: &Location) -> Outcome<Value> {
    Reader { path, place }.of_number(like, number)
}

struct Reader<'a> {
    path: &'a KeyPath,
    place: &'a Location,
}

impl Reader<'_> {
    fn error(&self, found: impl Into<String>, allowed: &str) -> Box<ScenarioError> {
        ScenarioError::new(self.place, self.path.to_string(), found, allowed)
    }

    fn list(&self, raw: &Raw) -> Outcome<Vec<Value>> {
        let one = [raw.clone()];
        let items = match raw {
            Raw::Array(items) => &items[..],
            _ => &one[..],
        };
        let Some(last) = items.last() else {
            let allowed = format!("values, each of them {}", self.path.key.allowed());
            return Err(self.error("an empty list", &allowed));
        };
        let with_number = items.iter().rev().find(|item| starts_with_digit(item));
        let unit = self.unit_of(with_number.unwrap_or(last));
        let read = |item: &Raw| self.one(item, &unit);
        items.iter().map(read).collect()
    }

    /// Parses one value. A number without a unit gets the unit of the last item in the list.
    fn one(&self, raw: &Raw, unit: &str) -> Outcome<Value> {
        self.value(&with_unit(raw, unit)).ok_or_else(|| {
            let allowed = match self.is_range(raw) {
                true => format!("{RANGES}, or values: {}", self.path.key.allowed()),
                false => self.path.key.allowed(),
            };
            self.error(raw.to_string(), &allowed)
        })
    }

    fn value(&self, raw: &Raw) -> Option<Value> {
        self.path.key.read(raw)
    }

    fn has_no_unit(&self, raw: &Raw) -> bool {
        text_of(raw).trim().parse::<f64>().is_ok()
    }

    fn is_range(&self, raw: &Raw) -> bool {
        matches!(raw, Raw::Argument(text) if text.contains(".."))
    }

    /// Returns the unit of a value: the text after the number.
    /// For a value without a unit, returns the unit in which the key counts.
    fn unit_of(&self, raw: &Raw) -> String {
        let unit = match raw {
            Raw::Text(text) | Raw::Argument(text) if starts_with_digit(raw) => {
                quantity::split(text).1
            }
            _ => "",
        };
        match (self.path.key.kind, unit) {
            (Kind::Sized { of, .. }, "") => of.to_owned(),
            (
                Kind::Sized { .. } | Kind::Bytes { .. } | Kind::Duration { .. } | Kind::Rate,
                unit,
            ) => unit.to_owned(),
            _ => String::new(),
        }
    }

    fn range(&self, range: &Range) -> Outcome<Vec<Value>> {
        let ends = match &range.spacing {
            Spacing::Step(step) if self.has_no_unit(&range.to) => step,
            _ => &range.to,
        };
        let unit = self.unit_of(ends);
        let ([from, _], [low, high]) = self.ends(&range.from, &range.to, &unit)?;
        let steps = match &range.spacing {
            Spacing::Step(step) => {
                let read = Raw::Argument(text_of(step));
                let read = self.measure(&with_unit(&read, &unit));
                Steps::Step(read.unwrap_or(f64::NAN))
            }
            Spacing::Factor(factor) => Steps::Factor(*factor),
            Spacing::Evenly(count) => Steps::Evenly(*count),
            Spacing::Logarithmically(count) => Steps::Logarithmically(*count),
        };
        let Some(numbers) = numbers(low, high, &steps) else {
            let allowed = "a rising range (above 0 if the steps are ratios), with steps above 0 or a factor above 1";
            return Err(self.error(range.to_string(), allowed));
        };
        let value = |number: f64| self.of_number(&from, number);
        numbers.into_iter().map(value).collect()
    }

    /// Returns both ends of a range, as values and as numbers with the same unit.
    fn ends(&self, from: &Raw, to: &Raw, unit: &str) -> Outcome<([Value; 2], [f64; 2])> {
        let values = [self.one(from, unit)?, self.one(to, unit)?];
        let [Some(low), Some(high)] = values.each_ref().map(number_of) else {
            let allowed = "a list: only numbers have ranges";
            return Err(self.error(format!("a range from {from}"), allowed));
        };
        if std::mem::discriminant(&values[0]) != std::mem::discriminant(&values[1]) {
            return Err(self.error(format!("{from} and {to}"), "both ends in the same unit"));
        }
        Ok((values, [low, high]))
    }

    fn of_number(&self, like: &Value, number: f64) -> Outcome<Value> {
        let raw = self.raw(like, number);
        self.value(&raw)
            .ok_or_else(|| self.error(raw.to_string(), &self.path.key.allowed()))
    }

    /// Parses a step of a range as a number. A step can be smaller than the smallest value of the key.
    fn measure(&self, raw: &Raw) -> Option<f64> {
        let Raw::Argument(text) = raw else {
            return None;
        };
        match self.path.key.kind {
            Kind::Duration { .. } => Some(Duration::read(text)?.as_ps() as f64),
            Kind::Rate => Some(Rate::read(text)?.as_bps() as f64),
            Kind::Bytes { .. } => Some(Bytes::read(text)?.0 as f64),
            Kind::Sized { of, .. } => match quantity::counted(text, of) {
                Some(count) => Some(count as f64),
                None => Some(Bytes::read(text)?.0 as f64),
            },
            Kind::Count { .. } => Some(u64::read(text)? as f64),
            _ => f64::read(text),
        }
    }

    /// Formats a number of a range as a user would write it for the key.
    fn raw(&self, like: &Value, number: f64) -> Raw {
        let whole = number.round();
        Raw::Argument(match (like, self.path.key.kind) {
            (Value::Count(_), Kind::Sized { of, .. }) => format!("{whole} {of}"),
            (Value::Count(_), _) => format!("{whole}"),
            (Value::Duration(_), _) => format!("{whole}ps"),
            (Value::Rate(_), _) => format!("{whole}bps"),
            (Value::Bytes(_), _) => format!("{whole}B"),
            // Rounded, because 0.1 + 2 * 0.1 must print as 0.3.
            _ => format!("{}", (number * 1e9).round() / 1e9),
        })
    }
}

fn starts_with_digit(raw: &Raw) -> bool {
    text_of(raw)
        .trim()
        .starts_with(|first: char| first.is_ascii_digit())
}

fn text_of(raw: &Raw) -> String {
    match raw {
        Raw::Text(text) | Raw::Number(text) | Raw::Argument(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Adds a unit to a number without one.
fn with_unit(raw: &Raw, unit: &str) -> Raw {
    match raw {
        Raw::Number(text) | Raw::Argument(text)
            if !unit.is_empty() && text.trim().parse::<f64>().is_ok() =>
        {
            Raw::Argument(format!("{} {unit}", text.trim()))
        }
        other => other.clone(),
    }
}

/// Returns a value as a number in its smallest unit.
pub fn number_of(value: &Value) -> Option<f64> {
    match value {
        // The value of the key `loads` is a list of numbers.
        // The list stands for one number only if it has one element.
        Value::Numbers(numbers) => match numbers[..] {
            [number] => Some(number),
            _ => None,
        },
        Value::Count(count) => Some(*count as f64),
        Value::Number(number) => Some(*number),
        Value::Duration(span) => Some(span.as_ps() as f64),
        Value::Rate(rate) => Some(rate.as_bps() as f64),
        Value::Bytes(bytes) => Some(bytes.0 as f64),
        _ => None,
    }
}
