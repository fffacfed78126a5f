//! `docs/dependencies.md` lists exactly the dependencies of the command with unsafe code, on Linux.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cargo(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    let command = command.args(arguments).args(["--offline", "--locked"]);
    let output = command.current_dir(root()).output().expect("cargo runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).expect("text")
}

const LINUX: &str = "x86_64-unknown-linux-gnu";

/// Returns the names of the crates of other projects in the command, each with the folder of its sources.
fn foreign() -> Vec<(String, PathBuf)> {
    let tree = [
        "tree", "-p", "tailcut", "-e", "normal", "--prefix", "none", "--target", LINUX,
    ];
    let tree = cargo(&tree);
    // A line consists of a name and a version, such as `libc v0.2.0`.
    let used: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();
    let metadata = cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--filter-platform",
        LINUX,
    ]);
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let text = |package: &Value, key: &str| package[key].as_str().map(str::to_owned);
    let foreign = packages.filter_map(|package| {
        text(package, "source")?;
        let (name, version) = (text(package, "name")?, text(package, "version")?);
        let manifest = PathBuf::from(text(package, "manifest_path")?);
        let is_used = used.contains(&(name.as_str(), version.as_str()));
        is_used.then(|| (name, manifest.with_file_name("src")))
    });
    foreign.collect()
}

/// Returns whether a source text contains unsafe code outside of comments.
fn is_unsafe(text: &str) -> bool {
    let code = text.lines().filter_map(|line| line.split("//").next());
    let text = code.collect::<Vec<_>>().join("\n");
    text.match_indices("unsafe").any(|(at, word)| {
        let (before, after) = (&text[..at], text[at + word.len()..].trim_start());
        !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
            && ["{", "fn ", "impl", "extern "]
                .iter()
                .any(|next| after.starts_with(next))
    })
}

fn has_unsafe(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries.filter_map(Result::ok).any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return has_unsafe(&path);
        }
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        is_source && fs::read_to_string(&path).is_ok_and(|text| is_unsafe(&text))
    })
}

/// Returns the words between backticks.
fn quoted(text: &str) -> Vec<String> {
    let words = text.split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

#[test]
fn the_page_lists_every_dependency_with_unsafe_code_and_no_other() {
    let page = fs::read_to_string(root().join("docs/dependencies.md")).expect("the page");
    let sections: BTreeMap<&str, &str> = page
        .split("\n## ")
        .filter_map(|section| section.split_once('\n'))
        .collect();
    let rows = sections["Crates that read bytes from outside"].lines();
    let rows = rows.filter(|line| line.starts_with("| `"));
    let names = rows.filter_map(|line| line.split('|').nth(1));
    let readers: BTreeSet<String> = names.flat_map(quoted).collect();
    let others: BTreeSet<String> = quoted(sections["Other crates"]).into_iter().collect();
    assert!(readers.is_disjoint(&others), "a crate stands in both lists");
    let listed: BTreeSet<String> = readers.union(&others).cloned().collect();
    let found = foreign()
        .into_iter()
        .filter(|(_, source)| has_unsafe(source));
    let found: BTreeSet<String> = found.map(|(name, _)| name).collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(
        missing.is_empty(),
        "add to docs/dependencies.md: {missing:?}"
    );
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(
        gone.is_empty(),
        "remove from docs/dependencies.md: {gone:?}"
    );
}

#[test]
fn unsafe_code_is_told_apart_from_words() {
    for text in [
        "unsafe { a() }",
        "pub unsafe fn a()",
        "unsafe impl Send for A {}",
        "unsafe extern \"C\" {",
    ] {
        assert!(is_unsafe(text), "{text}");
    }
    for text in [
        "#![forbid(unsafe_code)]",
        "let not_unsafe = {};",
        "unsafe_op()",
    ] {
        assert!(!is_unsafe(text), "{text}");
    }
}
