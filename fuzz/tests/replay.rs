//! Tests that run every target on its corpus, and on randomly changed files of the corpus.

use proptest::prelude::*;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use tailcut_fuzz::{TARGETS, Target};

/// Returns the paths and contents of the files in a target's corpus.
fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("a file of the corpus");
        (path, bytes)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn every_target_takes_its_corpus() {
    for (name, target) in TARGETS {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "{name} has no corpus");
        for (path, bytes) in corpus {
            let outcome = catch_unwind(AssertUnwindSafe(|| target(&bytes)));
            assert!(outcome.is_ok(), "{}", path.display());
        }
    }
}

#[test]
fn every_folder_of_the_corpus_has_a_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in fs::read_dir(root.join("corpus")).expect("the corpus") {
        let name = entry.expect("an entry").file_name();
        let known = TARGETS.iter().any(|(target, _)| name == *target);
        assert!(known, "{} has no target", name.display());
    }
}

/// Change of an input.
#[derive(Clone, Debug)]
enum Change {
    /// Inserts these bytes at a position.
    Insert(prop::sample::Index, Vec<u8>),
    /// Replaces the byte at a position.
    Replace(prop::sample::Index, u8),
    /// Deletes this number of bytes at a position.
    Delete(prop::sample::Index, usize),
    /// Copies a part of this length to another position.
    Repeat(prop::sample::Index, prop::sample::Index, usize),
    /// Replaces the end of the input with the end of another file of the corpus.
    Splice(
        prop::sample::Index,
        prop::sample::Index,
        prop::sample::Index,
    ),
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    // These texts often cause faults in parsers: limits of number types, special values, delimiters.
    let known: [&[u8]; 24] = [
        b"0",
        b"-1",
        b"1e400",
        b"NaN",
        b"-inf",
        b"18446744073709551615",
        b"9223372036854775807",
        b"-9223372036854775808",
        b"4294967295",
        b"0.0000000001",
        b"null",
        b"true",
        b"\"\"",
        b"[]",
        b"{}",
        b",",
        b"\n",
        b"\r\n",
        b"\"",
        b"\0",
        b"\xff\xff\xff\x7f",
        b"\xf0\x9f\xa7\xaa",
        b"../",
        b"#",
    ];
    prop_oneof![
        3 => prop::sample::select(known.map(<[u8]>::to_vec).to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..9),
    ]
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let place = any::<prop::sample::Index>;
    let one = prop_oneof![
        (place(), pieces()).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (place(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (place(), 1usize..40).prop_map(|(at, count)| Change::Delete(at, count)),
        (place(), place(), 1usize..40)
            .prop_map(|(from, to, count)| Change::Repeat(from, to, count)),
        (place(), place(), place()).prop_map(|(at, file, from)| Change::Splice(at, file, from)),
    ];
    prop::collection::vec(one, 1..5)
}

fn change(bytes: &mut Vec<u8>, change: &Change, corpus: &[(PathBuf, Vec<u8>)]) {
    let length = bytes.len();
    match change {
        Change::Insert(at, piece) => {
            let at = at.index(length + 1);
            bytes.splice(at..at, piece.iter().copied());
        }
        Change::Replace(at, byte) if length > 0 => bytes[at.index(length)] = *byte,
        Change::Replace(..) => {}
        Change::Delete(at, count) => {
            let at = at.index(length + 1);
            bytes.drain(at..(at + count).min(length));
        }
        Change::Repeat(from, to, count) => {
            let (from, to) = (from.index(length + 1), to.index(length + 1));
            let part = bytes[from..(from + count).min(length)].to_vec();
            bytes.splice(to..to, part);
        }
        Change::Splice(at, file, from) => {
            let other = &corpus[file.index(corpus.len())].1;
            bytes.truncate(at.index(length + 1));
            bytes.extend_from_slice(&other[from.index(other.len() + 1)..]);
        }
    }
}

/// Runs a target on a randomly changed file of its corpus.
fn changed((name, target): Target, file: prop::sample::Index, changes: &[Change]) {
    let corpus = corpus(name);
    let mut bytes = file.get(&corpus).1.clone();
    for one in changes {
        change(&mut bytes, one, &corpus);
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| target(&bytes)));
    assert!(
        outcome.is_ok(),
        "{name} panics on {:?}",
        bytes.escape_ascii().to_string()
    );
}

/// Defines a test for each target. Separate tests run in parallel.
macro_rules! targets {
    ($($target:ident)*) => {
        $(
            proptest! {
                #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

                #[test]
                fn $target(file in any::<prop::sample::Index>(), changes in changes()) {
                    changed((stringify!($target), tailcut_fuzz::$target), file, &changes);
                }
            }
        )*

        #[test]
        fn every_target_is_held_against_changes_of_its_corpus() {
            let tested = [$(stringify!($target)),*];
            assert_eq!(TARGETS.map(|(name, _)| name).as_slice(), tested);
        }
    };
}

targets! {
    scenario setting design page trace size_table coflows size_name manifest run table_csv
    table_parquet comparisons sensitivity wire_scdp wire_cast wire_ndp wire_pfabric wire_rans wire_repnet wire_segment wire_frame
    http_priority http_via cast_manifest cast_transfer cast_driver cast_control http_part configuration cast_key quantity
    btf capture cast_key_file cast_network cast_pipe cast_sealed cast_sink cast_state
    http_exchange lab_frame places probe_walk repnet_flow repnet_table requests_gate study
}
