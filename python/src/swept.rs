//! The keys that a study sweeps, a column each.

use crate::columns::Columns;
use std::iter::repeat_n;
use tailcut_scenario::record::{Parameter, ParameterValue, RunKey};

/// A swept key, and what its values are in all runs.
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
    /// The keys that these runs sweep, in order. One whose values are of several kinds is of the
    /// widest.
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

    /// Adds its column for a run.
    pub fn column(&self, columns: Columns, key: &RunKey, rows: usize) -> Columns {
        let mut parameters = key.parameters.iter();
        let here = parameters.find(|parameter| parameter.column() == self.column);
        match self.kind {
            Kind::Integer => {
                let value = here.and_then(|parameter| match parameter.value {
                    ParameterValue::Integer(value) => Some(value),
                    _ => None,
                });
                columns.optional(&self.column, repeat_n(value, rows))
            }
            Kind::Real => columns.optional_real(
                &self.column,
                repeat_n(here.and_then(Parameter::number), rows),
            ),
            Kind::Text => {
                columns.optional_text(&self.column, repeat_n(here.map(Parameter::shown), rows))
            }
        }
    }
}
