//! The fields that keys set.

use super::{Held, Parameters};
use crate::value::{Kind, Value};
use std::fmt;

/// A field of a run's parameters. The key that has it sets it, and has for its default what the field
/// holds where nothing sets it.
#[derive(Clone, Copy)]
pub struct Field {
    /// What its type allows, where no more is to be said.
    pub(crate) kind: Option<Kind>,
    /// The words of its type.
    pub(crate) words: &'static [&'static str],
    /// What it holds, as a value of a key of this kind with these words.
    pub(crate) value: fn(&Parameters, Kind, &[&'static str]) -> Option<Value>,
    /// Sets it.
    pub(crate) set: fn(&mut Parameters, &Value),
}

impl Field {
    pub(crate) const fn new<T: Held>(
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

/// The [`Field`] at a path from [`Parameters`], such as `field!(settings.tcp.mss)`.
macro_rules! field {
    ($($name:ident).+) => {
        $crate::parameters::Field::new(
            |parameters| &parameters.$($name).+,
            |parameters, kind, words| {
                $crate::parameters::Held::value(&parameters.$($name).+, kind, words)
            },
            |parameters, value| {
                let held = $crate::parameters::Held::of(value);
                parameters.$($name).+ = held.expect("a value that its key allows");
            },
        )
    };
}
pub(crate) use field;
