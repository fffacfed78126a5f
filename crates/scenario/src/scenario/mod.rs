//! Scenarios: values from a file and from flags, each checked against its key in one schema.
//!
//! A [`Scenario`] stores each value with the place where it was written.
//! A scenario has no model of the network: [`Study`](crate::Study) derives the runs from it.

mod document;
mod lines;
mod swept;

pub use document::text_of;

use crate::error::{Location, Outcome, ScenarioError};
use crate::parameters::{FieldValue, Parameters};
use crate::path::KeyPath;
use crate::schema::{self, Section};
use crate::sweep::{OwnDesign, Sweep};
use crate::traces::Traces;
use crate::value::{Raw, Value};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Scenario with its values as the user wrote them. Every value is checked against its key.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Location of the first line, for errors about missing keys.
    pub start: Location,
    /// Name of the scenario if its text sets none.
    pub name: String,
    /// Directory where relative paths start.
    pub directory: PathBuf,
    tables: Vec<Table>,
    /// Swept keys.
    pub(crate) sweep: Sweep,
    /// Designs with their own settings.
    pub(crate) own_designs: Vec<OwnDesign>,
    /// Traces that were read from files for one study.
    pub(crate) traces: Traces,
    /// Contents of files that are stored with the scenario, by path in the scenario.
    files: BTreeMap<String, Arc<[u8]>>,
}

/// Table of a scenario.
#[derive(Clone, Debug)]
pub struct Table {
    section: &'static Section,
    /// Place where the table begins.
    pub place: Location,
    entries: BTreeMap<&'static str, Entry>,
}

/// Value of a key, and the place where it was written.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Value of the key.
    pub value: Value,
    /// Place where the value was written.
    pub place: Location,
    /// Whether the value is only a starting value. A starting value that no component reads causes no error.
    pub is_starting_value: bool,
    /// Whether the value belongs to a sweep. Names of topologies and workloads do not contain swept values.
    pub is_swept: bool,
}

impl Default for Scenario {
    /// Returns a scenario with defaults only. A study also needs `designs`.
    fn default() -> Self {
        Self {
            start: Location::Value,
            name: "scenario".to_owned(),
            directory: PathBuf::new(),
            tables: Vec::new(),
            sweep: Sweep::default(),
            own_designs: Vec::new(),
            traces: Traces::default(),
            files: BTreeMap::new(),
        }
    }
}

impl Scenario {
    /// Returns the table of a section that is not repeated, or an empty table if the section is missing.
    ///
    /// # Panics
    /// If the schema has no such section.
    pub fn table(&self, section: &str) -> Table {
        self.tables(section).first().map_or_else(
            || Table::new(known(section), self.start.clone()),
            |table| (*table).clone(),
        )
    }

    /// Returns all tables of a section, in order.
    pub fn tables(&self, section: &str) -> Vec<&Table> {
        let of_section = |table: &&Table| table.section.name == section;
        self.tables.iter().filter(of_section).collect()
    }

    /// Marks all current values as starting values. A starting value that no component reads causes no error.
    pub fn mark_as_starting_values(&mut self) {
        let entries = self
            .tables
            .iter_mut()
            .flat_map(|table| table.entries.values_mut());
        entries.for_each(|entry| entry.is_starting_value = true);
    }

    /// Marks the value of a key as a starting value.
    ///
    /// # Errors
    /// The path is not the path of a key.
    pub(crate) fn mark_as_starting_value(&mut self, path: &str) -> Outcome<()> {
        let place = self.start.clone();
        let path = KeyPath::parse(path, &place)?;
        let table = self.table_of(&path, &place)?;
        if let Some(entry) = table.entries.get_mut(path.key.name) {
            entry.is_starting_value = true;
        }
        Ok(())
    }

    /// Removes all tables of a section.
    pub fn clear(&mut self, section: &str) {
        self.tables.retain(|table| table.section.name != section);
    }

    /// Removes a key from the first table of a section.
    pub fn unset(&mut self, section: &str, key: &str) {
        let first = self
            .tables
            .iter_mut()
            .find(|table| table.section.name == section);
        if let Some(table) = first {
            table.entries.remove(key);
        }
    }

    /// Sets a key by its path (`tcp.min_rto`, or `seed` at the top) from the text of a flag.
    /// In a repeated section, the path means the first table, which is created if necessary.
    /// With an index (`workload[1].share`), the path means the table with this index.
    /// An existing sweep of the key is removed.
    ///
    /// # Errors
    /// The key is unknown or does not allow the value. The error contains `place` as its location.
    pub fn set(&mut self, path: &str, text: &str, place: &Location) -> Outcome<()> {
        self.put(path, &Raw::Argument(text.to_owned()), place)
    }

