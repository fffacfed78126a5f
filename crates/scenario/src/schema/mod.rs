//! Every key of a scenario: what it holds, its default, what is allowed and what it means.
//!
//! This one table feeds the parser, the guesses at misspelt keys, `--set`, `tailcut list keys` and
//! the reference in `docs/scenario.md`.

mod designs;
mod key;
mod network;
mod paths;
mod receiver_driven;
mod requests;
mod study;
mod transport;
mod workload;

pub use crate::parameters::Field;
pub use key::{Fallback, Key, Section};

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
    receiver_driven::SCDP_PLAIN,
    paths::ECMP,
    paths::LETFLOW,
    paths::CONGA,
    paths::EXPEDITUS,
    paths::EXPEDITUS_DECK,
    paths::OMNISCIENT,
    requests::SERVERS,
    requests::RANS,
    workload::WORKLOAD,
    workload::GROUPS,
];

/// The section called `name`.
pub fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use crate::value::{Kind, Raw, Value};

    fn keys() -> impl Iterator<Item = (String, &'static Key)> {
        let keys = SECTIONS
            .iter()
            .flat_map(|section| section.keys.iter().map(move |key| (section, key)));
        keys.map(|(section, key)| (section.path(key.name), key))
    }

    #[test]
    fn every_default_is_written_so_that_its_key_reads_it() {
        for (path, key) in keys() {
            let written = key.read(&Raw::from(key.default_text()));
            match key.default {
                Fallback::Follows(_) => assert_eq!(key.default_value(), None, "{path}"),
                _ => assert_eq!(written, key.default_value(), "{path}"),
            }
            let is_value = !matches!(key.default, Fallback::Follows(_));
            assert_eq!(key.default_value().is_some(), is_value, "{path}");
        }
    }

    #[test]
    fn a_field_holds_what_its_key_allows() {
        for (path, key) in keys() {
            let Fallback::Field(field) = key.default else {
                continue;
            };
            let words = key.words.iter().map(|word| Value::Word(word));
            let ends = match key.kind {
                Kind::Count { least, most } => vec![Value::Count(least), Value::Count(most)],
                Kind::Flag => vec![Value::Flag(false), Value::Flag(true)],
                _ => Vec::new(),
            };
            for value in words.chain(ends).chain(key.default_value()) {
                let mut parameters = Parameters::default();
                (field.set)(&mut parameters, &value);
                let held = (field.value)(&parameters, key.kind, key.words);
                assert_eq!(held, Some(value), "{path}");
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
