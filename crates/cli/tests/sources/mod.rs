//! Helper functions of tests that read the sources of all crates.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the names of all crates, each with its source directory.
pub fn crates() -> Vec<(String, PathBuf)> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = fs::read_dir(all).expect("the crates");
    let named = entries.map(|entry| {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, entry.path().join("src"))
    });
    named.filter(|(_, source)| source.is_dir()).collect()
}

/// Returns the text of a source file without comments and tests.
pub fn code(text: &str) -> String {
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let lines = code.lines().map(|line| match line.find("//") {
        Some(at) => &line[..at],
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}
