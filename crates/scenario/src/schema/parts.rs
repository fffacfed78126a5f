//! Sections of parts that declare their own keys: load balancers, queue disciplines, designs.

use super::key::{Fallback, Key, SIZE, SPAN, Section, count, up_to};
use crate::value::Kind;
use std::sync::{Mutex, PoisonError};
use tailcut_sim::{Parameter, ParameterKind, section_of, with_parameters};

/// Sections that were built so far. Each section is built once per process.
static MADE: Mutex<Vec<&'static Section>> = Mutex::new(Vec::new());

/// Returns the sections of all registered parts that have keys.
pub fn sections() -> Vec<&'static Section> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let of_part = |(name, summary, parameters): (&str, &'static str, &'static [Parameter])| {
        let name = section_of(name);
        if let Some(known) = made.iter().find(|section| section.name == name) {
            return *known;
        }
        let keys: Vec<Key> = parameters.iter().map(key).collect();
        // A registered part exists until the process ends, so leaking its section wastes no memory.
        let section: &'static Section = Box::leak(Box::new(Section {
            name: String::leak(name),
            repeated: false,
            about: summary,
            keys: Vec::leak(keys),
        }));
        made.push(section);
        section
    };
    with_parameters().into_iter().map(of_part).collect()
}

/// Converts a parameter of a part to a key.
fn key(parameter: &Parameter) -> Key {
    let (kind, words) = match parameter.kind {
        ParameterKind::Flag => (Kind::Flag, &[][..]),
        ParameterKind::Count { least, most } => (count(least, most), &[][..]),
        ParameterKind::Number { most } => (up_to(most), &[][..]),
        ParameterKind::Duration => (SPAN, &[][..]),
        ParameterKind::Bytes => (SIZE, &[][..]),
        ParameterKind::Word(words) => (Kind::Choice, words),
    };
    Key {
        name: parameter.name,
        kind,
        words,
        default: Fallback::Is(parameter.default),
        about: parameter.about,
    }
}
