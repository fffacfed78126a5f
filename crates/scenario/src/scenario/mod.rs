//! Scenarios: what a file and the flags say, checked key by key against one schema.
//!
//! A [`Scenario`] knows values and where each was written, and nothing of networks;
//! [`Study`](crate::Study) makes runs of it.

mod document;
mod lines;
mod swept;

pub use document::text_of;

use crate::error::{Outcome, Place, ScenarioError};
use crate::parameters::Held;
use crate::path::KeyPath;
use crate::schema::{self, Section};
use crate::sweep::{OwnDesign, Sweep};
use crate::traces::Traces;
use crate::value::{Raw, Value};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A scenario as written, every value checked against its key.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its first line: the place of what is missing.
    pub start: Place,
    /// What it is called unless it names itself.
    pub name: String,
    /// Where relative paths in it start.
    pub directory: PathBuf,
    tables: Vec<Table>,
    /// The keys that it sweeps.
    pub(crate) sweep: Sweep,
    /// Designs with settings of their own.
    pub(crate) own_designs: Vec<OwnDesign>,
    /// What was read of files for one study.
    pub(crate) traces: Traces,
    /// Files that it brings along, by the paths under which it names them.
    files: BTreeMap<String, Arc<[u8]>>,
}

/// One table of a scenario.
#[derive(Clone, Debug)]
pub struct Table {
    section: &'static Section,
    /// Where it begins.
    pub place: Place,
    entries: BTreeMap<&'static str, Entry>,
}

/// A value and where it was written.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The value.
    pub value: Value,
    /// Its place.
    pub place: Place,
    /// Whether it is only what the user starts from.
    pub is_start: bool,
    /// Whether it is one of the values of a sweep, so that names leave it out.
    pub is_swept: bool,
}

