//! Numeric key of a scenario whose values a search tries between two limits.

use crate::error::{Location, Outcome, ScenarioError};
use crate::path::KeyPath;
use crate::scenario::Scenario;
use crate::sweep::{Axis, NOT_SWEPT, Sweep, parameter, values};
use crate::value::{Kind, Value};
use tailcut_record::Parameter;

/// Default limits of a search over loads.
const LOADS: [&str; 2] = ["0.05", "1"];

/// Numeric key, and the two limits of its search.
#[derive(Clone, Debug)]
pub struct SearchedKey {
    path: KeyPath,
    ends: [Value; 2],
    place: Location,
}

impl Scenario {
    /// Parses `KEY=LOW..HIGH` into a key to search.
    /// Without a range, the limits are the ends of the scenario's sweep of the key. For `loads` they are 0.05 and 1.
    ///
    /// # Errors
    /// An unknown key, a key that is not numeric or has no range, or a range whose ends are not in rising order.
    pub fn searched(&self, text: &str, place: &Location) -> Outcome<SearchedKey> {
        let (name, range) = match text.split_once('=') {
            Some((name, range)) => (name.trim(), Some(range.trim())),
            None => (text.trim(), None),
        };
        let path = KeyPath::parse(name, place)?;
        let name = path.to_string();
        let error = |found: String, allowed: &str| {
            Err(ScenarioError::new(place, name.clone(), found, allowed))
        };
        let not_swept = NOT_SWEPT.iter().find(|(key, _)| *key == name);
        let is_of_loads = path.key.kind == Kind::Loads;
        if let Some((_, why)) = not_swept.filter(|_| !is_of_loads) {
            return error("a search over it".to_owned(), why);
        }
        if !is_of_loads && !path.key.kind.is_numeric() {
            let found = format!("a key that holds {}", path.key.allowed());
            return error(found, "a key that holds a number");
        }
        let known = self.sweep.ends(&path);
        let ends = match range.map(|range| range.split_once("..")) {
            Some(Some((low, high))) => values::ends(&path, low, high, place)?,
            Some(None) => {
                let found = format!("'{}'", range.unwrap_or_default());
                return error(found, "KEY=LOW..HIGH, the values to search between");
            }
            None if is_of_loads => values::ends(&path, LOADS[0], LOADS[1], place)?,
            None => match known {
                Some(ends) => ends,
                None => {
                    let allowed = "KEY=LOW..HIGH, the values to search between; without these a key that the \
                                   scenario sweeps, or loads";
                    return error("no range".to_owned(), allowed);
                }
            },
        };
        Ok(SearchedKey {
            path,
            ends,
            place: place.clone(),
        })
    }
}

impl SearchedKey {
    /// Returns the path of the key in a scenario.
    pub fn name(&self) -> String {
        self.path.to_string()
    }

    /// Returns the lower and the upper limit in the key's smallest unit: picoseconds, bits per second or bytes.
    pub fn ends(&self) -> [f64; 2] {
        let number = |value| values::number_of(value).unwrap_or_default();
        [number(&self.ends[0]), number(&self.ends[1])]
    }

    /// Returns whether the key allows only whole numbers.
    pub fn is_whole(&self) -> bool {
        !matches!(self.ends[0], Value::Number(_) | Value::Numbers(_))
    }

    /// Returns the scenario with the given value of the key. It replaces a value or sweep of the key.
    /// The value is also a parameter of the runs, so that they differ from runs with other values.
    ///
    /// # Errors
    /// The key does not allow the value.
    pub fn at(&self, scenario: &Scenario, number: f64) -> Outcome<Scenario> {
        let value = self.value(number)?;
        let mut scenario = scenario.clone();
        scenario.sweep.remove(&self.path);
        match self.path.key.kind {
            Kind::Loads => scenario.put_value(&self.path, value, &self.place)?,
            _ => scenario.sweep.insert(Axis {
                path: self.path,
                values: vec![value],
                place: self.place.clone(),
            }),
        }
        Ok(scenario)
    }

    /// Returns a value in the form of the records, with its unit.
    ///
    /// # Errors
    /// The key does not allow the value.
    pub fn parameter(&self, number: f64) -> Outcome<Parameter> {
        let value = match self.value(number)? {
            Value::Numbers(loads) => Value::Number(loads.first().copied().unwrap_or(number)),
            other => other,
        };
        Ok(parameter(&self.name(), self.path.key, &value))
    }

    fn value(&self, number: f64) -> Outcome<Value> {
        values::like(&self.path, &self.ends[1], number, &self.place)
    }
}

impl Sweep {
    /// Returns the smallest and the largest value of a swept key, if the values are numbers.
    fn ends(&self, path: &KeyPath) -> Option<[Value; 2]> {
        let axis = self.axes.iter().find(|axis| axis.path == *path)?;
        let number = |value: &Value| values::number_of(value);
        let mut sorted: Vec<(f64, &Value)> = Vec::with_capacity(axis.values.len());
        for value in &axis.values {
            sorted.push((number(value)?, value));
        }
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (low, high) = (sorted.first()?, sorted.last()?);
        let same_kind = std::mem::discriminant(low.1) == std::mem::discriminant(high.1);
        (low.0 < high.0 && same_kind).then(|| [low.1.clone(), high.1.clone()])
    }

    /// Adds an axis. An earlier axis of the same key is replaced.
    pub(super) fn insert(&mut self, axis: Axis) {
        match self.axes.iter_mut().find(|known| known.path == axis.path) {
            Some(known) => *known = axis,
            None => self.axes.push(axis),
        }
    }
}
