//! Cases: studies that use the same scenario and differ in a few keys.
//!
//! A table in the folder `cases` defines a set of cases. Each line has the form `name | description | settings`.
//! The settings have the form `key = value; key = value`.

use crate::part::{Part, keys};

/// Keys of a scenario, each with its value.
pub type Keys = &'static [(&'static str, &'static str)];

/// Case: a study that uses a scenario and changes a few of its keys.
#[derive(Clone, Copy)]
pub struct Case {
    /// Name of the case, unique within the reproduction.
    pub name: &'static str,
    /// Description of the case in rows.
    pub description: &'static str,
    /// Keys that this case changes, as `key = value; key = value`.
    pub settings: &'static str,
}

/// Returns the lines of a table, split into columns. Lines that start with `#` are comments.
///
/// # Panics
/// The function panics if a line has a different number of columns.
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

/// Returns the cases of a table.
///
/// # Panics
/// The function panics if a line does not have three columns.
pub fn cases(table: &'static str) -> impl Iterator<Item = Case> {
    lines(table).map(|[name, description, settings]| case(name, description, settings))
}

/// Creates a case.
pub const fn case(name: &'static str, description: &'static str, settings: &'static str) -> Case {
    Case {
        name,
        description,
        settings,
    }
}

/// Returns the section of the first changed key, such as `tcp` for `tcp.mss`.
/// A key without a section is returned itself. Returns `None` if no key is changed.
pub fn section(changes: &[(&'static str, &'static str)]) -> Option<&'static str> {
    let (key, _) = changes.first()?;
    key.split('.').next()
}

impl Case {
    /// Returns the keys that this case changes, each with its new value.
    ///
    /// # Panics
    /// The function panics if a setting has no `=`.
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

    /// Returns the study of this case. `common` contains keys that are changed in all cases of the scenario.
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
        assert_eq!([read[0].name, read[0].description], ["a", "as it is"]);
        assert!(read[0].changes().is_empty());
        let changes = [("designs", "tcp, dctcp"), ("seeds", "3")];
        assert_eq!(read[1].changes(), changes);
        assert_eq!(read.len(), 2);
    }
}
