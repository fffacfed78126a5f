//! Sections and keys: names, kinds, defaults and meanings.

use crate::parameters::{Field, Parameters};
use crate::value::{Kind, Raw, Value};

/// A section of a scenario.
#[derive(Debug)]
pub struct Section {
    /// Its header; empty for the keys before any header.
    pub name: &'static str,
    /// Whether it is written `[[name]]` and may be given several times.
    pub repeated: bool,
    /// What it is about.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A key of a section.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Words that it takes beside its kind.
    pub words: &'static [&'static str],
    /// What holds where the key is not given.
    pub default: Fallback,
    /// What it means.
    pub about: &'static str,
}

/// What holds where a key is not given.
#[derive(Clone, Copy, Debug)]
pub enum Fallback {
    /// What the field that the key sets holds.
    Field(Field),
    /// This value, as written.
    Is(&'static str),
    /// Something that follows from other keys, or nothing; in words.
    Follows(&'static str),
}

use Fallback::{Follows, Is};

impl Section {
    /// The key called `name`.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// A key's name with that of the section before it.
    pub fn path(&self, key: &str) -> String {
        match self.name {
            "" => key.to_owned(),
            name => format!("{name}.{key}"),
        }
    }

    /// The section's header as it is written in a file.
    pub fn header(&self) -> String {
        match (self.name, self.repeated) {
            ("", _) => "the top of the file".to_owned(),
            (name, true) => format!("[[{name}]]"),
            (name, false) => format!("[{name}]"),
        }
    }
}

impl Key {
    /// Reads a value; `None` when it is not allowed.
    pub fn read(&self, raw: &Raw) -> Option<Value> {
        if let Raw::Text(text) | Raw::Argument(text) = raw
            && let Some(word) = self.words.iter().find(|word| **word == text.trim())
        {
            return Some(Value::Word(word));
        }
        self.kind.read(raw)
    }

    /// The default, where it is a value.
    pub fn default_value(&self) -> Option<Value> {
        match self.default {
            Fallback::Field(field) => (field.value)(Parameters::usual(), self.kind, self.words),
            Is(text) => self.read(&Raw::Argument(text.to_owned())),
            Follows(_) => None,
        }
    }

    /// The default as it is written; where it is no value, what it follows from, in words.
    pub fn default_text(&self) -> String {
        match self.default {
            Fallback::Field(_) => {
                let value = self.default_value();
                value.map_or_else(String::new, |value| value.written(self.kind))
            }
            Is(text) | Follows(text) => text.to_owned(),
        }
    }

    /// A value of the key for a manifest: quantities with their units.
    pub fn json(&self, value: &Value) -> serde_json::Value {
        match (self.kind, value) {
            // A number alone would be bytes.
            (Kind::Sized { of, .. }, Value::Count(count)) => format!("{count} {of}").into(),
            _ => value.to_json(),
        }
    }

    /// What is allowed, for errors and the reference.
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

/// A key whose field has a type that says what is allowed.
pub(super) const fn typed(name: &'static str, sets: Fallback, about: &'static str) -> Key {
    match sets {
        Fallback::Field(Field {
            kind: Some(kind), ..
        }) => key(name, kind, sets, about),
        _ => panic!("a key with a field whose type has a kind of its own"),
    }
}

/// The field that a key sets, at a path from [`Parameters`]: its default is what the field holds.
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
