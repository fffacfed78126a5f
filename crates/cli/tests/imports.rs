//! Test that at most two files of a crate import each other in a circle.
//!
//! An import is a path that starts with `crate::`, `super::`, `self::` or a submodule of the file.
//! The path of an import may be in a `use` or in the code. Imports in tests are not counted.
//! If a file re-exports a name (`pub use`), an import of this name counts as an import of the file that defines it.

mod sources;

use sources::{code, crates};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Known circles of imports, by crate: the number of files in each circle. The numbers may only decrease.
/// If a circle becomes smaller, enter its new size.
const KNOWN: &[(&str, &[usize])] = &[];

/// Path from the crate's root: modules, possibly with a name at the end.
type Segments = Vec<String>;

/// Files of a crate by the path of their module. The root module has the empty path.
struct Modules {
    files: BTreeMap<Segments, File>,
}

struct File {
    /// Paths that `use` statements import, by local name.
    uses: BTreeMap<String, Segments>,
    /// All paths that the file contains.
    named: Vec<Segments>,
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns, for each occurrence of `word` as a whole word, the text that follows it.
fn after_word<'t>(text: &'t str, word: &str) -> Vec<&'t str> {
    let found = text.match_indices(word).filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        !before.is_some_and(|c| is_of_name(c) || c == ':' || c == '.')
    });
    found.map(|(at, _)| &text[at + word.len()..]).collect()
}

/// Collects the paths of a `use` tree with their local names. Returns the text after the tree.
fn tree<'t>(text: &'t str, before: &[String], found: &mut Vec<(String, Segments)>) -> &'t str {
    let text = text.trim_start();
    if let Some(mut inner) = text.strip_prefix('{') {
        loop {
            inner = inner.trim_start();
            if let Some(rest) = inner.strip_prefix('}') {
                return rest;
            }
            inner = tree(inner, before, found).trim_start();
            inner = inner.strip_prefix(',').unwrap_or(inner);
            if inner.is_empty() {
                return inner;
            }
        }
    }
    let end = text
        .find(|c| !is_of_name(c) && c != '*')
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let mut path = before.to_vec();
    if name != "self" || path.is_empty() {
        path.push(name.to_owned());
    }
    if let Some(rest) = rest.strip_prefix("::") {
        return tree(rest, &path, found);
    }
    let after = rest.trim_start();
    let alias = after.strip_prefix("as ").map(str::trim_start);
    let (given, rest) = match alias {
        Some(alias) => {
            let end = alias.find(|c| !is_of_name(c)).unwrap_or(alias.len());
            (&alias[..end], &alias[end..])
        }
        None => (path.last().map_or("", String::as_str), rest),
    };
    found.push((given.to_owned(), path.clone()));
    // A character that is not part of a name is skipped. Otherwise the loop would not end.
    match name.is_empty() {
        true => rest.get(1..).unwrap_or(""),
        false => rest,
    }
}

/// Returns `before`, continued by the path at the start of `text`.
/// The path ends at the first name that is not followed by `::`.
fn inline(text: &str, before: &[String]) -> Segments {
    let mut path = before.to_vec();
    let mut rest = text;
    loop {
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        if end > 0 {
            path.push(rest[..end].to_owned());
        }
        match rest[end..].strip_prefix("::") {
            Some(next) if end > 0 => rest = next,
            _ => return path,
        }
    }
}

impl Modules {
    fn of(source: &Path) -> Self {
        let mut texts = BTreeMap::new();
        let mut folders = vec![(source.to_owned(), Vec::new())];
        while let Some((folder, path)) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder of sources") {
                let entry = entry.expect("an entry").path();
                let name = entry.file_stem().expect("a name").to_string_lossy();
                let mut module: Segments = path.clone();
                if entry.is_dir() {
                    module.push(name.into_owned());
                    folders.push((entry, module));
                } else if entry.extension().is_some_and(|extension| extension == "rs") {
                    if !["lib", "main", "mod"].contains(&&*name) {
                        module.push(name.into_owned());
                    }
                    texts.insert(module, code(&fs::read_to_string(&entry).expect("a source")));
                }
            }
        }
        let known: BTreeSet<Segments> = texts.keys().cloned().collect();
        let files = texts
            .into_iter()
            .map(|(module, text)| {
                let file = File::of(&module, &text, &known);
                (module, file)
            })
            .collect();
        Self { files }
    }

    /// Returns the file of the last module in a path.
    /// If this file imports the name that follows, returns the file that defines the name.
    fn file_of(&self, path: &[String], hops: usize) -> Option<&Segments> {
        let depth = (0..=path.len())
            .rev()
            .find(|&n| self.files.contains_key(&path[..n]))?;
        let (module, file) = self.files.get_key_value(&path[..depth])?;
        let handed_on = path.get(depth).and_then(|name| file.uses.get(name));
        match handed_on {
            Some(its) if hops > 0 && *its != *path => {
                let whole = [its, path.get(depth + 1..).unwrap_or_default()].concat();
                self.file_of(&whole, hops - 1).or(Some(module))
            }
            _ => Some(module),
        }
    }

    /// Returns the files that each file imports.
    fn imports(&self) -> BTreeMap<&Segments, BTreeSet<&Segments>> {
        let imports = self.files.iter().map(|(module, file)| {
            let its = file.named.iter().filter_map(|path| self.file_of(path, 8));
            (module, its.filter(|other| *other != module).collect())
        });
        imports.collect()
    }

    /// Returns the circles of more than two files, each as a list of its files.
    fn circles(&self) -> Vec<Vec<String>> {
        let imports = self.imports();
        let reached_from = |start: &Segments| {
            let mut reached: BTreeSet<&Segments> = BTreeSet::new();
            let mut next: Vec<&Segments> = imports[start].iter().copied().collect();
            while let Some(module) = next.pop() {
                if reached.insert(module) {
                    next.extend(&imports[module]);
                }
            }
            reached
        };
        let reached: BTreeMap<&Segments, BTreeSet<&Segments>> = imports
            .keys()
            .map(|&module| (module, reached_from(module)))
            .collect();
        let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
        for (&module, others) in &reached {
            let both_ways = others
                .iter()
                .filter(|&&other| reached[other].contains(module));
            let circle: Vec<String> = both_ways.map(|path| path.join("::")).collect();
            if circle.len() > 2 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }
}