impl Default for Scenario {
    /// Nothing but defaults. A study needs `designs` beside them.
    fn default() -> Self {
        Self {
            start: Place::Value,
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
    /// The table of a section that is not repeated; an empty one where it was not written.
    ///
    /// # Panics
    /// When the schema has no such section.
    pub fn table(&self, section: &str) -> Table {
        self.tables(section).first().map_or_else(
            || Table::new(known(section), self.start.clone()),
            |table| (*table).clone(),
        )
    }

    /// All tables of a section, in order.
    pub fn tables(&self, section: &str) -> Vec<&Table> {
        let of_section = |table: &&Table| table.section.name == section;
        self.tables.iter().filter(of_section).collect()
    }

    /// Makes what it says so far only what the user starts from: a key may then stand there that nothing
    /// reads.
    pub fn start_from_here(&mut self) {
        let entries = self
            .tables
            .iter_mut()
            .flat_map(|table| table.entries.values_mut());
        entries.for_each(|entry| entry.is_start = true);
    }

    /// Makes a key that it has only what the user starts from.
    ///
    /// # Errors
    /// A path that is no key.
    pub(crate) fn start_from(&mut self, path: &str) -> Outcome<()> {
        let place = self.start.clone();
        let path = KeyPath::parse(path, &place)?;
        let table = self.table_of(&path, &place)?;
        if let Some(entry) = table.entries.get_mut(path.key.name) {
            entry.is_start = true;
        }
        Ok(())
    }

    /// Removes all tables of a section.
    pub fn clear(&mut self, section: &str) {
        self.tables.retain(|table| table.section.name != section);
    }

    /// Removes a key of the first table of a section.
    pub fn unset(&mut self, section: &str, key: &str) {
        let first = self
            .tables
            .iter_mut()
            .find(|table| table.section.name == section);
        if let Some(table) = first {
            table.entries.remove(key);
        }
    }

    /// Sets a key by its path (`tcp.min_rto`, or `seed` at the top) from the text of a flag. In a
    /// repeated section it is that of the first table, which is made where there is none, unless the
    /// path names another (`workload[1].share`). A key that was swept is swept no longer.
    ///
    /// # Errors
    /// An unknown key, or a value that it does not allow, at `place`.
    pub fn set(&mut self, path: &str, text: &str, place: &Place) -> Outcome<()> {
        self.put(path, &Raw::Argument(text.to_owned()), place)
    }

    /// The same scenario with a key set by its path. A text may be that of any value, as on a command
    /// line: `"10ms"`, `"0.1..0.5:0.1"`, `"tcp, repflow"`.
    ///
    /// # Errors
    /// An unknown key, or a value that it does not allow.
    pub fn with(mut self, path: &str, value: impl Into<Raw>) -> Outcome<Self> {
        self.put(path, &value.into(), &Place::Value)?;
        Ok(self)
    }

    /// The same scenario with the bytes of a file that it names, which then need not be on a disk.
    #[must_use]
    pub fn with_file(mut self, path: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        self.files.insert(path.into(), bytes.into());
        self
    }

    /// The bytes of a file that it brings along.
    pub fn file(&self, path: &str) -> Option<&Arc<[u8]>> {
        self.files.get(path)
    }

    /// Sets a key by its path to a value as it was written, as [`Scenario::set`] does.
    ///
    /// # Errors
    /// An unknown key, or a value that it does not allow, at `place`.
    pub fn put(&mut self, path: &str, raw: &Raw, place: &Place) -> Outcome<()> {
        let path = KeyPath::parse(path, place)?;
        self.table_of(&path, place)?
            .insert(path.key.name, raw, place.clone())?;
        self.sweep.leave(&path);
        Ok(())
    }

    /// Puts one of a sweep's values, or a design's own, in its place.
    pub(crate) fn put_value(&mut self, path: &KeyPath, value: Value, place: &Place) -> Outcome<()> {
        let entry = Entry {
            value,
            place: place.clone(),
            is_start: false,
            is_swept: true,
        };
        let table = self.table_of(path, place)?;
        table.entries.insert(path.key.name, entry);
        Ok(())
    }

    /// The table that a path leads to; the first of a section is made where there is none.
    fn table_of(&mut self, path: &KeyPath, place: &Place) -> Outcome<&mut Table> {
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

    /// Every key with its value: as given, else its default, else in words what it follows from.
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
    /// What was written under a key, if anything was.
    pub fn given(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Whether a key has one of the values of a sweep.
    pub fn is_swept(&self, key: &str) -> bool {
        self.given(key).is_some_and(|entry| entry.is_swept)
    }

    /// Every key that was written, in the order of the schema, with its value.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, &Entry)> {
        let keys = self.section.keys.iter();
        keys.filter_map(|key| Some((key.name, self.entries.get(key.name)?)))
    }

    /// A key's place: where it was written, else where its table begins.
    pub fn place_of(&self, key: &str) -> &Place {
        self.given(key).map_or(&self.place, |entry| &entry.place)
    }

    /// An error about a key.
    pub fn error(
        &self,
        key: &str,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Box<ScenarioError> {
        ScenarioError::new(self.place_of(key), self.section.path(key), found, allowed)
    }

    /// The value of a key: as written, else its default; `None` where it follows from others.
    ///
    /// # Panics
    /// When the schema has no such key.
    pub fn value(&self, key: &str) -> Option<Value> {
        let known = self.section.key(key).expect("a key of the schema");
        self.given(key)
            .map(|entry| entry.value.clone())
            .or_else(|| known.default_value())
    }

    /// The word under a key, if its value is one.
    pub fn word(&self, key: &str) -> Option<&'static str> {
        match self.value(key)? {
            Value::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The text under a key.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What a key holds, typed: as written, else its default. An option is `None` for a word, such as
    /// `off`, and for what follows from other keys.
    ///
    /// # Panics
    /// When the schema has no such key, or one of another type.
    pub(crate) fn get<T: Held>(&self, key: &str) -> T {
        let value = self.value(key);
        let held = value.as_ref().map_or_else(T::absent, T::of);
        held.expect("a key of this type")
    }

    /// What a key holds, or `other` for a word and where it follows from other keys.
    ///
    /// # Panics
    /// As [`Table::get`].
    pub(crate) fn get_or<T: Held>(&self, key: &str, other: T) -> T {
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
        assert_eq!(error.place, Place::line("s.toml", 2));
    }
}
