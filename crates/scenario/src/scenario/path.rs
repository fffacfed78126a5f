//! Paths of keys: `tcp.min_rto`, `seed`, `workload[1].share`.

use super::document::unknown_key;
use crate::error::{Outcome, Place, ScenarioError, did_you_mean};
use crate::schema::{self, Key, SECTIONS, Section};
use crate::value::shortened;
use std::fmt;

/// A key of the schema, and in which table of a repeated section it is.
#[derive(Clone, Copy, Debug)]
pub struct KeyPath {
    pub(crate) section: &'static Section,
    /// Which of the section's tables, from 0.
    pub(crate) index: usize,
    pub(crate) key: &'static Key,
}

impl PartialEq for KeyPath {
    fn eq(&self, other: &Self) -> bool {
        let of = |path: &Self| (path.section.name, path.index, path.key.name);
        of(self) == of(other)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.section.name, self.index) {
            ("", _) => f.write_str(self.key.name),
            (section, 0) => write!(f, "{section}.{}", self.key.name),
            (section, index) => write!(f, "{section}[{index}].{}", self.key.name),
        }
    }
}

impl KeyPath {
    /// Reads a path. In a repeated section `[1]` names the second table; without a number it is the
    /// first.
    ///
    /// # Errors
    /// A key that is none, with what may have been meant.
    pub fn parse(path: &str, place: &Place) -> Outcome<Self> {
        let (table, key) = path.split_once('.').unwrap_or(("", path));
        let (name, index) = match table.strip_suffix(']').and_then(|t| t.split_once('[')) {
            Some((name, index)) => (name, index.parse().ok()),
            None => (table, Some(0)),
        };
        let section = schema::section(name);
        let is_here = |section: &&Section, index: usize| section.repeated || index == 0;
        let found = section.zip(index).filter(|(s, i)| is_here(s, *i));
        let Some((section, index)) = found else {
            let paths: Vec<String> = SECTIONS
                .iter()
                .flat_map(|section| section.keys.iter().map(|key| section.path(key.name)))
                .collect();
            let meant = did_you_mean(path, paths.iter().map(String::as_str)).map(str::to_owned);
            let found = format!("the key '{}'", shortened(path));
            let allowed = "the keys that `tailcut list keys` shows";
            return Err(ScenarioError::new(place, "", found, allowed).meaning(meant));
        };
        match section.key(key) {
            Some(key) => Ok(Self {
                section,
                index,
                key,
            }),
            None => Err(unknown_key(section, key, place)),
        }
    }
}