impl File {
    fn of(module: &Segments, text: &str, known: &BTreeSet<Segments>) -> Self {
        let child = |name: &str| {
            let path = [module.as_slice(), &[name.to_owned()]].concat();
            known.contains(&path).then_some(path)
        };
        // Returns the path from the crate's root, or `None` if the path leads to another crate.
        let whole = |path: &[String]| -> Option<Segments> {
            let (first, rest) = path.split_first()?;
            let mut start = match first.as_str() {
                "crate" => Vec::new(),
                "self" => module.clone(),
                "super" => module.split_last()?.1.to_vec(),
                name => return child(name).map(|path| [path.as_slice(), rest].concat()),
            };
            let ups = rest.iter().take_while(|name| *name == "super").count();
            start.truncate(start.len().checked_sub(ups)?);
            Some([start.as_slice(), &rest[ups..]].concat())
        };
        let mut uses = BTreeMap::new();
        let mut named = Vec::new();
        let mut elsewhere = text.to_owned();
        for rest in after_word(text, "use ") {
            let statement = rest.split(';').next().unwrap_or_default();
            let at = text.len() - rest.len();
            elsewhere.replace_range(at..at + statement.len(), &" ".repeat(statement.len()));
            let mut found = Vec::new();
            tree(statement, &[], &mut found);
            for (name, path) in found {
                if let Some(path) = whole(&path) {
                    uses.insert(name, path.clone());
                    named.push(path);
                }
            }
        }
        let children = known
            .iter()
            .filter(|path| path.len() == module.len() + 1 && path.starts_with(module));
        let children = children.filter_map(|path| path.last());
        let starts = ["crate", "super", "self"].into_iter().map(str::to_owned);
        for start in starts.chain(children.cloned()) {
            for rest in after_word(&elsewhere, &format!("{start}::")) {
                named.extend(whole(&inline(rest, std::slice::from_ref(&start))));
            }
        }
        Self { uses, named }
    }
}

#[test]
fn no_more_than_two_files_of_a_crate_import_each_other_in_a_circle() {
    let mut wrong = Vec::new();
    for (name, source) in crates() {
        let circles = Modules::of(&source).circles();
        let sizes: Vec<usize> = circles.iter().map(Vec::len).collect();
        let known = KNOWN.iter().find(|(known, _)| *known == name);
        let known = known.map_or(&[][..], |(_, sizes)| sizes);
        if sizes != known {
            let shown: Vec<String> = circles.iter().map(|files| files.join(", ")).collect();
            wrong.push(format!(
                "{name}: found circles of {sizes:?} files; known: {known:?}:\n  {}",
                shown.join("\n  ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_found_through_folders_names_handed_on_and_paths_in_code() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write(
        "lib.rs",
        "mod a;\nmod b;\nmod c;\nmod d;\npub use a::{A, deep::Deep as Renamed};\n",
    );
    write(
        "a/mod.rs",
        "pub mod deep;\n// use crate::d::D;\npub struct A(crate::b::B);\n",
    );
    write(
        "a/deep.rs",
        "use super::super::b;\npub struct Deep(b::B);\n",
    );
    write(
        "b.rs",
        "use crate::{c::{self, C}, d::D};\npub struct B(C, D, c::C);\n",
    );
    write("c.rs", "use crate::Renamed;\npub struct C(Renamed);\n");
    write(
        "d.rs",
        "pub struct D;\n#[cfg(test)]\nmod tests {\n    use crate::A;\n}\n",
    );
    let circles = Modules::of(dir.path()).circles();
    assert_eq!(circles, [["a::deep", "b", "c"]]);
    write("c.rs", "pub struct C;\n");
    assert!(Modules::of(dir.path()).circles().is_empty());
}
