//! Sweeps: keys with several values, whose combinations are run each.
//!
//! Keys make a grid; those that are zipped change together. A [`Point`] is one combination: the
//! scenario with these values, and the [parameters](Parameter) that records tell them by.

mod own;
mod parameter;
mod range;
mod recorded;
mod searched;
mod values;

pub use own::{Chosen, OwnDesign};
pub use parameter::alike;
pub use range::{Range, Written};
pub use recorded::{recorded_keys, recorded_parameters};
pub use searched::SearchedKey;

use crate::error::{Outcome, Place, ScenarioError};
use crate::scenario::{KeyPath, Scenario};
use crate::study::Traces;
use crate::value::Value;
use serde_json::{Map, json};
use tailcut_record::Parameter;

/// Keys that a study has in another way, and how.
const NOT_SWEPT: [(&str, &str); 7] = [
    ("name", "a study has one name"),
    ("about", "a study has one"),
    ("tables", "a study has one format"),
    (
        "designs",
        "designs = [\"tcp\", \"dctcp\"]: every design runs at every point",
    ),
    (
        "loads",
        "loads = [0.1, 0.5] or --load: loads are an axis of their own",
    ),
    (
        "seed",
        "seeds = 3 or --seeds: seeds are an axis of their own",
    ),
    (
        "seeds",
        "seeds = 3 or --seeds: seeds are an axis of their own",
    ),
];

/// The most values of one key.
const MOST_VALUES: usize = 1_000;

/// The keys that a scenario sweeps; none by default.
#[derive(Clone, Default, Debug)]
pub struct Sweep {
    axes: Vec<Axis>,
    zips: Vec<Zip>,
}

/// A key with its values.
#[derive(Clone, Debug)]
struct Axis {
    path: KeyPath,
    values: Vec<Value>,
    place: Place,
}

/// Keys that change together.
#[derive(Clone, Debug)]
pub struct Zip {
    pub keys: Vec<KeyPath>,
    pub place: Place,
}

/// One combination of a sweep's values.
#[derive(Debug)]
pub struct Point {
    /// The scenario with these values.
    pub scenario: Scenario,
    /// The values, in the order of the sweep.
    pub parameters: Vec<Parameter>,
}

impl Point {
    /// An error with the values at which it came up.
    pub fn located(&self, mut error: Box<ScenarioError>) -> Box<ScenarioError> {
        if !self.parameters.is_empty() {
            let values: Vec<String> = self.parameters.iter().map(Parameter::to_string).collect();
            error.found = format!("{} (at {})", error.found, values.join(", "));
        }
        error
    }
}

impl Sweep {
    pub fn is_empty(&self) -> bool {
        self.axes.is_empty()
    }

    /// Sweeps a key, in place of an earlier sweep of it.
    pub fn add(&mut self, path: KeyPath, written: &Written, place: &Place) -> Outcome<()> {
        let name = path.to_string();
        if let Some((_, why)) = NOT_SWEPT.iter().find(|(key, _)| *key == name) {
            return Err(ScenarioError::new(place, name, "a sweep of it", *why));
        }
        let values = values::read(&path, written, place)?;
        if values.len() > MOST_VALUES {
            let found = format!("{} values", values.len());
            return Err(ScenarioError::new(
                place,
                name,
                found,
                format!("at most {MOST_VALUES}"),
            ));
        }
        self.put(Axis {
            path,
            values,
            place: place.clone(),
        });
        Ok(())
    }

    /// Lets keys change together.
    pub fn zip(&mut self, zip: Zip) -> Outcome<()> {
        let error = |found: String, allowed: &str| {
            Err(ScenarioError::new(&zip.place, "zip", found, allowed))
        };
        if zip.keys.len() < 2 {
            return error(
                format!("{} key", zip.keys.len()),
                "two keys or more that change together",
            );
        }
        let others = self.zips.iter().flat_map(|known| &known.keys);
        let mut known: Vec<&KeyPath> = others.collect();
        for key in &zip.keys {
            if known.contains(&key) {
                return error(format!("{key} twice"), "each key once");
            }
            known.push(key);
        }
        self.zips.push(zip);
        Ok(())
    }

    /// Sweeps a key no longer.
    pub fn leave(&mut self, path: &KeyPath) {
        if self.axes.iter().all(|axis| axis.path != *path) {
            return;
        }
        self.axes.retain(|axis| axis.path != *path);
        for zip in &mut self.zips {
            zip.keys.retain(|key| key != path);
        }
        self.zips.retain(|zip| zip.keys.len() > 1);
    }

