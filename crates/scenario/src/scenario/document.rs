//! Parser of scenario files: from TOML text to tables, with each value checked against its key.

use super::lines::{Lines, in_order, raw};
use super::{Entry, Scenario, Table, swept};
use crate::error::{Location, Outcome, ScenarioError, did_you_mean};
use crate::path::unknown_key;
use crate::schema::{Section, TOP, section};
use crate::terms;
use crate::value::{Raw, shortened};
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Decodes the bytes of a file as UTF-8 text.
pub fn text_of(file: &str, bytes: Vec<u8>, allowed: &str) -> Outcome<String> {
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let place = Location::line(file, line);
        ScenarioError::new(&place, "", "a byte that is not UTF-8", allowed)
    })
}

impl Scenario {
    /// Parses the text of a scenario. Relative paths in the text start at the program's working directory.
    ///
    /// # Errors
    /// The first error in the text, with its line.
    pub fn from_text(text: &str) -> Outcome<Self> {
        Self::parse("scenario", "", text)
    }

    /// Parses the bytes of a file, as [`parse`](Self::parse) does.
    ///
    /// # Errors
    /// The first error in the text, with its line. A byte that is not UTF-8 is also an error.
    pub fn parse_bytes(file: &str, directory: impl Into<PathBuf>, bytes: Vec<u8>) -> Outcome<Self> {
        let text = text_of(file, bytes, "a scenario in TOML, which is UTF-8")?;
        Self::parse(file, directory, &text)
    }

    /// Parses the text of a scenario. `file` is the file name in errors.
    /// Relative paths in the text start at `directory`.
    ///
    /// # Errors
    /// The first error in the text, with its line.
    pub fn parse(file: &str, directory: impl Into<PathBuf>, text: &str) -> Outcome<Self> {
        let lines = Lines::new(file, text);
        let document = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let found = format!("text that is not TOML ({})", shortened(error.message()));
            ScenarioError::new(
                &lines.place(at),
                "",
                found,
                "a scenario in TOML, see docs/scenario.md",
            )
        })?;
        let mut scenario = Self {
            start: lines.place(0),
            name: file_stem(file),
            directory: directory.into(),
            ..Self::default()
        };
        let mut top = Table::new(TOP, lines.place(0));
        for (name, value) in in_order(document.get_ref()) {
            let place = lines.place(name.span().start);
            let name = name.get_ref().as_ref();
            if name == "sweep" {
                scenario.sweep = swept::sweep(value, &place, &lines)?;
                continue;
            }
            if name == "designs" {
                let (names, own) = swept::designs(value, &lines)?;
                top.insert(name, &names, lines.place(value.span().start))?;
                scenario.own_designs = own;
                continue;
            }
            if TOP.key(name).is_some() {
                top.insert(name, &raw(value.get_ref()), lines.place(value.span().start))?;
                continue;
            }
            let Some(section) = section(name).filter(|section| !section.name.is_empty()) else {
                return Err(unknown_key(TOP, name, &place));
            };
            for (table, at) in tables_of(section, value, &place, &lines)? {
                scenario
                    .tables
                    .push(read_table(section, table, at, &lines)?);
            }
        }
        scenario.tables.push(top);
        scenario.check_sweep()?;
        Ok(scenario)
    }

    /// Rejects a key that the file both sets and sweeps.
    fn check_sweep(&self) -> Outcome<()> {
        for axis in &self.sweep.axes {
            let tables = self.tables(axis.path.section.name);
            let table = tables.get(axis.path.index);
            if let Some(entry) = table.and_then(|table| table.given(axis.path.key.name)) {
                let found = format!("a sweep of a key that {} sets", entry.place);
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
}

fn file_stem(file: &str) -> String {
    let stem = std::path::Path::new(file).file_stem();
    stem.map_or_else(
        || "scenario".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

type Found<'t, 'i> = (&'t DeTable<'i>, Location);

/// Returns the tables of a section. Only a repeated section can have several tables.
fn tables_of<'t, 'i>(
    section: &Section,
    value: &'t Spanned<DeValue<'i>>,
    place: &Location,
    lines: &Lines,
) -> Outcome<Vec<Found<'t, 'i>>> {
    let wrong = |found: String, place: &Location| {
        let allowed = format!("a table {}", section.header());
        ScenarioError::new(place, section.name, found, allowed)
    };
    match value.get_ref() {
        DeValue::Table(table) => Ok(vec![(table, place.clone())]),
        DeValue::Array(items) if section.repeated => items
            .iter()
            .map(|item| {
                let at = lines.place(item.span().start);
                match item.get_ref() {
                    DeValue::Table(table) => Ok((table, at)),
                    other => Err(wrong(raw(other).to_string(), &at)),
                }
            })
            .collect(),
        other => Err(wrong(
            raw(other).to_string(),
            &lines.place(value.span().start),
        )),
    }
}

fn read_table(
    section: &'static Section,
    table: &DeTable<'_>,
    place: Location,
    lines: &Lines,
) -> Outcome<Table> {
    let mut read = Table::new(section, place);
    for (name, value) in in_order(table) {
        let key = name.get_ref().as_ref();
        if section.key(key).is_none() {
            return Err(unknown_key(section, key, &lines.place(name.span().start)));
        }
        read.insert(key, &raw(value.get_ref()), lines.place(value.span().start))?;
    }
    Ok(read)
}

impl Table {
    pub(super) fn new(section: &'static Section, place: Location) -> Self {
        Self {
            section,
            place,
            entries: BTreeMap::new(),
        }
    }

    /// Checks a value against its key and stores it.
    pub(super) fn insert(&mut self, name: &str, raw: &Raw, place: Location) -> Outcome<()> {
        let Some(key) = self.section.key(name) else {
            return Err(unknown_key(self.section, name, &place));
        };
        let Some(value) = key.read(raw) else {
            let path = self.section.path(name);
            let meant = match raw {
                Raw::Text(text) | Raw::Argument(text) => {
                    let is_allowed =
                        |text: &str| key.read(&Raw::Argument(text.to_owned())).is_some();
                    let word = did_you_mean(text, key.words.iter().copied()).map(str::to_owned);
                    terms::with_usual_unit(text, is_allowed).or(word)
                }
                _ => None,
            };
            return Err(
                ScenarioError::new(&place, path, key.kind.found(raw), key.allowed()).meaning(meant),
            );
        };
        let entry = Entry {
            value,
            place,
            is_starting_value: false,
            is_swept: false,
        };
        self.entries.insert(key.name, entry);
        Ok(())
    }
}
