//! Parameters of a design, a queue discipline or a load balancer (a part).
//! A parameter is a key that the part adds to scenarios, in a section with the part's name.

use crate::quantity::{Quantity, duration, within};
use crate::{Bytes, Duration};
use alloc::collections::BTreeMap;

/// Kind of a parameter's values, with their range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ParameterKind {
    /// True or false.
    Flag,
    /// Whole number in a range.
    Count {
        /// Lower bound.
        least: u64,
        /// Upper bound.
        most: u64,
    },
    /// Number above 0.
    Number {
        /// Upper bound.
        most: f64,
    },
    /// Time of at least 1 ns.
    Duration,
    /// Size of at least 1 byte.
    Bytes,
    /// One of several words.
    Word(&'static [&'static str]),
}

/// Key that a part adds to scenarios, in the section with the part's name.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Name of the key in its section.
    pub name: &'static str,
    /// Allowed values.
    pub kind: ParameterKind,
    /// Default value, as text in the notation of scenarios.
    pub default: &'static str,
    /// Description, with the source of the default.
    pub about: &'static str,
}

impl Parameter {
    const fn new(
        name: &'static str,
        kind: ParameterKind,
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            default,
            about,
        }
    }

    /// Returns a parameter that is true or false.
    pub const fn flag(name: &'static str, default: &'static str, about: &'static str) -> Self {
        Self::new(name, ParameterKind::Flag, default, about)
    }

    /// Returns a parameter that is a whole number from `least` to `most`.
    pub const fn count(
        name: &'static str,
        (least, most): (u64, u64),
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self::new(name, ParameterKind::Count { least, most }, default, about)
    }

    /// Returns a parameter that is a number above 0 and at most `most`.
    pub const fn number(
        name: &'static str,
        most: f64,
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self::new(name, ParameterKind::Number { most }, default, about)
    }

    /// Returns a parameter that is a share above 0 and at most 1.
    pub const fn share(name: &'static str, default: &'static str, about: &'static str) -> Self {
        Self::number(name, 1.0, default, about)
    }

    /// Returns a parameter that is a time of at least 1 ns.
    pub const fn duration(name: &'static str, default: &'static str, about: &'static str) -> Self {
        Self::new(name, ParameterKind::Duration, default, about)
    }

    /// Returns a parameter that is a size of at least 1 byte.
    pub const fn bytes(name: &'static str, default: &'static str, about: &'static str) -> Self {
        Self::new(name, ParameterKind::Bytes, default, about)
    }

    /// Returns a parameter that is one of several words.
    pub const fn word(
        name: &'static str,
        words: &'static [&'static str],
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self::new(name, ParameterKind::Word(words), default, about)
    }

    /// Returns the value that a text contains, or `None` if the parameter does not allow this text.
    pub fn read(&self, text: &str) -> Option<ParameterValue> {
        match self.kind {
            ParameterKind::Flag => text.parse().ok().map(ParameterValue::Flag),
            ParameterKind::Count { least, most } => {
                within(text, least..=most).ok().map(ParameterValue::Count)
            }
            ParameterKind::Number { most } => f64::read(text)
                .filter(|number| *number > 0.0 && *number <= most)
                .map(ParameterValue::Number),
            ParameterKind::Duration => duration(text)
                .ok()
                .filter(|span| *span >= Duration::from_ns(1))
                .map(ParameterValue::Duration),
            ParameterKind::Bytes => within(text, Bytes(1)..=Bytes::MOST)
                .ok()
                .map(ParameterValue::Bytes),
            ParameterKind::Word(words) => {
                let word = words.iter().find(|word| **word == text);
                word.map(|word| ParameterValue::Word(word))
            }
        }
    }
}

/// Value of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ParameterValue {
    /// True or false.
    Flag(bool),
    /// Whole number.
    Count(u64),
    /// Number.
    Number(f64),
    /// Time.
    Duration(Duration),
    /// Size.
    Bytes(Bytes),
    /// Word from the list of the parameter.
    Word(&'static str),
}

/// Values of a part's parameters, by name. A part may read only the parameters that it declares.
/// A reading function panics if the part declares no parameter of this name and kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(BTreeMap<&'static str, ParameterValue>);

impl Values {
    /// Returns the default values of `parameters`.
    pub fn of(parameters: &[Parameter]) -> Self {
        let defaults = parameters.iter();
        let read =
            |parameter: &Parameter| Some((parameter.name, parameter.read(parameter.default)?));
        Self(defaults.filter_map(read).collect())
    }

    /// Sets a value.
    pub fn set(&mut self, name: &'static str, value: ParameterValue) {
        self.0.insert(name, value);
    }

    fn get(&self, name: &str) -> ParameterValue {
        let value = self.0.get(name).copied();
        value.unwrap_or_else(|| panic!("no parameter is called '{name}': {self:?}"))
    }
}

/// Defines a reading function for each kind of value.
macro_rules! readers {
    ($($(#[$about:meta])* $reader:ident: $variant:ident -> $type:ty;)*) => {
        impl Values {
            $($(#[$about])*
            ///
            /// # Panics
            /// The part does not declare a parameter with the given name and kind.
            pub fn $reader(&self, name: &str) -> $type {
                match self.get(name) {
                    ParameterValue::$variant(value) => value,
                    other => panic!("'{name}' is {other:?}"),
                }
            })*
        }
    };
}

readers! {
    /// Returns the value of a parameter that is true or false.
    flag: Flag -> bool;
    /// Returns the value of a parameter that is a whole number.
    count: Count -> u64;
    /// Returns the value of a parameter that is a number.
    number: Number -> f64;
    /// Returns the value of a parameter that is a time.
    duration: Duration -> Duration;
    /// Returns the value of a parameter that is a size.
    bytes: Bytes -> Bytes;
    /// Returns the value of a parameter that is one of several words.
    word: Word -> &'static str;
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: &[Parameter] = &[
        Parameter::share("left", "0.8", "Share of the window that is left."),
        Parameter::count("levels", (2, 254), "8", "Levels."),
        Parameter::duration("gap", "500us", "Gap."),
        Parameter::bytes("limit", "1538B", "Limit."),
        Parameter::word("sight", &["load", "queue"], "load", "Sight."),
        Parameter::flag("ecn", "true", "Marks."),
    ];

    #[test]
    fn values_are_the_defaults_until_another_is_set() {
        let mut values = Values::of(PARAMETERS);
        assert_eq!(values.number("left"), 0.8);
        assert_eq!(values.count("levels"), 8);
        assert_eq!(values.duration("gap"), Duration::from_us(500));
        assert_eq!(values.bytes("limit"), Bytes(1_538));
        assert_eq!(values.word("sight"), "load");
        assert!(values.flag("ecn"));
        values.set("left", ParameterValue::Number(0.5));
        assert_eq!(values.number("left"), 0.5);
    }

    #[test]
    fn a_text_outside_the_range_is_no_value() {
        for (parameter, wrong) in PARAMETERS.iter().zip([
            &["0", "1.1", "x"][..],
            &["1", "255", "2.5"],
            &["0s", "5", "500"],
            &["0", "-1B"],
            &["both", ""],
            &["yes", "1"],
        ]) {
            for text in wrong {
                assert_eq!(parameter.read(text), None, "{}: {text}", parameter.name);
            }
        }
    }
}
