//! Schema: all keys of a scenario, with kind, default, allowed values and description.
//!
//! The parser, the suggestions for misspelt keys, `--set` and `tailcut list keys` all use this table.
//! The reference page `docs/scenario.md` is made from the table of sections and keys.

mod designs;
mod ecmp;
mod key;
mod network;
mod parts;
mod receiver_driven;
mod requests;
mod study;
mod transport;
mod workload;

pub use crate::parameters::Field;
pub use key::{Fallback, Key, Section};

/// Keys before any header.
pub const TOP: &Section = &study::STUDY;

/// Sections that precede the sections of parts.
const BEFORE_PARTS: &[Section] = &[
    study::STUDY,
    study::MEASURE,
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
    ecmp::ECMP,
];

/// Sections that follow the sections of parts.
const AFTER_PARTS: &[Section] = &[
    requests::SERVERS,
    requests::RANS,
    workload::WORKLOAD,
    workload::GROUPS,
];

/// Returns every section, including the sections of registered parts, in the order of the reference page.
pub fn sections() -> Vec<&'static Section> {
    let parts = parts::sections();
    BEFORE_PARTS
        .iter()
        .chain(parts)
        .chain(AFTER_PARTS)
        .collect()
}

/// Returns the section with this name.
pub fn section(name: &str) -> Option<&'static Section> {
    // Most names are fixed, and the list of the sections of parts is built at each call.
    let mut fixed = BEFORE_PARTS.iter().chain(AFTER_PARTS);
    let fixed = fixed.find(|section| section.name == name);
    fixed.or_else(|| {
        parts::sections()
            .into_iter()
            .find(|section| section.name == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use crate::value::{Kind, Raw, Value};
    use tailcut_sim::SECTIONS_OF_NO_PART;

    fn keys() -> impl Iterator<Item = (String, &'static Key)> {
        let keys = sections()
            .into_iter()
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
                let field = (field.value)(&parameters, key.kind, key.words);
                assert_eq!(field, Some(value), "{path}");
            }
        }
    }

    #[test]
    fn names_are_unique_and_choices_have_words() {
        let all = sections();
        for (i, section) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|s| s.name != section.name));
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

    #[test]
    fn a_part_with_keys_cannot_have_the_name_of_another_section() {
        let of_no_part = BEFORE_PARTS.iter().chain(AFTER_PARTS);
        for name in of_no_part
            .map(|section| section.name)
            .filter(|name| !name.is_empty())
        {
            assert!(SECTIONS_OF_NO_PART.contains(&name), "{name}");
        }
    }
}
