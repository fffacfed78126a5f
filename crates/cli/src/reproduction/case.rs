//! Studies of one scenario that differ in a few keys.

use super::{Part, keys};

/// Keys and values.
pub type Keys = &'static [(&'static str, &'static str)];

/// A study of a scenario that others share: its name, what is special about it, and the keys that differ.
pub struct Case {
    /// Unique within the reproduction.
    pub name: &'static str,
    /// In rows.
    pub what: &'static str,
    /// Beside those that hold for all cases.
    pub changes: Keys,
}

/// A case.
pub const fn case(name: &'static str, what: &'static str, changes: Keys) -> Case {
    Case {
        name,
        what,
        changes,
    }
}

/// The section of the first key that differs; `None` where none does, or it is in none.
pub fn section(changes: Keys) -> Option<&'static str> {
    let (key, _) = changes.first()?;
    key.split('.').next()
}

impl Case {
    /// The study; `common` holds for all cases of the scenario.
    pub fn part(&self, scenario: &'static str, common: Keys, quick: Keys) -> Part {
        Part {
            name: self.name,
            scenario,
            changes: [keys(common), keys(self.changes)].concat(),
            quick: keys(quick),
        }
    }
}
