//! Helpers: transfer from a source to a sink without a network, and comparison of directories.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tailcut_cast::files::manifest::STATE_FOLDER;
use tailcut_cast::files::{
    Delivered, Error, FileSink, FileSource, Hash, Next, Pool, ScanOptions, Sink, SinkOptions,
    Source,
};
use tempfile::TempDir;

/// Size of a slab in bytes. It is small, so that small files have many slabs.
pub const SLAB: usize = 1 << 20;

pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Returns pseudo-random bytes for a file.
pub fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let word = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    let words = (0..length.div_ceil(4)).map(word);
    let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    bytes.truncate(length);
    bytes
}

pub fn small_slabs() -> ScanOptions {
    ScanOptions {
        slab_log2: 20,
        ..ScanOptions::default()
    }
}

pub fn source(path: &Path) -> FileSource {
    FileSource::open(path, &small_slabs(), &mut |_| ()).expect("a source")
}

pub fn sink(path: &Path) -> FileSink {
    FileSink::new(path, SinkOptions::default()).expect("a sink")
}

/// Numbers of a transfer: bytes that were kept from an earlier transfer, and slabs that were fetched.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Moved {
    pub kept: u64,
    pub fetched: u32,
}

/// Moves up to `most` slabs from the source to the sink. Returns the root if no slab is left.
pub fn some(
    source: &mut dyn Source,
    sink: &mut dyn Sink,
    most: u32,
) -> Result<(Moved, Option<Hash>), Error> {
    let pool = Pool::new(1);
    let mut moved = Moved::default();
    loop {
        if moved.fetched == most {
            return Ok((moved, None));
        }
        match sink.next()? {
            Next::Fetch(slab) => {
                let mut buffer = pool.take();
                let label = source.read(slab, &mut buffer)?;
                assert_eq!(sink.deliver(label, buffer)?, Delivered::Verified);
                moved.fetched += 1;
            }
            Next::Kept { bytes, .. } => moved.kept += u64::from(bytes),
            Next::Wait => panic!("every slab was delivered"),
            Next::End => return Ok((moved, Some(source.root()?))),
        }
    }
}

/// Moves all slabs from the source to the sink, and finishes the transfer.
pub fn all(source: &mut dyn Source, sink: &mut dyn Sink) -> Result<Moved, Error> {
    let (moved, root) = some(source, sink, u32::MAX)?;
    sink.finish(&root.expect("the end"))?;
    Ok(moved)
}

/// Properties of an entry in a tree that a user can see.
#[derive(PartialEq, Eq, Debug)]
pub struct FileState {
    mode: u32,
    modified: (i64, i64),
    contents: Option<Hash>,
    target: Option<PathBuf>,
    /// First path of the same file (inode), if the file has several paths.
    same_as: Option<Vec<u8>>,
}

/// Returns all entries below a directory, by path.
pub fn look(root: &Path) -> BTreeMap<Vec<u8>, FileState> {
    let mut seen = BTreeMap::new();
    let mut paths = vec![root.to_owned()];
    let mut at = 0;
    while at < paths.len() {
        let path = paths[at].clone();
        at += 1;
        let stat = fs::symlink_metadata(&path).expect("something");
        if stat.is_dir() {
            let inside = fs::read_dir(&path).expect("a folder");
            paths.extend(inside.map(|entry| entry.expect("an entry").path()));
        }
    }
    paths.sort();
    let mut inodes = BTreeMap::new();
    for path in paths {
        let stat = fs::symlink_metadata(&path).expect("something");
        let below = path.strip_prefix(root).expect("below").as_os_str();
        let below = below.as_bytes().to_owned();
        let first = inodes.entry(stat.ino()).or_insert_with(|| below.clone());
        let one = FileState {
            mode: stat.mode(),
            modified: (stat.mtime(), stat.mtime_nsec()),
            contents: stat
                .is_file()
                .then(|| Hash::of(&fs::read(&path).expect("a file"))),
            target: stat
                .is_symlink()
                .then(|| fs::read_link(&path).expect("a link")),
            same_as: (*first != below).then(|| first.clone()),
        };
        seen.insert(below, one);
    }
    seen
}

/// Returns the only file of an unfinished transfer with this suffix: `data`, `manifest` or `slabs`.
pub fn state(folder: &Path, suffix: &str) -> PathBuf {
    let inside = fs::read_dir(folder.join(STATE_FOLDER)).expect("a folder");
    let paths = inside.map(|entry| entry.expect("an entry").path());
    let mut paths = paths.filter(|path| path.extension().is_some_and(|end| end == suffix));
    let found = paths.next().expect("a file of the transfer");
    assert!(paths.next().is_none(), "two transfers");
    found
}

/// Returns the names of the entries in a directory.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().display().to_string())
        .collect();
    names.sort();
    names
}
