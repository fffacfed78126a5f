//! Points of a sweep: all combinations of its values.

use crate::error::{Location, Outcome, ScenarioError};
use crate::path::KeyPath;
use crate::scenario::Scenario;
use crate::sweep::{Axis, SweepValues, Zip};
use crate::traces::Traces;
use tailcut_record::Parameter;

/// One combination of the values of a sweep.
#[derive(Debug)]
pub struct Point {
    /// Scenario with the values of the point.
    pub scenario: Scenario,
    /// Swept keys with their values, in the order of the sweep.
    pub parameters: Vec<Parameter>,
}

impl Point {
    /// Adds the values of this point to an error.
    pub fn located(&self, mut error: Box<ScenarioError>) -> Box<ScenarioError> {
        if !self.parameters.is_empty() {
            let values: Vec<String> = self.parameters.iter().map(Parameter::to_string).collect();
            error.found = format!("{} (at {})", error.found, values.join(", "));
        }
        error
    }
}

impl Scenario {
    /// Sweeps a key over a list or range of values, and replaces an earlier value or sweep of the key.
    /// The values are written as on the command line: `50,100,200`, `1ms..9ms:2ms` or `1..64*2`.
    ///
    /// # Errors
    /// An unknown key, a key that cannot be swept, or values that the key does not allow.
    /// The error contains `place` as its location.
    pub fn sweep(&mut self, path: &str, values: &str, place: &Location) -> Outcome<()> {
        let path = KeyPath::parse(path, place)?;
        self.sweep.add(path, &SweepValues::text(values), place)
    }

    /// Makes swept keys change together.
    ///
    /// # Errors
    /// A key is unknown, or `paths` contains only one key. The error contains `place` as its location.
    /// The study reports a key that is not swept.
    pub fn zip(&mut self, paths: &[&str], place: &Location) -> Outcome<()> {
        let keys = paths.iter().map(|path| KeyPath::parse(path, place));
        self.sweep.zip(Zip {
            keys: keys.collect::<Outcome<_>>()?,
            place: place.clone(),
        })
    }

    /// Returns all combinations of the sweep's values. The values of the first key change slowest.
    /// Without a sweep, the only point is the scenario itself.
    /// `most` is the largest number of points that a study can have.
    pub(crate) fn points(&self, most: u64) -> Outcome<Vec<Point>> {
        let groups = self.sweep.groups()?;
        let lengths = || groups.iter().map(|group| group[0].values.len());
        let count = lengths().fold(1u64, |count, length| count.saturating_mul(length as u64));
        if count > most
            && let Some(axis) = self.sweep.axes.last()
        {
            let found = format!(
                "{count} combinations of the values of {} keys",
                groups.len()
            );
            let allowed = format!("at most {most} with these designs and seeds");
            return Err(ScenarioError::new(&axis.place, "sweep", found, allowed));
        }
        let columns: Vec<Vec<Parameter>> = self.sweep.axes.iter().map(Axis::parameters).collect();
        // An earlier study may have read a file, and the file may have changed after that.
        // Each study therefore reads the file again.
        let mut base = self.clone();
        base.traces = Traces::default();
        let point = |number: u64| {
            let mut scenario = base.clone();
            let mut parameters = Vec::with_capacity(self.sweep.axes.len());
            let mut chosen = Vec::with_capacity(groups.len());
            let mut rest = number as usize;
            for length in lengths().rev() {
                chosen.push(rest % length);
                rest /= length;
            }
            chosen.reverse();
            for (axis, column) in self.sweep.axes.iter().zip(&columns) {
                let is_here = |group: &&Vec<&Axis>| group.iter().any(|a| a.path == axis.path);
                let mut places = groups.iter().zip(&chosen);
                let at = places
                    .find(|(group, _)| is_here(group))
                    .map_or(0, |(_, at)| *at);
                scenario.put_value(&axis.path, axis.values[at].clone(), &axis.place)?;
                parameters.push(column[at].clone());
            }
            Ok(Point {
                scenario,
                parameters,
            })
        };
        (0..count).map(point).collect()
    }
}
