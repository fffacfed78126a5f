//! Paths of keys, such as `tcp.min_rto`, `seed` and `workload[1].share`.

use crate::error::{Location, Outcome, ScenarioError, did_you_mean};
use crate::schema::{self, Key, Section, sections};
use crate::terms;
use crate::value::shortened;
use std::fmt;

/// Key of the schema. In a repeated section, the path also identifies the table.
#[derive(Clone, Copy, Debug)]
pub struct KeyPath {
    pub(crate) section: &'static Section,
    /// Index of the table in its section, from 0.
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
    /// Parses a path. In a repeated section `[1]` is the second table. A path without an index means the first table.
    ///
    /// # Errors
    /// The key is unknown. The error suggests the intended key.
    pub fn parse(path: &str, place: &Location) -> Outcome<Self> {
        let (table, key) = path.split_once('.').unwrap_or(("", path));
        let (name, index) = match table.strip_suffix(']').and_then(|t| t.split_once('[')) {
            Some((name, index)) => (name, index.parse().ok()),
            None => (table, Some(0)),
        };
        let section = schema::section(name);
        let is_here = |section: &&Section, index: usize| section.repeated || index == 0;
        let found = section.zip(index).filter(|(s, i)| is_here(s, *i));
        let Some((section, index)) = found else {
            let paths: Vec<String> = sections()
                .into_iter()
                .flat_map(|section| section.keys.iter().map(|key| section.path(key.name)))
                .collect();
            let near = did_you_mean(path, paths.iter().map(String::as_str));
            let meant = terms::key_for(key).or(near).map(str::to_owned);
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

/// Returns the path of a key as users write it within a section.
fn in_section(section: &Section, path: &str) -> String {
    let own = path
        .split_once('.')
        .filter(|(table, _)| *table == section.name);
    own.map_or(path, |(_, key)| key).to_owned()
}

/// Returns the error for a key that is not in a section.
/// The error suggests the same key in another section, or a key of this section with a similar name.
pub(crate) fn unknown_key(section: &Section, name: &str, place: &Location) -> Box<ScenarioError> {
    let mut allowed: Vec<&str> = section.keys.iter().map(|key| key.name).collect();
    if section.name.is_empty() {
        allowed.extend(
            sections()
                .into_iter()
                .map(|s| s.name)
                .filter(|name| !name.is_empty())
                .chain(["sweep"]),
        );
    }
    let near = did_you_mean(name, allowed.iter().copied()).map(str::to_owned);
    let under = |name: &str| {
        let other = sections()
            .into_iter()
            .find(|other| other.key(name).is_some())?;
        Some(match other.name {
            "" => name.to_owned(),
            _ => format!("{name} under {}", other.header()),
        })
    };
    let everywhere = sections()
        .into_iter()
        .flat_map(|section| section.keys.iter().map(|key| key.name));
    let meant = terms::key_for(name)
        .map(|path| in_section(section, path))
        .or_else(|| under(name))
        .or(near)
        .or_else(|| did_you_mean(name, everywhere).and_then(under));
    let header = match section.name {
        "" => "at the top".to_owned(),
        _ => format!("in {}", section.header()),
    };
    let found = format!("the key '{}' {header}", shortened(name));
    ScenarioError::new(place, "", found, allowed.join(", ")).meaning(meant)
}
