//! Studies of one scenario that differ in a few keys.
//!
//! A grid of them is a table in the folder `cases`: a line `name | what it is | settings` a case, with
//! settings as `key = value; key = value`.

use crate::part::{Part, keys};

/// Keys and values.
pub type Keys = &'static [(&'static str, &'static str)];

/// A study of a scenario that others share: its name, what is special about it, and the keys that differ.
#[derive(Clone, Copy)]
pub struct Case {
    /// Unique within the reproduction.
    pub name: &'static str,
    /// In rows.
    pub what: &'static str,
    /// Beside those that hold for all cases: `key = value; key = value`.
    pub settings: &'static str,
}

/// The lines of a table, each as its columns; lines that start with `#` are for readers.
///
/// # Panics
/// Where a line has another number of columns.
pub fn lines<const N: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let found = columns.len();
        columns
            .try_into()
            .unwrap_or_else(|_| panic!("found {found} columns in place of {N}: {line}"))
    })
}

/// The cases of a table.
///
/// # Panics
/// Where a line has not three columns.
pub fn cases(table: &'static str) -> impl Iterator<Item = Case> {
    lines(table).map(|[name, what, settings]| case(name, what, settings))
}

/// A case.
pub const fn case(name: &'static str, what: &'static str, settings: &'static str) -> Case {
    Case {
        name,
        what,
        settings,
    }
}

/// The section of the first key that differs; `None` where none does, or it is in none.
pub fn section(changes: &[(&'static str, &'static str)]) -> Option<&'static str> {
    let (key, _) = changes.first()?;
    key.split('.').next()
}

impl Case {
    /// The keys that differ.
    ///
    /// # Panics
    /// Where a setting has no `=`.
    pub fn changes(&self) -> Vec<(&'static str, &'static str)> {
        let settings = self
            .settings
            .split(';')
            .filter(|one| !one.trim().is_empty());
        settings
            .map(|setting| {
                let (key, value) = setting
                    .split_once('=')
                    .unwrap_or_else(|| panic!("found '{setting}' in place of key = value"));
                (key.trim(), value.trim())
            })
            .collect()
    }

    /// The study; `common` holds for all cases of the scenario.
    pub fn part(&self, scenario: &'static str, common: Keys, quick: Keys) -> Part {
        Part {
            name: self.name,
            scenario,
            changes: [keys(common), keys(&self.changes())].concat(),
            quick: keys(quick),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_line_by_line() {
        let table =
            "# a comment\na  | as it is |\nb  | two keys | designs = tcp, dctcp; seeds = 3\n";
        let read: Vec<Case> = cases(table).collect();
        assert_eq!([read[0].name, read[0].what], ["a", "as it is"]);
        assert!(read[0].changes().is_empty());
        let changes = [("designs", "tcp, dctcp"), ("seeds", "3")];
        assert_eq!(read[1].changes(), changes);
        assert_eq!(read.len(), 2);
    }
}
