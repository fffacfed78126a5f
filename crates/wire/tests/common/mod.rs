//! Reader of the files with golden vectors.

use std::fs;
use std::path::Path;

/// Returns the lines of a file with vectors. Each line has a name, and the text after the name.
pub fn lines(file: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(file);
    let text = fs::read_to_string(&path).expect("a file of vectors");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let split = |line: &str| {
        let (name, rest) = line.split_once(": ").expect("a name");
        (name.to_owned(), rest.to_owned())
    };
    lines.map(split).collect()
}

/// Decodes hexadecimal digits. Spaces are ignored.
pub fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .map(|letter| letter.to_digit(16).expect("a hex digit"))
        .collect();
    assert!(digits.len().is_multiple_of(2), "half a byte in {hex}");
    let pairs = digits.chunks(2);
    pairs.map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

/// Returns the names and bytes of a protocol's vectors.
pub fn vectors(protocol: &str) -> Vec<(String, Vec<u8>)> {
    let lines = lines(&format!("{protocol}.txt")).into_iter();
    lines.map(|(name, hex)| (name, bytes(&hex))).collect()
}