    /// Whether the sweep has a key.
    pub fn has(&self, path: &KeyPath) -> bool {
        self.axes.iter().any(|axis| axis.path == *path)
    }

    /// Refuses a key that a file both sets and sweeps.
    pub fn check_beside(&self, scenario: &Scenario) -> Outcome<()> {
        for axis in &self.axes {
            let tables = scenario.tables(axis.path.section.name);
            let table = tables.get(axis.path.index);
            if let Some(entry) = table.and_then(|table| table.given(axis.path.key.name)) {
                let found = format!("a sweep of what {} sets", entry.place);
                let key = axis.path.to_string();
                return Err(ScenarioError::new(
                    &axis.place,
                    key,
                    found,
                    "a value or a sweep",
                ));
            }
        }
        Ok(())
    }

    /// The axes in groups: those of a group change together.
    fn groups(&self) -> Outcome<Vec<Vec<&Axis>>> {
        for zip in &self.zips {
            self.check(zip)?;
        }
        let mut groups: Vec<Vec<&Axis>> = Vec::new();
        for axis in &self.axes {
            let zip = self.zips.iter().find(|zip| zip.keys.contains(&axis.path));
            let is_beside = |group: &&mut Vec<&Axis>| {
                zip.is_some_and(|zip| group.iter().any(|other| zip.keys.contains(&other.path)))
            };
            match groups.iter_mut().find(is_beside) {
                Some(group) => group.push(axis),
                None => groups.push(vec![axis]),
            }
        }
        Ok(groups)
    }

    /// Refuses to zip what is not swept, or lists of different lengths.
    fn check(&self, zip: &Zip) -> Outcome<()> {
        let mut first: Option<&Axis> = None;
        for key in &zip.keys {
            let Some(axis) = self.axes.iter().find(|axis| axis.path == *key) else {
                let names: Vec<String> = self.axes.iter().map(|a| a.path.to_string()).collect();
                let found = format!("{key}, which is not swept");
                let allowed = format!("swept keys: {}", names.join(", "));
                return Err(ScenarioError::new(&zip.place, "zip", found, allowed));
            };
            let first = *first.get_or_insert(axis);
            let (ours, theirs) = (axis.values.len(), first.values.len());
            if ours != theirs {
                let found = format!("{theirs} values of {} and {ours} of {key}", first.path);
                let allowed = "as many values of each key that changes together";
                return Err(ScenarioError::new(&zip.place, "zip", found, allowed));
            }
        }
        Ok(())
    }

    /// For the manifest: each key with its values, and which keys change together.
    pub fn to_json(&self) -> serde_json::Value {
        let mut keys = Map::new();
        for axis in &self.axes {
            let values = axis.values.iter().map(|value| axis.path.key.json(value));
            keys.insert(axis.path.to_string(), values.collect());
        }
        if !self.zips.is_empty() {
            let names = |zip: &Zip| zip.keys.iter().map(KeyPath::to_string).collect::<Vec<_>>();
            let zips: Vec<Vec<String>> = self.zips.iter().map(names).collect();
            keys.insert("zip".to_owned(), json!(zips));
        }
        keys.into()
    }
}

impl Scenario {
    /// Sweeps a key over the values of a text, as on a command line: `50,100,200`, `1ms..9ms:2ms` or
    /// `1..64*2`. It takes the place of a value or sweep that the scenario has of the key.
    ///
    /// # Errors
    /// A key that is none or cannot be swept, or values that it does not allow, at `place`.
    pub fn sweep(&mut self, path: &str, values: &str, place: &Place) -> Outcome<()> {
        let path = KeyPath::parse(path, place)?;
        self.sweep.add(path, &Written::text(values), place)
    }

    /// Lets swept keys change together.
    ///
    /// # Errors
    /// A key that is none, or one key alone, at `place`. What is not swept is told by the study.
    pub fn zip(&mut self, paths: &[&str], place: &Place) -> Outcome<()> {
        let keys = paths.iter().map(|path| KeyPath::parse(path, place));
        self.sweep.zip(Zip {
            keys: keys.collect::<Outcome<_>>()?,
            place: place.clone(),
        })
    }

    /// Every combination of the sweep's values, the first key changing slowest; without a sweep the
    /// scenario itself. `most` is how many a study may have.
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
        // Files may have changed since another study read them.
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
