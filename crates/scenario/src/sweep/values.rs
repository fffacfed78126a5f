//! Reading the values of a swept key, each as the key itself reads it.

use super::range::{By, RANGES, Range, Steps, Written, numbers};
use crate::error::{Outcome, Place, ScenarioError};
use crate::path::KeyPath;
use crate::value::{Kind, Raw, Value};
use tailcut_units::quantity::{self, Quantity};
use tailcut_units::{Bytes, Duration, Rate};

/// The values of a key, each once.
pub fn read(path: &KeyPath, written: &Written, place: &Place) -> Outcome<Vec<Value>> {
    let reader = Reader { path, place };
    let values = match written {
        Written::Range(range) => reader.range(range)?,
        // A text of a file may be a range or a list, too.
        Written::List(Raw::Text(text)) => return read(path, &Written::text(text), place),
        Written::List(raw) => reader.list(raw)?,
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

/// Two values of a key, the lower one first.
pub fn ends(path: &KeyPath, from: &str, to: &str, place: &Place) -> Outcome<[Value; 2]> {
    let reader = Reader { path, place };
    let [from, to] = [from, to].map(|text| Raw::Argument(text.trim().to_owned()));
    let unit = reader.unit_of(&to);
    let (values, [low, high]) = reader.ends(&from, &to, &unit)?;
    match low < high {
        true => Ok(values),
        false => Err(reader.error(format!("from {from} to {to}"), "LOW below HIGH")),
    }
}

/// The value of a key that is this number in the smallest unit of `like`.
pub fn like(path: &KeyPath, like: &Value, number: f64, place: &Place) -> Outcome<Value> {
    Reader { path, place }.of_number(like, number)
}

struct Reader<'a> {
    path: &'a KeyPath,
    place: &'a Place,
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

    /// One value. A number without a unit has that of the list's last one.
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

    /// The unit of a value: what follows its number; where there is none, the name of what the key counts.
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
        let ends = match &range.by {
            By::Step(step) if self.has_no_unit(&range.to) => step,
            _ => &range.to,
        };
        let unit = self.unit_of(ends);
        let ([from, _], [low, high]) = self.ends(&range.from, &range.to, &unit)?;
        let steps = match &range.by {
            By::Step(step) => {
                let read = Raw::Argument(text_of(step));
                let read = self.measure(&with_unit(&read, &unit));
                Steps::Step(read.unwrap_or(f64::NAN))
            }
            By::Factor(factor) => Steps::Factor(*factor),
            By::Evenly(count) => Steps::Evenly(*count),
            By::Logarithmically(count) => Steps::Logarithmically(*count),
        };
        let Some(numbers) = numbers(low, high, &steps) else {
            let allowed = "a range that goes up, from above 0 where steps are ratios, in steps above 0 or by a \
                           factor above 1";
            return Err(self.error(range.to_string(), allowed));
        };
        let value = |number: f64| self.of_number(&from, number);
        numbers.into_iter().map(value).collect()
    }

    /// Both ends of a range, as values and as numbers of the same unit.
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

    /// A step as a number; it may be smaller than the least value that the key takes.
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

    /// A number of a range as the key would have it written.
    fn raw(&self, like: &Value, number: f64) -> Raw {
        let whole = number.round();
        Raw::Argument(match (like, self.path.key.kind) {
            (Value::Count(_), Kind::Sized { of, .. }) => format!("{whole} {of}"),
            (Value::Count(_), _) => format!("{whole}"),
            (Value::Duration(_), _) => format!("{whole}ps"),
            (Value::Rate(_), _) => format!("{whole}bps"),
            (Value::Bytes(_), _) => format!("{whole}B"),
            // Rounded so that 0.1 + 2 * 0.1 is the number that prints as 0.3.
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

/// A number without a unit, with one.
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

/// A value as a number in its smallest unit.
pub fn number_of(value: &Value) -> Option<f64> {
    match value {
        // A single load.
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
