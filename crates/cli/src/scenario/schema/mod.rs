//! Every key of a scenario: what it holds, its default, what is allowed and what it means.
//!
//! This one table feeds the parser, the guesses at misspelt keys, `--set`, `tailcut list keys` and
//! the reference in `docs/scenario.md`.

mod designs;
mod network;
mod paths;
mod receiver_driven;
mod requests;
mod study;
mod transport;
mod workload;

use super::value::{Kind, Raw, Value};

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
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
            Is(text) => self.read(&Raw::Argument(text.to_owned())),
            Follows(_) => None,
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

/// The section called `name`.
pub fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

const fn key(name: &'static str, kind: Kind, default: Fallback, about: &'static str) -> Key {
    Key {
        name,
        kind,
        words: &[],
        default,
        about,
    }
}

impl Key {
    const fn or(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }
}

const fn count(least: u64, most: u64) -> Kind {
    Kind::Count { least, most }
}

const ANY_SPAN: Kind = Kind::Duration { least: "0s" };
const SPAN: Kind = Kind::Duration { least: "1ns" };
const SIZE: Kind = Kind::Bytes { least: 1 };
const PACKETS_OR_BYTES: Kind = Kind::Sized {
    of: "packets",
    least: 1,
    most: 1_000_000_000,
};

/// Every section, in the order of the reference.
pub const SECTIONS: &[Section] = &[
    study::STUDY,
    network::TOPOLOGY,
    network::NODES,
    network::LINKS,
    network::FAILURES,
    network::QUEUE,
    network::SHARED_BUFFER,
    network::FRAMING,
    transport::TCP,
    transport::REPNET,
    designs::PFABRIC,
    designs::PIAS,
    designs::QOS,
    designs::HULL,
    designs::HOST,
    designs::NIC,
    receiver_driven::NDP,
    receiver_driven::SCDP,
    paths::ECMP,
    paths::LETFLOW,
    paths::CONGA,
    paths::EXPEDITUS,
    paths::EXPEDITUS_DECK,
    paths::OMNISCIENT,
    requests::SERVERS,
    requests::RANS,
    workload::WORKLOAD,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_that_its_key_allows() {
        for section in SECTIONS {
            for key in section.keys {
                if let Is(text) = key.default {
                    assert!(
                        key.default_value().is_some(),
                        "{}: {text}",
                        section.path(key.name)
                    );
                }
            }
        }
    }

    #[test]
    fn names_are_unique_and_choices_have_words() {
        for (i, section) in SECTIONS.iter().enumerate() {
            assert!(SECTIONS[..i].iter().all(|s| s.name != section.name));
            for (j, key) in section.keys.iter().enumerate() {
                assert!(section.keys[..j].iter().all(|k| k.name != key.name));
                assert!(
                    key.kind != Kind::Choice || !key.words.is_empty(),
                    "{}",
                    key.name
                );
            }
        }
    }
}
