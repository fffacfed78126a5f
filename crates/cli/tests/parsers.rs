//! Every public function that parses bytes or text from outside has a fuzz target, or a reason in `fuzz/parsers.toml`.
//!
//! A function counts as a parser if its name begins with one of [`VERBS`] and one of its parameters is of [`OUTSIDE`].
//! Implementations of [`TRAITS`] also count as parsers.

mod sources;

use sources::{code, crates};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// First words of the names of parsers.
const VERBS: [&str; 9] = [
    "parse",
    "decode",
    "read",
    "from_bytes",
    "from_str",
    "from_table",
    "load",
    "named",
    "of_text",
];

/// Types of parameters that hold bytes or text from outside, or the path of a file that contains them.
const OUTSIDE: [&str; 8] = [
    "[u8]",
    "Vec<u8>",
    "&str",
    "Path",
    "HeaderValue",
    "HeaderMap",
    "UnixStream",
    "impl Read",
];

/// Traits whose implementations are parsers.
const TRAITS: [&str; 3] = ["FromStr for ", "TryFrom<&[u8]> for ", "TryFrom<&str> for "];

/// Returns whether a name is one of [`VERBS`], or begins with one of them and an underscore.
fn is_parser(name: &str) -> bool {
    let mut rests = VERBS.iter().filter_map(|verb| name.strip_prefix(verb));
    rests.any(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Returns the identifier at the start of a text.
fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Returns the type that an `impl` line names: `Page` for `impl<'a> Page<'a> {`.
fn implemented(line: &str) -> &str {
    let line = line.rsplit(" for ").next().unwrap_or(line);
    let rest = line.strip_prefix("impl").unwrap_or(line);
    let rest = match rest.strip_prefix('<') {
        Some(generics) => generics.split_once("> ").map_or("", |(_, rest)| rest),
        None => rest,
    };
    identifier(rest.trim_start())
}

/// Returns the parsers of a formatted source text, such as `Page::parse` or `decode`.
fn parsers(text: &str) -> Vec<String> {
    let (mut found, mut of) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(line) = rest.lines().next() {
        if line.starts_with("impl") {
            of = format!("{}::", implemented(line));
            if TRAITS.iter().any(|name| line.contains(name)) {
                found.push(format!("{of}from"));
            }
        } else if line.starts_with('}') {
            of.clear();
        }
        let words = line.trim_start();
        let public = words.strip_prefix("pub ").map(|words| {
            let words = words.strip_prefix("const ").unwrap_or(words);
            words.strip_prefix("async ").unwrap_or(words)
        });
        if let Some(function) = public.and_then(|words| words.strip_prefix("fn ")) {
            let name = identifier(function);
            // The parameters end at the body, or at the semicolon of a trait.
            let signature = rest.split(['{', ';']).next().unwrap_or(rest);
            let parameters = signature.split(" -> ").next().unwrap_or(signature);
            if is_parser(name) && OUTSIDE.iter().any(|of| parameters.contains(of)) {
                found.push(format!("{of}{name}"));
            }
        }
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    found
}

/// Adds the parsers of all sources of a folder. The names of parsers begin with the path of their file:
/// `wire/ndp::decode`.
fn collect(folder: &Path, name: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy();
        let inner = format!("{name}/{stem}");
        if path.is_dir() {
            collect(&path, &inner, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = code(&fs::read_to_string(&path).expect("a source"));
            found.extend(
                parsers(&text)
                    .into_iter()
                    .map(|of| format!("{inner}::{of}")),
            );
        }
    }
}

/// Appends all sources below a folder.
fn append(folder: &Path, texts: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            append(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            texts.push_str(&fs::read_to_string(&path).expect("a source"));
        }
    }
}

fn fuzz() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns the tables of the list: for each table, its parsers with a target or a reason.
fn listed() -> BTreeMap<String, BTreeMap<String, String>> {
    let text = fs::read_to_string(fuzz().join("parsers.toml")).expect("the list");
    let parsed = DeTable::parse(&text).expect("TOML").into_inner();
    let tables = parsed.into_iter().map(|(name, table)| {
        let DeValue::Table(table) = table.into_inner() else {
            panic!("{name:?} is no table");
        };
        let entries = table.into_iter().map(|(parser, value)| {
            let value = value.get_ref().as_str().expect("a text").to_owned();
            (parser.into_inner().into_owned(), value)
        });
        (name.into_inner().into_owned(), entries.collect())
    });
    tables.collect()
}

#[test]
fn every_parser_of_outside_bytes_has_a_target_or_a_reason() {
    let mut found = BTreeSet::new();
    for (name, source) in crates() {
        collect(&source, &name, &mut found);
    }
    let listed = listed();
    let names: Vec<&str> = listed.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["inside", "missing", "targets"],
        "the tables of the list"
    );
    let mut all = BTreeSet::new();
    for (parser, value) in listed.values().flatten() {
        assert!(all.insert(parser.clone()), "{parser} stands in two tables");
        assert!(!value.is_empty(), "{parser}");
    }
    let unknown: Vec<_> = found.difference(&all).collect();
    assert!(
        unknown.is_empty(),
        "add these parsers to fuzz/parsers.toml, with a target: {unknown:#?}"
    );
    let gone: Vec<_> = all.difference(&found).collect();
    assert!(gone.is_empty(), "remove from fuzz/parsers.toml: {gone:#?}");
    for (parser, target) in &listed["targets"] {
        // A separate test shows that each folder of the corpus has a target.
        assert!(
            fuzz().join("corpus").join(target).is_dir(),
            "{parser}: {target}"
        );
    }
    let mut texts = String::new();
    for (_, source) in crates() {
        append(source.parent().expect("a crate"), &mut texts);
    }
    for (parser, test) in &listed["missing"] {
        assert!(
            texts.contains(&format!("fn {test}(")),
            "{parser}: no test {test}"
        );
    }
}

#[test]
fn parsers_are_found_by_their_names_and_parameters() {
    let text = "pub fn decode(bytes: &[u8]) -> u8 {\n}\n\
                impl<'a> Page<'a> {\n    pub fn parse(\n        number: u64,\n        bytes: &'a [u8],\n    ) -> Self {\n    }\n\
                \x20   fn read(bytes: &[u8]) {\n    }\n    pub fn reads(text: &str) {\n    }\n\
                \x20   pub fn read(&self, number: u32) -> &[u8] {\n    }\n}\n\
                impl std::str::FromStr for Key {\n}\n\
                pub async fn read_all(text: &str) {\n}\n";
    assert_eq!(
        parsers(text),
        ["decode", "Page::parse", "Key::from", "read_all"]
    );
}
