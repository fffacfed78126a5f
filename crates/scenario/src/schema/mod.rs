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

/// The section called `name`.
pub fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Kind;
    use key::Fallback::Is;

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