    /// Returns the scenario with a key set by its path.
    /// The value can be the text of a command line: `"10ms"`, `"0.1..0.5:0.1"`, `"tcp, repflow"`.
    ///
    /// # Errors
    /// The key is unknown or does not allow the value.
    pub fn with(mut self, path: &str, value: impl Into<Raw>) -> Outcome<Self> {
        self.put(path, &value.into(), &Location::Value)?;
        Ok(self)
    }

    /// Stores the content of a file that the scenario names, so that the file is not read from the disk.
    #[must_use]
    pub fn with_file(mut self, path: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        self.files.insert(path.into(), bytes.into());
        self
    }

    /// Returns the content of a file that is stored with the scenario.
    pub fn file(&self, path: &str) -> Option<&Arc<[u8]>> {
        self.files.get(path)
    }

    /// Sets a key by its path, like [`Scenario::set`]. `raw` is the value as a user wrote it.
    ///
    /// # Errors
    /// The key is unknown or does not allow the value. The error contains `place` as its location.
    pub fn put(&mut self, path: &str, raw: &Raw, place: &Location) -> Outcome<()> {
        let path = KeyPath::parse(path, place)?;
        self.table_of(&path, place)?
            .insert(path.key.name, raw, place.clone())?;
        self.sweep.remove(&path);
        Ok(())
    }

    /// Sets a key to a value of a sweep or to a setting of a design.
    pub(crate) fn put_value(
        &mut self,
        path: &KeyPath,
        value: Value,
        place: &Location,
    ) -> Outcome<()> {
        let entry = Entry {
            value,
            place: place.clone(),
            is_starting_value: false,
            is_swept: true,
        };
        let table = self.table_of(path, place)?;
        table.entries.insert(path.key.name, entry);
        Ok(())
    }

    /// Returns the table of a path. The first table of a section is created if it is missing.
    fn table_of(&mut self, path: &KeyPath, place: &Location) -> Outcome<&mut Table> {
        let name = path.section.name;
        let of_section = |(_, table): &(usize, &Table)| table.section.name == name;
        let tables = self.tables.iter().enumerate().filter(of_section);
        let found = tables.map(|(index, _)| index).nth(path.index);
        let there = self.tables(name).len();
        let index = match found {
            Some(index) => index,
            None if path.index == 0 => {
                self.tables.push(Table::new(path.section, place.clone()));
                self.tables.len() - 1
            }
            None => {
                let found = format!("{name}[{}]", path.index);
                let allowed = format!("one of the {there} tables [[{name}]], from 0");
                return Err(ScenarioError::new(place, path.to_string(), found, allowed));
            }
        };
        Ok(&mut self.tables[index])
    }

    /// Returns every key with its value. A key that is not set has its default, or a description of its default.
    pub fn to_json(&self) -> serde_json::Value {
        let mut sections = Map::new();
        for section in schema::sections() {
            let mut tables: Vec<serde_json::Value> = self
                .tables(section.name)
                .iter()
                .map(|table| table.to_json())
                .collect();
            if !section.repeated {
                let table = tables
                    .pop()
                    .unwrap_or_else(|| self.table(section.name).to_json());
                let name = if section.name.is_empty() {
                    "study"
                } else {
                    section.name
                };
                sections.insert(name.to_owned(), table);
            } else {
                sections.insert(section.name.to_owned(), json!(tables));
            }
        }
        if !self.sweep.is_empty() {
            sections.insert("sweep".to_owned(), self.sweep.to_json());
        }
        if !self.own_designs.is_empty() {
            let designs = self.own_designs.iter().map(OwnDesign::to_json);
            sections.insert("own_designs".to_owned(), designs.collect());
        }
        sections.into()
    }
}

fn known(section: &str) -> &'static Section {
    schema::section(section).expect("a section of the schema")
}

impl Table {
    /// Returns the value that the user wrote for a key, or `None` if the key was not written.
    pub fn given(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Returns whether the value of a key belongs to a sweep.
    pub fn is_swept(&self, key: &str) -> bool {
        self.given(key).is_some_and(|entry| entry.is_swept)
    }

    /// Returns every key that was written, with its value, in the order of the schema.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, &Entry)> {
        let keys = self.section.keys.iter();
        keys.filter_map(|key| Some((key.name, self.entries.get(key.name)?)))
    }

    /// Returns the place where a key was written, or where its table begins.
    pub fn place_of(&self, key: &str) -> &Location {
        self.given(key).map_or(&self.place, |entry| &entry.place)
    }

