//! Sweeps: keys with several values. Each combination of values is a point, with its own runs.
//!
//! The keys form a grid. Zipped keys change together, so they form one dimension of the grid.

mod own;
mod parameter;
mod range;
pub(crate) mod values;

pub use own::OwnDesign;
pub use parameter::{parameter, with_common_form};
pub use range::{Range, SweepValues};

use crate::error::{Location, Outcome, ScenarioError};
use crate::path::KeyPath;
use crate::value::Value;
use serde_json::{Map, json};
use tailcut_record::Parameter;

/// Keys that cannot be swept, each with the reason or the alternative.
pub(crate) const NOT_SWEPT: [(&str, &str); 9] = [
    ("name", "a study has one name"),
    ("about", "a study has one"),
    ("tables", "a study has one format"),
    (
        "designs",
        "designs = [\"tcp\", \"dctcp\"]: every design runs at every point",
    ),
    (
        "loads",
        "loads = [0.1, 0.5] or --load: loads are a separate axis",
    ),
    ("seed", "seeds = 3 or --seeds: seeds are a separate axis"),
    ("seeds", "seeds = 3 or --seeds: seeds are a separate axis"),
    ("measure.from", "a study has one measured part"),
    ("measure.until", "a study has one measured part"),
];

/// Largest number of values of one key.
const MOST_VALUES: usize = 1_000;

/// Keys that a scenario sweeps. Empty by default.
#[derive(Clone, Default, Debug)]
pub struct Sweep {
    pub axes: Vec<Axis>,
    zips: Vec<Zip>,
}

/// Swept key with its values.
#[derive(Clone, Debug)]
pub struct Axis {
    pub path: KeyPath,
    pub values: Vec<Value>,
    pub place: Location,
}

/// Keys that change together.
#[derive(Clone, Debug)]
pub struct Zip {
    pub keys: Vec<KeyPath>,
    pub place: Location,
}

impl Sweep {
    pub fn is_empty(&self) -> bool {
        self.axes.is_empty()
    }

    /// Sweeps a key. An earlier sweep of the key is replaced.
    pub fn add(&mut self, path: KeyPath, written: &SweepValues, place: &Location) -> Outcome<()> {
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
        self.insert(Axis {
            path,
            values,
            place: place.clone(),
        });
        Ok(())
    }

    /// Makes keys change together.
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

    /// Removes the sweep of a key.
    pub fn remove(&mut self, path: &KeyPath) {
        if self.axes.iter().all(|axis| axis.path != *path) {
            return;
        }
        self.axes.retain(|axis| axis.path != *path);
        for zip in &mut self.zips {
            zip.keys.retain(|key| key != path);
        }
        self.zips.retain(|zip| zip.keys.len() > 1);
    }

    /// Returns the groups of keys that change together.
    pub fn zips(&self) -> impl Iterator<Item = &[KeyPath]> {
        self.zips.iter().map(|zip| zip.keys.as_slice())
    }

    /// Returns whether a key is swept.
    pub fn has(&self, path: &KeyPath) -> bool {
        self.axes.iter().any(|axis| axis.path == *path)
    }

    /// Returns the axes in groups. The axes of a group change together.
    pub fn groups(&self) -> Outcome<Vec<Vec<&Axis>>> {
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

    /// Rejects a zip of keys that are not swept, or whose lists have different lengths.
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
                let allowed = "the same number of values for keys that change together";
                return Err(ScenarioError::new(&zip.place, "zip", found, allowed));
            }
        }
        Ok(())
    }

    /// Returns each key with its values, and the zipped keys, for the manifest.
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

impl Axis {
    /// Returns the values as parameters: all numbers with one unit, or all texts.
    pub fn parameters(&self) -> Vec<Parameter> {
        let path = self.path.to_string();
        let of = |value| parameter(&path, self.path.key, value);
        with_common_form(self.values.iter().map(of).collect())
    }
}
