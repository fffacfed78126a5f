//! Keys that a study sweeps. Tables have one column for each of them.

use tailcut_scenario::record::{Column, Parameter, ParameterValue, RunKey};

/// Key that a study sweeps, and the type of its values in all runs.
pub struct Swept {
    column: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Integer,
    Real,
    Text,
}

impl Kind {
    const fn of(value: &ParameterValue) -> Self {
        match value {
            ParameterValue::Integer(_) => Self::Integer,
            ParameterValue::Real(_) => Self::Real,
            ParameterValue::Text(_) => Self::Text,
        }
    }
}

impl Swept {
    /// Returns the keys that the given runs sweep, in order.
    /// If the values of a key have several types, the key gets the widest of them.
    pub fn of(keys: &[RunKey]) -> Vec<Self> {
        let mut swept: Vec<Self> = Vec::new();
        for parameter in keys.iter().flat_map(|key| &key.parameters) {
            let (column, kind) = (parameter.column(), Kind::of(&parameter.value));
            match swept.iter_mut().find(|known| known.column == column) {
                Some(known) => known.kind = known.kind.max(kind),
                None => swept.push(Self { column, kind }),
            }
        }
        swept
    }

    /// Returns the column of the key for a table of one run. The column has `rows` values, which are all equal.
    pub fn column(&self, key: &RunKey, rows: usize) -> Column {
        let mut parameters = key.parameters.iter();
        let here = parameters.find(|parameter| parameter.column() == self.column);
        let name = self.column.clone();
        match self.kind {
            Kind::Integer => {
                let value = here.and_then(|parameter| match parameter.value {
                    ParameterValue::Integer(value) => Some(value),
                    _ => None,
                });
                Column::same(name, &value, rows)
            }
            Kind::Real => Column::same(name, &here.and_then(Parameter::number), rows),
            Kind::Text => Column::same(name, &here.map(Parameter::shown), rows),
        }
    }
}
