//! Test that no struct shares more than ten of its fields with other files of its crate.
//!
//! A field is shared if it is `pub(crate)`, `pub(super)` or `pub(in ..)`.
//! A `pub` field of a struct that is not `pub` is also shared.
//! Private fields, public fields of public structs (their interface) and tests are not counted.

mod sources;

use sources::{code, crates};
use std::fs;
use std::path::Path;

/// Maximum number of shared fields of a struct.
const MOST: usize = 10;

/// Known exceptions, each with its crate, struct and number of shared fields. The numbers may only decrease.
const KNOWN: &[(&str, &str, usize)] = &[];

/// Returns the structs of a source text with their numbers of shared fields.
fn structs(text: &str) -> Vec<(String, usize)> {
    let starts = text.match_indices("struct ");
    let found = starts.filter_map(|(at, keyword)| {
        let (before, after) = (&text[..at], &text[at + keyword.len()..]);
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        let (name, rest) = after.split_at(end);
        let is_restricted = before.trim_end().ends_with(')');
        let fields = fields(rest);
        let restricted = fields.matches("pub(").count();
        let public = fields.matches("pub ").count();
        let shared = restricted + if is_restricted { public } else { 0 };
        Some((name.to_owned(), shared))
    });
    found.collect()
}

/// Returns the text of a struct's fields: between its braces, or up to the semicolon.
/// `text` starts after the struct's name.
fn fields(text: &str) -> &str {
    let mut depth = 0;
    let mut begins = 0;
    for (at, c) in text.char_indices() {
        if c == '{' && depth == 0 {
            begins = at;
        }
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 && (c == ';' || c == '}') {
            return &text[begins..at];
        }
    }
    text
}

fn texts(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            texts.extend(self::texts(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            texts.push(code(&fs::read_to_string(path).expect("a source")));
        }
    }
    texts
}

#[test]
fn no_struct_shares_more_than_ten_fields_within_its_crate() {
    let mut found: Vec<(String, String, usize)> = Vec::new();
    for (name, source) in crates() {
        let its = texts(&source).into_iter().flat_map(|text| structs(&text));
        let many = its.filter(|(_, shared)| *shared > MOST);
        found.extend(many.map(|(of, shared)| (name.clone(), of, shared)));
    }
    found.sort();
    let known: Vec<(String, String, usize)> = KNOWN
        .iter()
        .map(|&(name, of, shared)| (name.to_owned(), of.to_owned(), shared))
        .collect();
    assert_eq!(found, known, "found, and known");
}

#[test]
fn fields_count_by_who_sees_them() {
    let text = "
pub struct Open { pub a: u8, pub(crate) b: fn(u8) -> (u8, u8), c: u8 }
pub(crate) struct Inner<T: Fn(u8)> where T: Copy {
    pub a: u8,
    pub(super) b: T,
    c: u8,
}
struct Own { pub a: u8, b: u8 }
pub(in crate::a) struct Pair(pub u8, u8, pub(crate) u8);
pub(crate) struct Unit;
fn next(pub_struct: u8) { pub_struct }
";
    let counted = structs(text);
    let expected = [
        ("Open", 1),
        ("Inner", 2),
        ("Own", 0),
        ("Pair", 2),
        ("Unit", 0),
    ];
    let expected = expected.map(|(name, shared)| (name.to_owned(), shared));
    assert_eq!(counted, expected);
}