    /// Creates an error about a key.
    pub fn error(
        &self,
        key: &str,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Box<ScenarioError> {
        ScenarioError::new(self.place_of(key), self.section.path(key), found, allowed)
    }

    /// Returns the written value of a key, or its default. Returns `None` if the default depends on other keys.
    ///
    /// # Panics
    /// If the schema has no such key.
    pub fn value(&self, key: &str) -> Option<Value> {
        let known = self.section.key(key).expect("a key of the schema");
        self.given(key)
            .map(|entry| entry.value.clone())
            .or_else(|| known.default_among(self.defaults()))
    }

    /// Returns the defaults of the section's keys. In the section `tcp`, the defaults depend on `profile` and `timers`.
    fn defaults(&self) -> &'static Parameters {
        let choice = |key| self.given(key).map(|entry| &entry.value);
        if self.section.name != "tcp" {
            return Parameters::defaults();
        }
        let profile = choice("profile").and_then(FieldValue::from_value);
        let timers = choice("timers").and_then(FieldValue::from_value);
        Parameters::defaults_of(profile.unwrap_or_default(), timers.unwrap_or_default())
    }

    /// Returns a copy of the defaults of the section's keys, for a run.
    pub(crate) fn parameters(&self) -> Parameters {
        self.defaults().clone()
    }

    /// Returns the value of a key if it is a word.
    pub fn word(&self, key: &str) -> Option<&'static str> {
        match self.value(key)? {
            Value::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Returns the value of a key if it is a text.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the written value of a key, or its default, as a typed value.
    /// An `Option` is `None` for a word such as `off`, or if the default depends on other keys.
    ///
    /// # Panics
    /// If the schema has no such key, or if the key has a different type.
    pub(crate) fn get<T: FieldValue>(&self, key: &str) -> T {
        let value = self.value(key);
        let field = value.as_ref().map_or_else(T::if_missing, T::from_value);
        field.expect("a key of this type")
    }

    /// Returns the typed value of a key. Returns `other` for a word, and for a default that depends on other keys.
    ///
    /// # Panics
    /// If the schema has no such key, like [`Table::get`].
    pub(crate) fn get_or<T: FieldValue>(&self, key: &str, other: T) -> T {
        self.get::<Option<T>>(key).unwrap_or(other)
    }

    pub(crate) fn to_json(&self) -> serde_json::Value {
        let keys = self.section.keys.iter().map(|key| {
            let value = self.value(key.name).map_or_else(
                || json!(format!("({})", key.default_text())),
                |value| key.json(&value),
            );
            (key.name.to_owned(), value)
        });
        serde_json::Value::Object(keys.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::{Bytes, Duration, Rate};

    #[test]
    fn values_of_a_program_read_as_those_of_a_text() {
        let text = "seed = 7\nloads = [0.25, 0.5]\nflows = 50\nmeasure_waits = true\nduration = \"3ms\"\n\
                    [topology]\nrate = \"25Gbps\"\n[queue]\nlimit = \"64KB\"\n[[workload]]\n\
                    matrix = \"incast\"\n";
        let set = || {
            Scenario::default()
                .with("seed", 7u64)?
                .with("loads", [0.25, 0.5])?
                .with("flows", 50)?
                .with("measure_waits", true)?
                .with("duration", Duration::from_ms(3))?
                .with("topology.rate", Rate::from_gbps(25))?
                .with("queue.limit", Bytes::from_kb(64))?
                .with("workload.matrix", "incast")
        };
        let (set, read) = (
            set().expect("sound"),
            Scenario::from_text(text).expect("sound"),
        );
        assert_eq!(set.to_json(), read.to_json());
    }

    #[test]
    fn a_value_that_is_not_allowed_is_refused_at_its_key() {
        let error = Scenario::default().with("flows", -3).expect_err("no count");
        assert!(
            error
                .to_string()
                .starts_with("a value that was set: flows: found -3; allowed"),
            "{error}"
        );
        let error = Scenario::default()
            .with("tcp.min_rt", "1ms")
            .expect_err("no key");
        assert_eq!(error.meant.as_deref(), Some("min_rto"));
    }

    #[test]
    fn a_scenario_can_bring_its_trace_along() {
        let text = "designs = [\"tcp\"]\n[[workload]]\nkind = \"trace\"\nfile = \"mine\"\n";
        let scenario = Scenario::from_text(text).expect("a scenario");
        assert!(crate::Study::of(&scenario).is_err(), "no such file");
        let scenario = scenario.with_file("mine", *b"start_ns,src,dst,bytes\n0,0,1,2920\n");
        let study = crate::Study::of(&scenario).expect("a study");
        assert_eq!(study.runs[0].workload.name, "trace:mine");
    }

    #[test]
    fn a_byte_that_is_no_text_is_told_with_its_line() {
        let bytes = b"seed = 1\nname = \"\xff\"\n".to_vec();
        let error = Scenario::parse_bytes("s.toml", "", bytes).expect_err("no text");
        assert_eq!(error.place, Location::line("s.toml", 2));
    }
}
