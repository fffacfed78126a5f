//! Sections and keys: names, kinds, defaults and descriptions.

use crate::parameters::{Field, Parameters};
use crate::value::{Kind, Raw, Value};

/// Section of a scenario.
#[derive(Debug)]
pub struct Section {
    /// Name in the header of the section. Empty for the keys before any header.
    pub name: &'static str,
    /// Whether the section is written `[[name]]` and can occur several times.
    pub repeated: bool,
    /// Description of the section.
    pub about: &'static str,
    /// Keys of the section.
    pub keys: &'static [Key],
}

/// Key of a section.
#[derive(Debug)]
pub struct Key {
    /// Name of the key.
    pub name: &'static str,
    /// Kind of the key's values.
    pub kind: Kind,
    /// Words that the key accepts in addition to values of its kind.
    pub words: &'static [&'static str],
    /// Default of the key.
    pub default: Fallback,
    /// Description of the key.
    pub about: &'static str,
}

/// Default of a key.
#[derive(Clone, Copy, Debug)]
pub enum Fallback {
    /// Value of the parameter field that the key sets.
    Field(Field),
    /// Fixed value, in the syntax of a scenario.
    Is(&'static str),
    /// Description of a default that depends on other keys, or of a missing default.
    Follows(&'static str),
}

use Fallback::{Follows, Is};

impl Section {
    /// Returns the key with this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns the path of a key: the name of the section, followed by the name of the key.
    pub fn path(&self, key: &str) -> String {
        match self.name {
            "" => key.to_owned(),
            name => format!("{name}.{key}"),
        }
    }

    /// Returns the header of the section as it is written in a file.
    pub fn header(&self) -> String {
        match (self.name, self.repeated) {
            ("", _) => "the top of the file".to_owned(),
            (name, true) => format!("[[{name}]]"),
            (name, false) => format!("[{name}]"),
        }
    }
}

impl Key {
    /// Parses a value. Returns `None` if it is not allowed.
    pub fn read(&self, raw: &Raw) -> Option<Value> {
        if let Raw::Text(text) | Raw::Argument(text) = raw
            && let Some(word) = self.words.iter().find(|word| **word == text.trim())
        {
            return Some(Value::Word(word));
        }
        self.kind.read(raw)
    }

    /// Returns the default, if it is a value.
    pub fn default_value(&self) -> Option<Value> {
        self.default_among(Parameters::defaults())
    }

    /// Returns the default, if it is a value. If the key sets a field, the default is the field's value in `defaults`.
    pub fn default_among(&self, defaults: &Parameters) -> Option<Value> {
        match self.default {
            Fallback::Field(field) => (field.value)(defaults, self.kind, self.words),
            Is(text) => self.read(&Raw::Argument(text.to_owned())),
            Follows(_) => None,
        }
    }

    /// Returns the default as a user writes it, or its description if it is not a value.
    pub fn default_text(&self) -> String {
        match self.default {
            Fallback::Field(_) => {
                let value = self.default_value();
                value.map_or_else(String::new, |value| value.written(self.kind))
            }
            Is(text) | Follows(text) => text.to_owned(),
        }
    }

    /// Formats a value of the key for a manifest. Quantities have their units.
    pub fn json(&self, value: &Value) -> serde_json::Value {
        match (self.kind, value) {
            // In a manifest, a number without a unit means bytes, so a count needs its unit.
            (Kind::Sized { of, .. }, Value::Count(count)) => format!("{count} {of}").into(),
            _ => value.to_json(),
        }
    }

    /// Returns a description of the allowed values, for errors and the reference page.
    pub fn allowed(&self) -> String {
        let words = self.words.iter().map(|word| format!("\"{word}\""));
        let kind = self.kind.allowed();
        let kind = (!kind.is_empty()).then_some(kind);
        kind.into_iter().chain(words).collect::<Vec<_>>().join(", ")
    }
}

pub(super) const fn key(
    name: &'static str,
    kind: Kind,
    default: Fallback,
    about: &'static str,
) -> Key {
    let words = match default {
        Fallback::Field(field) => field.words,
        Is(_) | Follows(_) => &[],
    };
    Key {
        name,
        kind,
        words,
        default,
        about,
    }
}

/// Creates a key that accepts all values of its field's type.
pub(super) const fn typed(name: &'static str, sets: Fallback, about: &'static str) -> Key {
    match sets {
        Fallback::Field(Field {
            kind: Some(kind), ..
        }) => key(name, kind, sets, about),
        _ => panic!("the type of the field must set the kind of the key"),
    }
}

/// Creates the default of a key that sets a field. The argument is the field's path from [`Parameters`].
/// The field's default becomes the key's default.
macro_rules! sets {
    ($($field:ident).+) => {
        $crate::schema::Fallback::Field($crate::parameters::field!($($field).+))
    };
}
pub(super) use sets;

impl Key {
    pub(super) const fn or(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }
}

pub(super) const fn count(least: u64, most: u64) -> Kind {
    Kind::Count { least, most }
}

pub(super) const fn up_to(most: f64) -> Kind {
    Kind::Number { above: 0.0, most }
}

pub(super) const ANY_SPAN: Kind = Kind::Duration { least: "0s" };
pub(super) const SPAN: Kind = Kind::Duration { least: "1ns" };
pub(super) const SIZE: Kind = Kind::Bytes { least: 1 };
pub(super) const PACKETS_OR_BYTES: Kind = Kind::Sized {
    of: "packets",
    least: 1,
    most: 1_000_000_000,
};
