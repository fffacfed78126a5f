//! Fields of the parameters that keys set.

use super::{FieldValue, Parameters};
use crate::value::{Kind, Value};
use std::fmt;

/// Field of a run's parameters that a key sets.
/// The default of the key is the value of the field in the default parameters.
#[derive(Clone, Copy)]
pub struct Field {
    /// Values that the type of the field allows, if the key sets no further limit.
    pub(crate) kind: Option<Kind>,
    /// Words that the field's type accepts.
    pub(crate) words: &'static [&'static str],
    /// Function that returns the content of the field as a value of a key, given the key's kind and words.
    pub(crate) value: fn(&Parameters, Kind, &[&'static str]) -> Option<Value>,
    /// Function that stores a value in the field.
    pub(crate) set: fn(&mut Parameters, &Value),
}

impl Field {
    pub(crate) const fn new<T: FieldValue>(
        _: fn(&Parameters) -> &T,
        value: fn(&Parameters, Kind, &[&'static str]) -> Option<Value>,
        set: fn(&mut Parameters, &Value),
    ) -> Self {
        Self {
            kind: T::KIND,
            words: T::WORDS,
            value,
            set,
        }
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").finish_non_exhaustive()
    }
}

/// Creates the [`Field`] at a path from [`Parameters`], such as `field!(settings.tcp.mss)`.
macro_rules! field {
    ($($name:ident).+) => {
        $crate::parameters::Field::new(
            |parameters| &parameters.$($name).+,
            |parameters, kind, words| {
                $crate::parameters::FieldValue::value(&parameters.$($name).+, kind, words)
            },
            |parameters, value| {
                let field = $crate::parameters::FieldValue::from_value(value);
                parameters.$($name).+ = field.expect("a value that its key allows");
            },
        )
    };
}
pub(crate) use field;
